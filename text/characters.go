// Characters of speech: connectionist temporal classification.

package text

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
)

// characters reads what a model of CTC has heard, as transformers' Wav2Vec2CTCTokenizer.
type characters struct {
	names     []string // by token
	blank     string   // of which nothing is written
	delimiter string   // which stands for space
	space     string
	unknown   string
	lower     bool
	cleanUp   bool
	normalize bool    // samples
	step      float64 // seconds from one hidden state to the next
	windows   ctcWindows
}

// content is a token of tokenizer_config.json: its text, or an object that has it.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if len(data) > 0 && data[0] == '{' {
		err := pyjson.Unmarshal(data, &object)
		*c = content(object.Content)
		return err
	}
	return pyjson.Unmarshal(data, (*string)(c))
}

// openCharacters reads the vocabulary of a folder whose model has characters.
func (f *base) openCharacters() (*characters, error) {
	const vocabulary, settings = "vocab.json", "tokenizer_config.json"
	var raw map[string]json.RawMessage
	if err := folder.ReadJSON(f.fsys, vocabulary, &raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, check.InFile(vocabulary, fault.ErrFolder, fs.ErrNotExist)
	}
	config := struct {
		Pad       pyjson.Optional[content] `json:"pad_token"`
		Unknown   pyjson.Optional[content] `json:"unk_token"`
		Delimiter pyjson.Optional[content] `json:"word_delimiter_token"`
		Space     pyjson.Optional[string]  `json:"replace_word_delimiter_char"`
		Lower     bool                     `json:"do_lower_case"`
		CleanUp   bool                     `json:"clean_up_tokenization_spaces"`
		Language  json.RawMessage          `json:"target_lang"`
	}{}
	if err := folder.ReadJSON(f.fsys, settings, &config); err != nil {
		return nil, err
	}
	for name, null := range map[string]bool{"pad_token": config.Pad.Null, "word_delimiter_token": config.Delimiter.Null, "replace_word_delimiter_char": config.Space.Null} {
		if null {
			return nil, folder.FileError(settings, name, "null", "want a token")
		}
	}
	if config.Language != nil && string(config.Language) != "null" {
		return nil, folder.FileError(settings, "target_lang", string(config.Language), "vocabularies of several languages are not supported")
	}
	c := &characters{
		blank: string(config.Pad.Or("<pad>").Value), delimiter: string(config.Delimiter.Or("|").Value), space: config.Space.Or(" ").Value,
		unknown: string(config.Unknown.Or("<unk>").Value), lower: config.Lower, cleanUp: config.CleanUp,
	}
	input, err := f.waves()
	if err != nil {
		return nil, err
	}
	c.normalize = input.Normalize.Value
	steps, ok := f.model.Audio.(interface{ Stride() int })
	if !ok {
		return nil, folder.Errorf("the model does not tell when it heard something")
	}
	stride := steps.Stride()
	c.step, c.windows = float64(stride)/models.SampleRate, windowsOf(stride)
	if !c.windows.fit(f.model.Audio.Rows) {
		return nil, folder.FileError("config.json", "conv_stride", "", "a hidden state every %d samples, or one of more than %d seconds: not supported", stride, strideSeconds)
	}
	c.names = make([]string, f.model.Heads[models.HeadCTC].Out())
	for i := range c.names {
		c.names[i] = c.unknown
	}
	for name, value := range raw {
		var id int
		if err := pyjson.Unmarshal(value, &id); err != nil || id < 0 {
			return nil, folder.FileError(vocabulary, name, check.JSON(value), "want the number of a token")
		}
		if id < len(c.names) {
			c.names[id] = name
		}
	}
	return c, nil
}

// Characters is the characters of mono samples at 16 kHz with their times, as a model of CTC such as wav2vec 2.0 hears them, and
// transformers gives them with output_char_offsets: spaces between words are characters too. Long sound is heard in the
// windows that [Transcriber.Transcribe] describes. Another model is an error that matches fault.ErrInput.
func (t *Transcriber) Characters(ctx context.Context, samples []float32) ([]Segment, error) {
	if t.characters == nil {
		return nil, check.Errorf(fault.ErrInput, "the model writes no characters")
	}
	return t.hear(ctx, samples, TranscribeOptions{}, nil)
}

// standardized is x with mean 0 and variance 1.
func standardized(x []float32) []float32 {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	scale := 1 / math.Sqrt(squares/float64(len(x))+1e-7)
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32((float64(v) - mean) * scale)
	}
	return y
}
