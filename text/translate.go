// Text from text: translation and summaries.

package text

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// Translator turns texts into others with an encoder and a decoder: it
// translates, or summarises, as the model was trained.
type Translator struct{ *folder }

// OpenTranslator opens the encoder and decoder in a folder.
func OpenTranslator(dir string, opts ...Option) (*Translator, error) {
	return open(dir, OpenTranslatorFS, opts)
}

// OpenTranslatorFS is OpenTranslator for a file system whose root is the folder.
func OpenTranslatorFS(fsys fs.FS, opts ...Option) (*Translator, error) {
	f, err := openFolder(fsys, opts, true)
	if err != nil {
		return nil, err
	}
	if f.model.LM == nil || f.model.Encoder == nil {
		return nil, errorf("model_type %q with %s has no decoder behind an encoder of texts", f.model.Config.ModelType, strings.Join(f.model.Config.Architectures, ", "))
	}
	if f.model.Config.DecoderStart < 0 {
		return nil, errorf("config.json: no decoder_start_token_id")
	}
	f.setLimit(0)
	if err := f.readSettings(); err != nil {
		return nil, err
	}
	return &Translator{f}, f.noSplit("Translator")
}

// TranslateOptions says how a text is translated. The zero value is greedy.
type TranslateOptions struct {
	GenerateOptions
	// Prefix stands before each text: what T5 calls a task, such as
	// "summarize: " or "translate English to German: ".
	Prefix string
	// Language is the language to translate to, for models of many languages, by the
	// model's name of it: "fr" for M2M-100 and MADLAD, "fra_Latn" for NLLB, "fra" for
	// Marian. It becomes the first token of the translation, or of the text where the
	// model was trained so.
	Language string
}

// Defaults are the options that the folder's generation_config.json states; an error if
// it asks for a kind of sampling that is not supported.
func (t *Translator) Defaults() (TranslateOptions, error) {
	o, err := t.settings.defaults()
	return TranslateOptions{GenerateOptions: o}, err
}

// Translate is the translation of each text.
func (t *Translator) Translate(ctx context.Context, texts []string, opts TranslateOptions) ([]string, error) {
	out := make([]string, len(texts))
	for i, text := range texts {
		var err error
		if out[i], err = Collect(t.Stream(ctx, text, opts)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Stream yields the translation of one text piece by piece; at once if Beams
// searches.
func (t *Translator) Stream(ctx context.Context, text string, opts TranslateOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ws := t.workspace(t.threads)
		defer t.pool.Put(ws)
		if err := t.translate(ctx, ws, text, opts, yield); err != nil {
			yield("", err)
		}
	}
}

func (t *Translator) translate(ctx context.Context, ws *models.Workspace, text string, opts TranslateOptions, yield func(string, error) bool) error {
	if err := opts.check(); err != nil {
		return err
	}
	before, behind, err := t.languageToken(opts.Language)
	if err != nil {
		return err
	}
	splitter := t.splitter(least(t.limit-len(before), 0), tokenizer.Options{})
	windows, err := splitter.split(0, source{first: opts.Prefix + text})
	if err != nil {
		return err
	}
	in := tokensOf(windows[:1])
	if len(before) > 0 {
		in = models.Tokens{IDs: slices.Concat(before, in.IDs), Batch: transformer.Uniform(1, len(before)+len(in.IDs))}
	}
	if len(in.IDs) == 0 {
		return fmt.Errorf("%w: a text without tokens", ErrInput)
	}
	memory := &models.Memory{X: make([]float32, len(in.IDs)*t.model.Encoder.Dim()), Batch: in.Batch} // [rows, D]
	if err := t.model.Encoder.Encode(ws, memory.X, in); err != nil {
		return err
	}
	rules := t.settings.rules(&opts.GenerateOptions, t.model.Config.EOSTokens, in.IDs)
	if behind != nil {
		rules.ForcedBOS = behind
	}
	tokens := t.decode(ctx, ws, memory, []int{t.model.Config.DecoderStart}, rules, opts.GenerateOptions)
	yieldText(tokens, newStream(t.tokenizer, opts.Stop), yield)
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
	return nil, nil, fmt.Errorf("%w: the model has no token of a language %q", ErrOption, language)
}
