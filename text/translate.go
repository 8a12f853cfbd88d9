// Text from text: translation and summaries.

package text

import (
	"context"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// Translator turns texts into others with an encoder and a decoder: it
// translates, or summarises, as the model was trained. Calls from several goroutines share the decoder's passes.
type Translator struct{ *decoder }

func translator() record {
	return record{
		KindInfo: KindInfo{Type: "Translator", Task: "translation", Command: "translate", Options: []string{"MaxLength", "TruncateLong", "RefuseLong", "Cache", "CacheMemory"}},
		kind:     KindTranslator, use: models.UseOtherText, open: opening(OpenTranslatorFS),
		fits:  func(m *models.Model) bool { return m.LM != nil && m.Encoder != nil },
		lacks: "has no decoder after an encoder of texts",
	}
}

// OpenTranslator opens the encoder and decoder in a folder.
func OpenTranslator(dir string, opts ...Option) (*Translator, error) {
	return openIn(dir, OpenTranslatorFS, opts)
}

// OpenTranslatorFS is OpenTranslator for a file system whose root is the folder.
func OpenTranslatorFS(fsys fs.FS, opts ...Option) (*Translator, error) {
	f, err := openFitting(fsys, translator(), opts)
	if err != nil {
		return nil, err
	}
	if f.model.Config.DecoderStart < 0 {
		return nil, folder.FileError("config.json", "decoder_start_token_id", "", "missing")
	}
	d, err := newDecoder(f)
	if err != nil {
		return nil, err
	}
	return &Translator{d}, nil
}

// TranslateOptions says how a text is translated. The zero value is greedy.
type TranslateOptions struct {
	GenerateOptions
	// Prefix comes before each text: what T5 calls a task, such as
	// "summarize: " or "translate English to German: ".
	Prefix string
	// Language is the language to translate to, for models of many languages, by the
	// model's name of it: "fr" for M2M-100 and MADLAD, "fra_Latn" for NLLB, "fra" for
	// Marian. It becomes the first token of the translation, or of the text if the
	// model was trained that way.
	Language string
}

// Defaults are the options that the folder's generation_config.json states; an error if
// it asks for a kind of sampling that is not supported.
func (t *Translator) Defaults() (TranslateOptions, error) {
	o, err := defaultsOf(t.settings)
	return TranslateOptions{GenerateOptions: o}, err
}

// Translate is the translation of each text. Several go through the decoder at a time, unless Beams searches.
func (t *Translator) Translate(ctx context.Context, texts []string, opts TranslateOptions) ([]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := textsAtOnce
	if opts.Beams > 1 {
		workers = 1
	}
	out := make([]string, len(texts))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, len(texts)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(texts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				all, err := Collect(t.Stream(ctx, texts[i], opts))
				if err != nil {
					cancel(&InputError{int(i), err}) // the first counts
				}
				out[i] = all.Text
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, nil
}

// textsAtOnce is how many texts of a call are translated at a time.
const textsAtOnce = 16

// Stream yields the translation of one text piece by piece; at once if Beams
// searches.
func (t *Translator) Stream(ctx context.Context, text string, opts TranslateOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if err := t.translate(ctx, text, opts, yield); err != nil {
			yield(Piece{}, err)
		}
	}
}

func (t *Translator) translate(ctx context.Context, text string, opts TranslateOptions, yield func(Piece, error) bool) error {
	if err := opts.check(); err != nil {
		return err
	}
	if opts.LogProbs {
		return check.Option("LogProbs", true, "a translation has none")
	}
	before, behind, err := t.languageToken(opts.Language)
	if err != nil {
		return err
	}
	splitter := t.splitter(least(t.limit-len(before), 0), tokenizer.Options{})
	parts, err := splitter.Split(0, windows.Text{First: opts.Prefix + text})
	if err != nil {
		return err
	}
	t.count(Counts{Tokens: []int{len(parts[0].IDs)}, Windows: []int{1}, Cut: []bool{parts[0].Cut > 0}})
	in := windows.Tokens(parts[:1])
	if len(before) > 0 {
		in = models.Tokens{IDs: slices.Concat(before, in.IDs), Batch: transformer.Uniform(1, len(before)+len(in.IDs))}
	}
	if len(in.IDs) == 0 {
		return check.Errorf(fault.ErrInput, "a text without tokens")
	}
	memory := &models.Memory{X: make([]float32, len(in.IDs)*t.model.Encoder.Dim()), Batch: in.Batch} // [rows, D]
	if _, err = t.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) error { return t.model.Encoder.Encode(ws, memory.X, in) }); err != nil {
		return err
	}
	rules := t.rules(&opts.GenerateOptions, in.IDs)
	if behind != nil {
		rules.ForcedBOS = behind
	}
	tokens := t.decode(ctx, memory, []int{t.model.Config.DecoderStart}, rules, opts.GenerateOptions)
	p := pieceMaker{stream: newStream(t.tokenizer, opts.Stop, nil), usage: Usage{Prompt: len(in.IDs)}, began: time.Now()}
	p.make(tokens, yield)
	return nil
}

// languageToken is the token of a language: before the text, or at the beginning of the
// translation.
func (t *Translator) languageToken(language string) (before, behind []int, err error) {
	if language == "" {
		return nil, nil, nil
	}
	for _, token := range []string{language, "__" + language + "__"} {
		if id, ok := t.tokenizer.TokenID(token); ok && strings.Contains(token, "_") {
			return nil, []int{id}, nil
		}
	}
	for _, token := range []string{">>" + language + "<<", "<2" + language + ">"} {
		if id, ok := t.tokenizer.TokenID(token); ok {
			return []int{id}, nil, nil
		}
	}
	return nil, nil, check.Option("Language", language, "the model has no token of it")
}

// Warm computes a token.
func (p *Translator) Warm(ctx context.Context) error {
	_, err := p.Translate(ctx, []string{hello}, TranslateOptions{GenerateOptions: GenerateOptions{MaxTokens: 1}})
	return warmed(err)
}
