// This file reads inputs in the forms that clients use.

package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
)

// Inputs has texts or tokens in any form that clients use: a string, a list of strings, a list of
// token ids, or a list of such lists.
type Inputs struct {
	List []text.Input
	One  bool // a string, or the token ids of one text
	IDs  bool // tokens, not texts
}

var errInputs = errors.New("want a string, a list of strings, a list of token ids, or a list of such lists")

// UnmarshalJSON reads any of the forms.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	*in = Inputs{}
	data = bytes.TrimSpace(data)
	switch {
	case string(data) == "null":
		return nil
	case data[0] == '"':
		in.One = true
		in.List = make([]text.Input, 1)
		return json.Unmarshal(data, &in.List[0].Text)
	case data[0] != '[':
		return engine.Errorf(engine.Invalid, "%v", errInputs)
	}
	switch first := bytes.TrimSpace(data[1:]); first[0] {
	case ']':
		return nil
	case '"':
		var texts []string
		if err := json.Unmarshal(data, &texts); err != nil {
			return engine.Errorf(engine.Invalid, "%v", errInputs)
		}
		in.List = text.Texts(texts...)
	case '[':
		var lists [][]int
		if err := json.Unmarshal(data, &lists); err != nil {
			return engine.Errorf(engine.Invalid, "%v", errInputs)
		}
		in.IDs = true
		in.List = make([]text.Input, len(lists))
		for i, ids := range lists {
			in.List[i].IDs = ids
		}
	default:
		var ids []int
		if err := json.Unmarshal(data, &ids); err != nil {
			return engine.Errorf(engine.Invalid, "%v", errInputs)
		}
		in.One, in.IDs = true, true
		in.List = []text.Input{{IDs: ids}}
	}
	return nil
}

// AppendString appends a JSON string.
func AppendString(dst []byte, s string) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // impossible: any string can be JSON
	}
	return append(dst, data...)
}
