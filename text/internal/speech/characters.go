// Characters of speech: connectionist temporal classification.

package speech

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Characters reads what a model of CTC has heard, as transformers' Wav2Vec2CTCTokenizer does.
type Characters struct {
	names     []string // by token
	blank     string   // of which nothing is written
	delimiter string   // stands for space
	space     string
	unknown   string
	lower     bool
	cleanUp   bool
	Normalize bool    // samples
	step      float64 // seconds from one hidden state to the next
	windows
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

// Characters reads the vocabulary of a folder whose model has characters, and logits for so many of
// them.
func (f Folder) Characters(audio models.AudioEncoder, logits int) (*Characters, error) {
	const vocabulary, settings = "vocab.json", "tokenizer_config.json"
	var raw map[string]json.RawMessage
	if err := folder.ReadJSON(f.FS, vocabulary, &raw); err != nil {
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
	if err := folder.ReadJSON(f.FS, settings, &config); err != nil {
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
	c := &Characters{
		blank: string(config.Pad.Or("<pad>").Value), delimiter: string(config.Delimiter.Or("|").Value), space: config.Space.Or(" ").Value,
		unknown: string(config.Unknown.Or("<unk>").Value), lower: config.Lower, cleanUp: config.CleanUp,
	}
	input, err := f.waves()
	if err != nil {
		return nil, err
	}
	c.Normalize = input.Normalize.Value
	steps, ok := audio.(models.Strider)
	if !ok {
		return nil, folder.Errorf("the model does not say when it heard something")
	}
	stride := steps.Stride()
	c.step, c.windows = float64(stride)/models.SampleRate, windowsOf(stride, windowSeconds*models.SampleRate, audio.Rows)
	if !c.fit() {
		return nil, folder.FileError("config.json", "conv_stride", "", "a hidden state every %d samples, or one of more than %d seconds: not supported", stride, strideSeconds)
	}
	c.names = make([]string, logits)
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

// Features is what the model takes of samples, and the number of its frames: the samples
// themselves.
func (c *Characters) Features(samples []float32) ([]float32, int, error) {
	if c.Normalize {
		samples = standardized(samples)
	}
	return samples, len(samples), nil
}

// heardCharacters is characters that are heard one hidden state after the other.
type heardCharacters struct {
	*Characters
	all  []Segment
	rows int    // hidden states that were heard
	last string // what the last one says
}

// Begin returns the state before the first hidden state.
func (c *Characters) Begin() Heard { return &heardCharacters{Characters: c} }

// Add adds what the next hidden state says.
func (h *heardCharacters) Add(token int) {
	name := h.names[token]
	begin, end := float64(h.rows)*h.step, float64(h.rows+1)*h.step
	switch {
	case name == h.blank:
	case h.rows > 0 && name == h.last:
		h.all[len(h.all)-1].End = end
	case name == h.delimiter:
		h.all = append(h.all, Segment{begin, end, h.space})
	default:
		h.all = append(h.all, Segment{begin, end, name})
	}
	h.rows, h.last = h.rows+1, name
}

// End has nothing to complete.
func (h *heardCharacters) End() {}

func (h *heardCharacters) All() []Segment { return h.all }

// Write returns the text of characters.
func (c *Characters) Write(all []Segment) string {
	text := joined(all)
	if c.lower {
		text = strings.ToLower(text)
	}
	if c.cleanUp {
		text = tokenizer.CleanUp(text)
	}
	return text
}

// Complete returns the characters of words that end before the last space. Their text is the same
// whatever comes next. With cleanUp there are no such characters, since Write then changes words
// depending on what follows them.
func (c *Characters) Complete(all []Segment) []Segment {
	for i := len(all) - 1; i > 0 && !c.cleanUp; i-- {
		if all[i].Text == c.space {
			return all[:i]
		}
	}
	return nil
}

// Words joins characters to words, at the characters that are spaces.
func (c *Characters) Words(characters []Segment) []Segment {
	var all []Segment
	within := false
	for _, next := range characters {
		switch last := len(all) - 1; {
		case next.Text == c.space:
			within = false
		case within:
			all[last].End, all[last].Text = next.End, all[last].Text+next.Text
		default:
			all, within = append(all, next), true
		}
	}
	return all
}

// joined returns the text of characters.
func joined(characters []Segment) string {
	var b strings.Builder
	for _, c := range characters {
		b.WriteString(c.Text)
	}
	return strings.TrimSpace(b.String())
}
