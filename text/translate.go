// Text from text: translation and summaries.

package text

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Translator turns texts into others with an encoder and a decoder: it
// translates, or summarises, as the model was trained.
type Translator struct {
	*folder
	settings seq2seq
}

// seq2seq is what generation_config.json, and config.json before it, say.
type seq2seq struct {
	ForcedBOS *int     `json:"forced_bos_token_id"`
	Beams     *int     `json:"num_beams"`
	Penalty   *float64 `json:"length_penalty"`
	Length    *int     `json:"max_length"`
	Ngram     *int     `json:"no_repeat_ngram_size"`
	Bad       [][]int  `json:"bad_words_ids"`
}

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
	t := &Translator{folder: f}
	for _, name := range []string{"config.json", "generation_config.json"} { // the latter counts
		if err := f.readJSON(name, &t.settings); err != nil {
			return nil, err
		}
	}
	if n := t.settings.Ngram; n != nil && *n > 0 {
		return nil, errorf("no_repeat_ngram_size = %d is not supported", *n)
	}
	for _, word := range t.settings.Bad {
		if len(word) != 1 || word[0] < 0 || word[0] >= f.model.LM.Vocab() {
			return nil, errorf("bad_words_ids = %v: words of several tokens are not supported", t.settings.Bad)
		}
	}
	return t, f.noSplit("Translator")
}

// TranslateOptions says how a text is translated. The zero value is greedy.
type TranslateOptions struct {
	GenerateOptions
	// Beams is the width of the search for the most likely text; 0 and 1 choose
	// token by token. A search does not sample.
	Beams int
	// Prefix stands before each text: what T5 calls a task, such as
	// "summarize: " or "translate English to German: ".
	Prefix string
	// Language is the token of the language to translate to, for models of many
	// languages: "fr" for M2M-100, "fra_Latn" for NLLB.
	Language string
}

// Defaults are the options that the folder states.
func (t *Translator) Defaults() TranslateOptions {
	o := TranslateOptions{}
	if t.settings.Beams != nil {
		o.Beams = *t.settings.Beams
	}
	if t.settings.Length != nil && *t.settings.Length > 1 {
		o.MaxTokens = *t.settings.Length - 1 // the start token counts there
	}
	return o
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
	start, err := t.start(opts.Language)
	if err != nil {
		return err
	}
	all, err := t.windows([]string{opts.Prefix + text}, nil, tokenizer.Options{})
	if err != nil {
		return err
	}
	if all[0].tokens() == 0 {
		return fmt.Errorf("%w: a text without tokens", ErrInput)
	}
	in := tokensOf(all)
	memory := &models.Memory{X: make([]float32, len(in.IDs)*t.model.Encoder.Dim()), Batch: in.Batch} // [rows, D]
	if err := t.model.Encoder.Encode(ws, memory.X, in); err != nil {
		return err
	}
	n, err := t.room(len(start), opts.MaxTokens)
	if err != nil {
		return err
	}
	return t.decode(ctx, ws, memory, start, n, opts, yield)
}

// decode generates behind start.
func (t *Translator) decode(ctx context.Context, ws *models.Workspace, memory *models.Memory, start []int, n int, opts TranslateOptions, yield func(string, error) bool) error {
	beams := max(opts.Beams, 1)
	decoder := &banning{Decoding: models.Start(ws, t.model.LM, memory, beams)}
	for _, word := range t.settings.Bad {
		decoder.banned = append(decoder.banned, word[0])
	}
	s := &stream{tokenizer: t.tokenizer, stop: opts.Stop}
	eos := t.model.Config.EOSTokens
	if beams == 1 {
		yieldText(models.Generate(ctx, decoder, start, opts.sampling(), models.Limits{MaxTokens: n, Stop: eos}), s, yield)
		return nil
	}
	penalty := 1.0
	if t.settings.Penalty != nil {
		penalty = *t.settings.Penalty
	}
	found, err := models.Beam(ctx, decoder, start, models.BeamConfig{Width: beams, MaxTokens: n, Stop: eos, LengthPenalty: penalty})
	if err != nil {
		return err
	}
	tokens := func(yield func(int, error) bool) {
		for _, token := range found[0].Tokens {
			if !yield(token, nil) {
				return
			}
		}
	}
	yieldText(tokens, s, yield)
	return nil
}

// start is the tokens that the decoder begins with.
func (t *Translator) start(language string) ([]int, error) {
	start := []int{t.model.Config.DecoderStart}
	if language != "" {
		for _, token := range []string{language, "__" + language + "__", ">>" + language + "<<", "<2" + language + ">"} {
			if id, ok := t.tokenizer.TokenID(token); ok {
				return append(start, id), nil
			}
		}
		return nil, fmt.Errorf("%w: the model has no token of a language %q", ErrOption, language)
	}
	if t.settings.ForcedBOS != nil {
		start = append(start, *t.settings.ForcedBOS)
	}
	return start, nil
}

// banning keeps tokens from being chosen.
type banning struct {
	*models.Decoding
	banned []int
	logits []float32
}

func (b *banning) Feed(tokens [][]int) ([]float32, error) {
	logits, err := b.Decoding.Feed(tokens)
	if err != nil || len(b.banned) == 0 {
		return logits, err
	}
	b.logits = append(b.logits[:0], logits...) // the decoder may return its own again
	for row := range slices.Chunk(b.logits, b.Vocab()) {
		for _, id := range b.banned {
			row[id] = float32(math.Inf(-1))
		}
	}
	return b.logits, nil
}
