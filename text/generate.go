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

// Generator continues texts. Calls from several goroutines share the model's passes. If a text begins as an earlier one
// did, such as the next turn of a chat, only the new part is computed.
type Generator struct {
	*decoder
	chats  *chat.Templates
	reader *imageReader // nil: no images are read
}

// KindGenerator is the kind of a [Generator].
const KindGenerator Kind = "generator"

func generator() record {
	return record{
		KindInfo: KindInfo{Type: "Generator", Task: "text-generation", Command: "generate", Options: append(slices.Clone(forDecoder), "CopyWeights", "Draft", "Adapter.Name", "PromptFormat", "Images", "MaxPixels")},
		kind:     KindGenerator, use: models.UseText, open: opening(openGenerator),
		fits:  func(m *models.Model) bool { return m.LM != nil && m.Encoder == nil && m.Audio == nil },
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
	return &Generator{d, chat.New(f.tokenizer.Config()), r}, nil
}

// ReadsImages reports whether prompts may have images: [GenerateOptions].Images.
func (g *Generator) ReadsImages() bool { return g.reader != nil }

// ContextLength returns the most tokens of a prompt and what follows it; 0: no limit.
func (g *Generator) ContextLength() int { return g.limit }

// Adapters returns the names of those that texts may ask for.
func (g *Generator) Adapters() []string { return slices.Clone(g.model.Adapters) }

// Generate yields the text that the model continues with after a prompt, piece by piece as soon as
// it is known. It ends at a token that ends texts, a stop string, MaxTokens, or
// where the model's context is full; with an error if ctx is cancelled.
func (g *Generator) Generate(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[Piece, error] {
	return g.whole(ctx, prompt, tokenizer.Options{}, opts)
}

// ContinuePrompt is Generate for a prompt that has its special tokens already,
// as Prompt makes it.
func (g *Generator) ContinuePrompt(ctx context.Context, prompt string, opts GenerateOptions) iter.Seq2[Piece, error] {
	return g.whole(ctx, prompt, plainTokens, opts)
}

// promptTokens returns the ids of a prompt, at least one.
func (g *Generator) promptTokens(prompt string, special tokenizer.Options, opts GenerateOptions) ([]int, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	t := g.tokenizer
	if g.limit > 0 {
		t = windows.Counting(t, g.limit)
	}
	e, err := t.Encode(prompt, special)
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

// Defaults returns the options that the folder's generation_config.json states; an error if
// it asks for a kind of sampling that is not supported.
func (g *Generator) Defaults() (GenerateOptions, error) { return defaultsOf(g.settings) }

func (g *Generator) pieces(ctx context.Context, prompt string, special tokenizer.Options, opts GenerateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		ids, err := g.promptTokens(prompt, special, opts)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		ids, soft, err := g.read(ctx, ids, opts.Images)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		p := pieceMaker{stream: stream.New(g.tokenizer, opts.Stop, opts.Markers), usage: answer.Usage{Prompt: len(ids)}, began: time.Now()}
		p.make(g.answer(ctx, ids, soft, opts), yield)
	}
}

// whole is pieces, with a fault.ErrCut after the last one if it ended before what a grammar asks for was whole.
func (g *Generator) whole(ctx context.Context, prompt string, special tokenizer.Options, opts GenerateOptions) iter.Seq2[Piece, error] {
	if opts.Grammar == nil {
		return g.pieces(ctx, prompt, special, opts)
	}
	return func(yield func(Piece, error) bool) {
		v, err := g.vocabulary()
		if err != nil {
			yield(Piece{}, err)
			return
		}
		m := opts.Grammar.Matcher(v)
		for piece, err := range g.pieces(ctx, prompt, special, opts) {
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
	return g.decode(ctx, source{soft: soft}, prompt, g.rules(&o, prompt), o)
}

// Warm computes a token.
func (p *Generator) Warm(ctx context.Context) error {
	_, err := Collect(p.Generate(ctx, hello, GenerateOptions{MaxTokens: 1}))
	return warmed(err)
}
