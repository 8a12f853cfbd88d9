// Text from decoders.

package text

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/internal/chat"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// GenerateOptions says how text is generated. The zero value takes the most
// likely token each time. What else the folder's generation_config.json says holds in
// any case: penalties, minimal lengths, tokens that are forced or forbidden.
type GenerateOptions struct {
	MaxTokens   int     // the most new tokens; 0: what the folder says, or 256
	Temperature float64 // 0: greedy
	TopK        int     // of the most likely tokens; 0: all
	TopP        float64 // the most likely tokens of this probability; 0: all
	MinP        float64 // tokens this many times as likely as the likeliest; 0: all
	TypicalP    float64 // tokens of this probability as informative as usual; 0: all
	Seed        uint64  // the same seed gives the same text; 0: one at random
	// Beams is the width of the search for the most likely text; 0 and 1 choose
	// token by token. A search does not sample, and yields the text at its end.
	Beams int
	// RepetitionPenalty makes tokens that were there less likely, and NoRepeatNgram
	// forbids so many in the same order; 0: what the folder says. A penalty of 1 and a
	// length of -1 are none.
	RepetitionPenalty float64
	NoRepeatNgram     int
	// FrequencyPenalty, PresencePenalty and LogitBias are as [generation.Rules] has them.
	FrequencyPenalty float64         `json:",omitempty"`
	PresencePenalty  float64         `json:",omitempty"`
	LogitBias        map[int]float64 `json:",omitempty"`
	// Stop is strings that end the text, which is then what comes before them.
	Stop []string
	// Markers are special tokens that the text has although it has no others, such as what
	// [answer.Format.Markers] gives, for an [answer.Parser].
	Markers []string
	// Adapter, unless empty, is the name of a [NamedAdapter] that the text is generated with.
	Adapter string `json:",omitempty"`
	// LogProbs asks for the log probability of each token, and for as many of the most likely tokens beside it as
	// TopLogProbs says; see [Generator.Pieces].
	LogProbs    bool
	TopLogProbs int
	// Hook, unless nil, changes the logits before anything else does.
	Hook generation.LogitHook `json:"-"`
	// Grammar, unless nil, is what the text has to follow, up to a stop string that cuts it: that of a
	// JSON schema, a regular expression or GBNF. A text that MaxTokens or the context cut before it was whole ends with an
	// ErrCut after its last piece.
	Grammar *grammar.Grammar `json:"-"`
}

// sampler is how tokens are chosen.
func (o *GenerateOptions) sampler(rules *generation.Rules) generation.SamplerConfig {
	return generation.SamplerConfig{Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MinP: o.MinP, TypicalP: o.TypicalP, Seed: o.Seed,
		Rules: rules, Hook: o.Hook, LogProbs: o.LogProbs, TopLogProbs: o.TopLogProbs}
}

const defaultNewTokens = 256

func (o *GenerateOptions) check() error {
	for _, x := range []struct {
		name             string
		has, least, most float64
	}{
		{"MaxTokens", float64(o.MaxTokens), 0, math.MaxInt32}, {"Temperature", o.Temperature, 0, math.MaxFloat32}, {"TopK", float64(o.TopK), 0, math.MaxInt32}, {"TopP", o.TopP, 0, 1},
		{"MinP", o.MinP, 0, 1}, {"TypicalP", o.TypicalP, 0, 1}, {"Beams", float64(o.Beams), 0, 1024}, {"RepetitionPenalty", o.RepetitionPenalty, 0, math.MaxFloat32}, {"NoRepeatNgram", float64(o.NoRepeatNgram), -1, math.MaxInt32},
	} {
		if !(x.has >= x.least && x.has <= x.most) {
			if x.most >= math.MaxInt32 {
				return check.Option(x.name, x.has, "want at least %g", x.least)
			}
			return check.Option(x.name, x.has, "want %g to %g", x.least, x.most)
		}
	}
	for _, x := range []struct {
		name string
		has  float64
	}{{"FrequencyPenalty", o.FrequencyPenalty}, {"PresencePenalty", o.PresencePenalty}} {
		if !(math.Abs(x.has) <= math.MaxFloat32) {
			return check.Option(x.name, x.has, "want a number")
		}
	}
	if o.TopLogProbs != 0 && !o.LogProbs {
		return check.Option("TopLogProbs", o.TopLogProbs, "without LogProbs")
	}
	if slices.Contains(o.Stop, "") {
		return check.Option("Stop", "", "an empty string")
	}
	if o.Beams > 1 {
		return o.checkSearch()
	}
	return nil
}

// checkSearch refuses what only choosing token by token has.
func (o *GenerateOptions) checkSearch() error {
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"LogProbs", o.LogProbs}, {"Hook", o.Hook != nil}, {"Adapter", o.Adapter != ""}, {"Grammar", o.Grammar != nil}, {"Temperature", o.Temperature > 0},
		{"TopK", o.TopK > 0}, {"TopP", o.TopP > 0 && o.TopP < 1}, {"MinP", o.MinP > 0}, {"TypicalP", o.TypicalP > 0 && o.TypicalP < 1},
	} {
		if x.given {
			return check.Option("Beams", o.Beams, "with %s: a search neither samples nor has log probabilities, a hook, an adapter or a grammar", x.name)
		}
	}
	return nil
}

// Generator continues texts. Calls from several goroutines share the model's passes, and texts that begin as one before
// did, such as the next turn of a chat, compute what is new alone.
type Generator struct {
	*decoder
	chats *chat.Templates
}

// OpenGenerator opens the decoder in a folder.
func OpenGenerator(dir string, opts ...Option) (*Generator, error) {
	return open(dir, OpenGeneratorFS, opts)
}

// OpenGeneratorFS is OpenGenerator for a file system whose root is the folder.
func OpenGeneratorFS(fsys fs.FS, opts ...Option) (*Generator, error) {
	f, err := openFolder(fsys, "Generator", opts, true)
	if err != nil {
		return nil, err
	}
	if f.model.LM == nil || f.model.Encoder != nil || f.model.Audio != nil {
		return nil, errorf("model_type %q with %s is no decoder of texts", f.model.Config.ModelType, strings.Join(f.model.Config.Architectures, ", "))
	}
	d, err := newDecoder(f)
	if err != nil {
		return nil, err
	}
	return &Generator{d, chat.New(f.tokenizer.Config())}, nil
}

// ContextLength is the most tokens of a prompt and what follows it; 0: no limit.
func (g *Generator) ContextLength() int { return g.limit }

// Adapters are the names of those that texts may ask for.
func (g *Generator) Adapters() []string { return slices.Clone(g.model.Adapters) }

// Generate yields the text that follows the prompt, piece by piece as soon as
// it is known. It ends at a token that ends texts, a stop string, MaxTokens, or
// where the model's context is full; with an error if ctx is cancelled.
func (g *Generator) Generate(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[string, error] {
	return g.generate(ctx, prompt, tokenizer.Options{}, opts)
}

// ContinuePrompt is Generate for a prompt that has its special tokens already,
// as Prompt makes it.
func (g *Generator) ContinuePrompt(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[string, error] {
	return g.generate(ctx, prompt, plainTokens, opts)
}

// Tokens is Generate without the text: it yields the ids of tokens.
func (g *Generator) Tokens(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[int, error] {
	return g.tokens(ctx, prompt, tokenizer.Options{}, opts)
}

func (g *Generator) generate(ctx context.Context, prompt string, special tokenizer.Options, opts GenerateOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for piece, err := range g.whole(ctx, prompt, special, opts) {
			if (err != nil || piece.Text != "") && !yield(piece.Text, err) {
				return
			}
		}
	}
}

func (g *Generator) tokens(ctx context.Context, prompt string, special tokenizer.Options, opts GenerateOptions) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		ids, err := g.promptTokens(prompt, special, opts)
		if err != nil {
			yield(0, err)
			return
		}
		tokensOnly(g.answer(ctx, ids, opts))(yield)
	}
}

// promptTokens is the ids of a prompt, of which there is one at least.
func (g *Generator) promptTokens(prompt string, special tokenizer.Options, opts GenerateOptions) ([]int, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	t := g.tokenizer
	if g.limit > 0 {
		t = windows.Counting(t, g.limit)
	}
	e, err := t.Encode(prompt, special)
	if errors.Is(err, tokenizer.ErrTruncation) { // the special ones alone are too many
		err = fmt.Errorf("%w: %w", ErrTooLong, err)
	}
	if err != nil {
		return nil, err
	}
	if e.Cut > 0 {
		return nil, fmt.Errorf("%w: a prompt of %s in a context of %d", ErrTooLong, windows.Count(e), g.limit)
	}
	if len(e.IDs) > 0 {
		return e.IDs, nil
	}
	if bos := g.model.Config.BOSToken; bos >= 0 {
		return []int{bos}, nil
	}
	return nil, check.Errorf(ErrInput, "a prompt without tokens")
}

// yieldText yields the text of tokens.
func yieldText(tokens iter.Seq2[int, error], s *stream, yield func(string, error) bool) {
	for token, err := range tokens {
		if err != nil {
			yield("", err)
			return
		}
		piece, stopped := s.add(token)
		if piece != "" && !yield(piece, nil) || stopped {
			return
		}
	}
	if piece := s.rest(); piece != "" {
		yield(piece, nil)
	}
}

// Collect joins what Generate or Translate yields.
func Collect(pieces iter.Seq2[string, error]) (string, error) {
	var b strings.Builder
	for piece, err := range pieces {
		if err != nil {
			return b.String(), err
		}
		b.WriteString(piece)
	}
	return b.String(), nil
}

// Defaults are the options that the folder's generation_config.json states; an error if
// it asks for a kind of sampling that is not supported.
func (g *Generator) Defaults() (GenerateOptions, error) { return g.settings.defaults() }
