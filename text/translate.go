// This file makes text from text: translations and summaries.

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
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/stream"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// Translator turns texts into others with an encoder and a decoder: it translates, or summarises,
// as the model was trained. Calls from several goroutines share the decoder's passes.
type Translator struct{ *decoder }

// KindTranslator is the kind of a [Translator].
const KindTranslator Kind = "translator"

func translator() record {
	return record{
		KindInfo: KindInfo{Type: "Translator", Task: "translation", Command: "translate", Options: append(slices.Clone(forDecoder), "LongTruncate", "LongRefuse")},
		kind:     KindTranslator, use: models.UseOtherText, open: opening(openTranslator),
		lacks: "has no decoder after an encoder of texts",
	}
}

// OpenTranslator opens the encoder and decoder in a folder.
func OpenTranslator(dir string, o Options) (*Translator, error) {
	return openIn(dir, o, openTranslator)
}

func openTranslator(fsys fs.FS, o Options) (*Translator, error) {
	f, err := openFitting(fsys, translator(), o)
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
	// Prefix comes before each text: what T5 calls a task, such as "summarize: " or "translate
	// English to German: ".
	Prefix string
	// Language is the language to translate to, for models of many languages, by the model's name
	// of it: "fr" for M2M-100 and MADLAD, "fra_Latn" for NLLB, "fra" for Marian. It becomes the
	// first token of the translation, or of the text if the model was trained that way.
	Language string
}

// Defaults returns the options that the folder's generation_config.json states; an error if it asks
// for a kind of sampling that is not supported.
func (t *Translator) Defaults() (TranslateOptions, error) {
	o, err := defaultsOf(t.settings)
	return TranslateOptions{GenerateOptions: o}, err
}

// Translate returns the translation of each text, as [Collect] joins what Stream yields. The Counts
// are of the texts. Several texts go through the decoder at a time, unless Beams searches.
func (t *Translator) Translate(ctx context.Context, texts []string, opts TranslateOptions) (Results[Piece], error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := textsAtOnce
	if opts.Beams > 1 {
		workers = 1
	}
	out, counts := make([]Piece, len(texts)), newCounts(len(texts))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers, len(texts)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(texts)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				count := func(tokens int, cut bool) { counts.Tokens[i], counts.Windows[i], counts.Cut[i] = tokens, 1, cut }
				var err error
				if out[i], err = Collect(t.stream(ctx, texts[i], opts, count)); err != nil {
					cancel(&InputError{int(i), err}) // the first counts
				}
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return Results[Piece]{}, context.Cause(ctx)
	}
	return Results[Piece]{out, counts}, nil
}

// textsAtOnce is the largest number of texts of a call that are translated at a time.
const textsAtOnce = 16

// Stream yields the translation of one text piece by piece; at once if Beams searches.
func (t *Translator) Stream(ctx context.Context, text string, opts TranslateOptions) iter.Seq2[Piece, error] {
	return t.stream(ctx, text, opts, func(int, bool) {})
}

// stream is Stream that tells count the tokens of the text, and whether it was cut, before the
// first piece.
func (t *Translator) stream(ctx context.Context, text string, opts TranslateOptions, count func(tokens int, cut bool)) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if err := t.translate(ctx, text, opts, count, yield); err != nil {
			yield(Piece{}, err)
		}
	}
}

func (t *Translator) translate(ctx context.Context, text string, opts TranslateOptions, count func(tokens int, cut bool), yield func(Piece, error) bool) error {
	if err := opts.check(); err != nil {
		return err
	}
	if opts.LogProbs {
		return check.Option("LogProbs", true, "a translation has none")
	}
	if len(opts.Images) > 0 {
		return check.Option("Images", len(opts.Images), "a translator reads none")
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
	tokens, cut := len(parts[0].IDs), parts[0].Cut > 0
	t.count(Counts{Tokens: []int{tokens}, Windows: []int{1}, Cut: []bool{cut}})
	count(tokens, cut)
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
	rules, err := t.rules(&opts.GenerateOptions, in.IDs)
	if err != nil {
		return err
	}
	if behind != nil {
		rules.ForcedBOS = behind
	}
	generated := t.decode(ctx, source{memory: memory}, []int{t.model.Config.DecoderStart}, rules, opts.GenerateOptions)
	p := pieceMaker{stream: stream.New(t.tokenizer, opts.ends(), nil), usage: answer.Usage{Prompt: len(in.IDs)}, began: time.Now()}
	p.make(generated, yield)
	return nil
}

// languageToken returns the token of a language: before the text, or at the beginning of the
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
