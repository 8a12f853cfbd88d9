// Text from decoders.

package text

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/models"
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
	// Stop is strings that end the text, which is then what comes before them.
	Stop []string
	// LogProbs asks for the log probability of each token, and for as many of the most likely tokens beside it as
	// TopLogProbs says; see [Generator.Pieces].
	LogProbs    bool
	TopLogProbs int
	// Hook, unless nil, changes the logits before anything else does.
	Hook generation.LogitHook `json:"-"`
	// Grammar, unless nil, is what the text has to follow, up to MaxTokens or a stop string that cuts it: that of a
	// JSON schema, a regular expression or GBNF.
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
				return fmt.Errorf("%w: %s = %g, want at least %g", ErrOption, x.name, x.has, x.least)
			}
			return fmt.Errorf("%w: %s = %g, want %g to %g", ErrOption, x.name, x.has, x.least, x.most)
		}
	}
	if o.Beams > 1 && (o.LogProbs || o.Hook != nil || o.Grammar != nil) {
		return fmt.Errorf("%w: Beams %d with LogProbs, a Hook or a Grammar, which a search has not", ErrOption, o.Beams)
	}
	if o.Beams > 1 && o.Temperature > 0 {
		return fmt.Errorf("%w: Beams %d with Temperature %g: a search does not sample", ErrOption, o.Beams, o.Temperature)
	}
	for _, s := range o.Stop {
		if s == "" {
			return fmt.Errorf("%w: an empty stop string", ErrOption)
		}
	}
	return nil
}

// Generator continues texts. Calls from several goroutines share the model's passes, and texts that begin as one before
// did, such as the next turn of a chat, compute what is new alone.
type Generator struct {
	*folder
	chats     *chats
	scheduler *generation.Scheduler
	// vocabulary is made for the first grammar.
	vocabulary func() (*grammar.Vocabulary, error)
}

// OpenGenerator opens the decoder in a folder.
func OpenGenerator(dir string, opts ...Option) (*Generator, error) {
	return open(dir, OpenGeneratorFS, opts)
}

// OpenGeneratorFS is OpenGenerator for a file system whose root is the folder.
func OpenGeneratorFS(fsys fs.FS, opts ...Option) (*Generator, error) {
	f, err := openFolder(fsys, opts, true)
	if err != nil {
		return nil, err
	}
	if f.model.LM == nil || f.model.Encoder != nil || f.model.Audio != nil {
		return nil, errorf("model_type %q with %s is no decoder of texts", f.model.Config.ModelType, strings.Join(f.model.Config.Architectures, ", "))
	}
	f.setLimit(0)
	if err := f.readSettings(); err != nil {
		return nil, err
	}
	g := &Generator{folder: f, chats: newChats(f.tokenizer.Config()), vocabulary: sync.OnceValues(f.newVocabulary)}
	if g.scheduler, err = generation.NewScheduler(generation.SchedulerConfig{Model: f.model.LM, Threads: f.threads, Memory: f.memory}); err != nil {
		return nil, err
	}
	return g, f.noSplit("Generator")
}

// Stats tells what the generator has done and does.
func (g *Generator) Stats() generation.Stats { return g.scheduler.Stats() }

// Tokenizer is the folder's tokenizer.
func (g *Generator) Tokenizer() *tokenizer.Tokenizer { return g.tokenizer }

// ContextLength is the most tokens of a prompt and what follows it; 0: no limit.
func (g *Generator) ContextLength() int { return g.limit }

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
		for piece, err := range g.pieces(ctx, prompt, special, opts) {
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
		for next, err := range g.answer(ctx, ids, opts) {
			err = cmp.Or(err, next.Err)
			if err == nil && next.Finish != generation.FinishNone || !yield(next.Token, err) || err != nil {
				return
			}
		}
	}
}

// decode yields the tokens behind a prompt.
func (f *folder) decode(ctx context.Context, ws *models.Workspace, memory *models.Memory, prompt []int, rules *generation.Rules, o GenerateOptions) iter.Seq2[int, error] {
	n, err := f.room(len(prompt), o.MaxTokens)
	if err != nil {
		return func(yield func(int, error) bool) { yield(0, err) }
	}
	eos := f.model.Config.EOSTokens
	decoding := generation.StartLM(ws, f.model.LM, memory, max(o.Beams, 1))
	if o.Beams <= 1 {
		return generation.Generate(ctx, decoding, prompt, o.sampler(rules), generation.Limits{MaxTokens: n, Stop: eos})
	}
	return func(yield func(int, error) bool) {
		found, err := generation.Beam(ctx, decoding, prompt, generation.BeamConfig{
			Width: o.Beams, MaxTokens: n, Stop: eos, LengthPenalty: number(f.settings.Penalty, 1), EarlyStopping: f.settings.early, Rules: rules,
		})
		if err != nil {
			yield(0, err)
			return
		}
		for _, token := range found[0].Tokens {
			if !yield(token, nil) {
				return
			}
		}
	}
}

// promptTokens is the ids of a prompt, of which there is one at least.
func (g *Generator) promptTokens(prompt string, special tokenizer.Options, opts GenerateOptions) ([]int, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	e, err := g.tokenizer.Encode(prompt, special)
	if err != nil {
		return nil, err
	}
	if len(e.IDs) > 0 {
		return e.IDs, nil
	}
	if bos := g.model.Config.BOSToken; bos >= 0 {
		return []int{bos}, nil
	}
	return nil, fmt.Errorf("%w: a prompt without tokens", ErrInput)
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

// Collect joins what Generate, Chat or Translate yields.
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
