// Tokens of texts, and texts of tokens.

package tei

import (
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// token is one of a text; special ones have no place in it.
type token struct {
	ID      int    `json:"id"`
	Text    string `json:"text"`
	Special bool   `json:"special"`
	Start   *int   `json:"start"` // bytes of the text with its prompt
	Stop    *int   `json:"stop"`
}

// tokenizeRequest asks for the tokens of texts.
type tokenizeRequest struct {
	Inputs  wire.Inputs `json:"inputs"`
	Special *bool       `json:"add_special_tokens"`
	Prompt  string      `json:"prompt_name"`
	Model   string      `json:"model"`
}

// tokenize answers POST /tokenize. Nothing is cut.
func (p protocol) tokenize(c *wire.Call) error {
	var in tokenizeRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	if in.Inputs.IDs {
		return engine.Errorf(engine.Invalid, "inputs: want a string or a list of strings")
	}
	if err := p.batch(len(in.Inputs.List)); err != nil {
		return err
	}
	prompt := ""
	if in.Prompt != "" {
		var err error
		if prompt, err = p.engine.Prompt(c.Context(), in.Model, in.Prompt); err != nil {
			return err
		}
	}
	t, err := p.engine.Tokenizer(c.Context(), in.Model)
	if err != nil {
		return err
	}
	t = t.WithTruncation(nil).WithPadding(nil)
	o := tokenizer.Options{NoSpecial: in.Special != nil && !*in.Special, Tokens: true, Offsets: tokenizer.Bytes}
	out := make([][]token, len(in.Inputs.List))
	for i, input := range in.Inputs.List {
		if err := c.Context().Err(); err != nil {
			return err
		}
		if out[i], err = tokens(t, prompt, input, o); err != nil {
			return err
		}
	}
	return c.WriteJSON(http.StatusOK, out)
}

// tokens are those of one text.
func tokens(t *tokenizer.Tokenizer, prompt string, in text.Input, o tokenizer.Options) ([]token, error) {
	s := prompt + in.Text
	if s == "" {
		return []token{}, nil // special tokens are those of a text, and no model is asked for an empty one
	}
	e, err := t.Encode(s, o)
	if err != nil {
		return nil, err
	}
	out := make([]token, len(e.IDs))
	for i, id := range e.IDs {
		out[i] = token{ID: id, Text: e.Tokens[i], Special: e.Special[i]}
		if !e.Special[i] {
			at := e.Offsets[i]
			out[i].Text, out[i].Start, out[i].Stop = strings.ToValidUTF8(s[at.Start:at.End], "\ufffd"), &at.Start, &at.End
		}
	}
	return out, nil
}

// decodeRequest asks for the texts of tokens.
type decodeRequest struct {
	IDs   wire.Inputs `json:"ids"`
	Skip  *bool       `json:"skip_special_tokens"`
	Model string      `json:"model"`
}

// decode answers POST /decode.
func (p protocol) decode(c *wire.Call) error {
	var in decodeRequest
	if err := c.ReadJSON(&in); err != nil {
		return err
	}
	if len(in.IDs.List) > 0 && !in.IDs.IDs {
		return engine.Errorf(engine.Invalid, "ids: want a list of token ids, or a list of such lists")
	}
	if err := p.batch(len(in.IDs.List)); err != nil {
		return err
	}
	t, err := p.engine.Tokenizer(c.Context(), in.Model)
	if err != nil {
		return err
	}
	out := make([]string, len(in.IDs.List))
	for i, input := range in.IDs.List {
		for _, id := range input.IDs {
			if _, ok := t.Token(id); !ok {
				return engine.Errorf(engine.Invalid, "the model has no token %d", id)
			}
		}
		out[i] = t.Decode(input.IDs, in.Skip == nil || *in.Skip)
	}
	return c.WriteJSON(http.StatusOK, out)
}

// batch refuses no inputs, and too many.
func (p protocol) batch(n int) error {
	if n == 0 {
		return engine.Errorf(engine.Empty, "no inputs are given")
	}
	if most := p.engine.Config().Batch; n > most {
		return engine.Errorf(engine.TooLarge, "%d inputs are given, at most %d are possible in one request", n, most)
	}
	return nil
}
