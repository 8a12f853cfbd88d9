// Text from decoders.

package text

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/chat"
	"github.com/avoformer/avoformer/text/internal/stream"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Generator continues texts. Calls from several goroutines share the model's passes. If a text
// begins as an earlier one did, such as the next turn of a chat, only the new part is computed.
type Generator struct {
	*decoder
	chats   *chat.Templates
	reader  *imageReader  // nil: no images are read
	literal *chat.Literal // for PromptOptions.Literal
}

// KindGenerator is the kind of a [Generator].
const KindGenerator Kind = "generator"

func generator() record {
	return record{
		KindInfo: KindInfo{Type: "Generator", Task: "text-generation", Command: "generate", Options: append(slices.Clone(forDecoder), "CopyWeights", "Draft", "Adapter.Name", "PromptFormat", "MTP", "Images", "Projector", "MaxPixels")},
		kind:     KindGenerator, use: models.UseText, open: opening(openGenerator),
		lacks: "is not a decoder of texts",
	}
}

// OpenGenerator opens the decoder in a folder.
func OpenGenerator(dir string, o Options) (*Generator, error) {
	return openIn(dir, o, openGenerator)
}

func openGenerator(fsys fs.FS, o Options) (*Generator, error) {
	f, err := openFitting(fsys, generator(), o)
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(f)
	if err != nil {
		return nil, err
	}
	r, err := newImageReader(f)
	if err != nil {
		return nil, err
	}
	return &Generator{d, chat.New(f.tokenizer.Config()), r, chat.NewLiteral(f.tokenizer)}, nil
}

// ReadsImages reports whether prompts may have images: [GenerateOptions].Images.
func (g *Generator) ReadsImages() bool { return g.reader != nil }

// ContextLength returns the most tokens of a prompt and what follows it; 0: no limit.
func (g *Generator) ContextLength() int { return g.limit }

// Adapters returns the names of those that texts may ask for.
func (g *Generator) Adapters() []string { return slices.Clone(g.model.Adapters) }

// Generate yields the text that the model continues with after a prompt, piece by piece as soon as
// it is known. It ends at a token that ends texts, a stop string, MaxTokens, or where the model's
// context is full; with an error if ctx is cancelled.
func (g *Generator) Generate(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[Piece, error] {
	return g.whole(ctx, g.idsOf(prompt, tokenizer.Options{}, &opts), opts)
}

// ContinuePrompt is Generate for a prompt that has its special tokens already, as Prompt makes it.
func (g *Generator) ContinuePrompt(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[Piece, error] {
	return g.whole(ctx, g.idsOf(prompt, plainTokens, &opts), opts)
}

// ContinueTokens is Generate for a prompt of token ids of the model's vocabulary, at least one, its
// special tokens among them. Errors match fault.ErrInput for ids that the model does not have,
// fault.ErrTooLong, or fault.ErrOption.
func (g *Generator) ContinueTokens(ctx context.Context, prompt []int, opts GenerateOptions) iter.Seq2[Piece, error] {
	prompt = slices.Clone(prompt) // the caller may change it before it is read
	return g.whole(ctx, func() ([]int, error) {
		if err := opts.check(); err != nil {
			return nil, err
		}
		for i, id := range prompt {
			if n := g.model.LM.Vocab(); id < 0 || id >= n {
				return nil, check.Errorf(fault.ErrInput, "token %d of the prompt is %d, the model has %d", i, id, n)
			}
		}
		switch {
		case len(prompt) == 0:
			return nil, check.Errorf(fault.ErrInput, "a prompt without tokens")
		case g.limit > 0 && len(prompt) >= g.limit:
			return nil, fmt.Errorf("%w: a prompt of %d in a context of %d", fault.ErrTooLong, len(prompt), g.limit)
		}
		return prompt, nil
	}, opts)
}

// idsOf returns a function for the ids of a prompt.
func (g *Generator) idsOf(prompt string, special tokenizer.Options, opts *GenerateOptions) func() ([]int, error) {
	return func() ([]int, error) { return g.promptTokens(prompt, special, *opts) }
}

// promptTokens returns the ids of a prompt, at least one.
func (g *Generator) promptTokens(prompt string, special tokenizer.Options, opts GenerateOptions) ([]int, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	special = g.marked(special, &opts)
	t := g.tokenizer
	if g.limit > 0 {
		t = windows.Counting(t, g.limit)
	}
	e, err := t.Encode(g.reader.spell(prompt, len(opts.Images)), special)
	if errors.Is(err, fault.ErrTruncation) { // the special ones alone are too many
		err = fmt.Errorf("%w: %w", fault.ErrTooLong, err)
	}
	if err != nil {
		return nil, err
	}
	if e.Cut > 0 {
		return nil, fmt.Errorf("%w: a prompt of %s in a context of %d", fault.ErrTooLong, windows.Count(e), g.limit)
	}
	if len(e.IDs) > 0 {
		return e.IDs, nil
	}
	if bos := g.model.Config.BOSToken; bos >= 0 {
		return []int{bos}, nil
	}
	return nil, check.Errorf(fault.ErrInput, "a prompt without tokens")
}

// PromptTokens returns the tokens of a prompt that Prompt made, without those of images; of opts,
// only Literal and the number of Images count. The prompt may have more than the context.
func (g *Generator) PromptTokens(prompt string, opts GenerateOptions) ([]int, error) {
	e, err := g.tokenizer.Encode(g.reader.spell(prompt, len(opts.Images)), g.marked(plainTokens, &opts))
	if err != nil {
		return nil, err
	}
	return e.IDs, nil
}

// marked returns o for a prompt with marks, if the options say that it has some.
func (g *Generator) marked(o tokenizer.Options, opts *GenerateOptions) tokenizer.Options {
	if opts.Literal {
		o.Literal = g.literal.Tokens
	}
	return o
}

// SamplingFrom returns the name of what says how tokens are chosen: the file generation_config.json
// or config.json of a folder, or general.sampling, the keys of a GGUF file. It returns "" for a
// GGUF file without such keys: then Defaults is greedy, and programs choose what they sample with,
// as llama.cpp, Ollama and avoformer's server do.
func (g *Generator) SamplingFrom() string { return g.settings.From }

// Defaults returns the options that the folder's generation_config.json states, or the keys
// general.sampling of a GGUF file; an error if they ask for a kind of sampling that is not
// supported.
func (g *Generator) Defaults() (GenerateOptions, error) { return defaultsOf(g.settings) }

func (g *Generator) pieces(ctx context.Context, prompt func() ([]int, error), opts GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		ids, err := prompt()
		if err != nil {
			yield(Piece{}, err)
			return
		}
		ids, soft, err := g.read(ctx, ids, opts.Images)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		p := pieceMaker{stream: stream.New(g.tokenizer, opts.ends(), opts.Markers), usage: answer.Usage{Prompt: len(ids)}, began: time.Now()}
		p.make(g.answer(ctx, ids, soft, opts), yield)
	}
}

// whole is pieces, with a fault.ErrCut after the last one if it ended before what a grammar asks
// for was whole.
func (g *Generator) whole(ctx context.Context, prompt func() ([]int, error), opts GenerateOptions) iter.Seq2[Piece, error] {
	if opts.Grammar == nil {
		return g.pieces(ctx, prompt, opts)
	}
	return func(yield func(Piece, error) bool) {
		v, err := g.vocabulary()
		if err != nil {
			yield(Piece{}, err)
			return
		}
		m := opts.Grammar.Matcher(v)
		for piece, err := range g.pieces(ctx, prompt, opts) {
			if !yield(piece, err) || err != nil {
				return
			}
			for _, t := range piece.Tokens {
				if err := m.Accept(t.Token); err != nil {
					yield(Piece{}, err)
					return
				}
			}
			if piece.Finish == generation.FinishLength && !m.CanEnd() {
				yield(Piece{}, fmt.Errorf("%w: after %d tokens, which MaxTokens or the context allow", fault.ErrCut, piece.Usage.Tokens))
			}
		}
	}
}

// answer yields the tokens after a prompt.
func (g *Generator) answer(ctx context.Context, prompt []int, soft []models.Soft, o GenerateOptions) iter.Seq2[generation.Next, error] {
	rules, err := g.rules(&o, prompt)
	if err != nil {
		return func(yield func(generation.Next, error) bool) { yield(generation.Next{}, err) }
	}
	return g.decode(ctx, source{soft: soft}, prompt, rules, o)
}

// Warm computes a token.
func (p *Generator) Warm(ctx context.Context) error {
	_, err := Collect(p.Generate(ctx, hello, GenerateOptions{MaxTokens: 1}))
	return warmed(err)
}
