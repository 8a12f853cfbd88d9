package configuration

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
)

// Configurations: what all of them say, and how config.json is read without guessing.

// A Document is a JSON object of a file.
type Document struct {
	Name    string // of the file, and the path to the object in it
	Fields  map[string]json.RawMessage
	account *account // of the fields that are read; nil: none is kept
}

// Parse reads the object in text.
func Parse(name string, text []byte) (Document, error) {
	d := Document{Name: name}
	if err := pyjson.Unmarshal(text, &d.Fields); err != nil {
		return d, d.ErrorWith("", "", "%w", err)
	}
	if d.Fields == nil {
		return d, d.ErrorWith("", "", "want an object, have null")
	}
	return d, nil
}

// Has reports whether the object has the field, and not as null.
func (d Document) Has(field string) bool {
	v, ok := d.Fields[field]
	return ok && !bytes.Equal(v, []byte("null"))
}

// IsNull reports whether the object has the field, as null.
func (d Document) IsNull(field string) bool {
	_, ok := d.Fields[field]
	return ok && !d.Has(field)
}

// Sub returns the object that is the value of a field.
func (d Document) Sub(field string) (Document, error) {
	if !d.Has(field) {
		return Document{}, d.ErrorWith(field, "", "missing")
	}
	d.Note(field)
	part, err := Parse(d.Name+": "+field, d.Fields[field])
	if err != nil || d.account == nil {
		return part, err
	}
	var c *pyclass.Class
	if d.account.class != nil {
		c = pyclass.Config(d.account.class.Parts[field])
	}
	return part.accounted(c, d.account.ledger)
}

// Note tells the account that a field is read.
func (d Document) Note(field string) {
	if d.account != nil {
		d.account.read[field] = true
	}
}

// Errorf returns an error about the value of a field, which it names.
func (d Document) Errorf(field, format string, args ...any) error {
	return d.ErrorWith(field, d.Value(field), format, args...)
}

// ErrorWith returns an error about a field with a value, which may be empty.
func (d Document) ErrorWith(field, value, format string, args ...any) error {
	file, object, _ := strings.Cut(d.Name, ": ")
	if file == GGUFMetadata {
		file = "" // the caller that opened the file names it
	}
	parts := slices.DeleteFunc([]string{strings.ReplaceAll(object, ": ", "."), field}, func(s string) bool { return s == "" })
	return &fault.Error{Kind: fault.ErrConfig, File: file, Field: strings.Join(parts, "."), Value: value, Err: fmt.Errorf(format, args...)}
}

// Value returns the text of a field's value, shortened.
func (d Document) Value(field string) string {
	v, ok := d.Fields[field]
	if !ok {
		return "(absent)"
	}
	return check.JSON(v)
}

// Decode fills the struct that into points to, whose tags name the fields. The struct holds the
// defaults before the call: fields that are null or absent keep them. Null is an error where
// transformers refuses it, unless the default is false, 0 or empty: these are the same to Python.
// Fields of embedded structs count as its own. Integers must be at least 1 and floating-point
// numbers above 0, unless a tag min says otherwise.
//
// Fields of config.json that no Decode has asked for are looked up in the table of transformers'
// configuration classes when the model is complete: such a field is an error if it would change
// what the model computes, and one of [Model].Warnings if it is not in the table.
func (d Document) Decode(into any) error {
	v := reflect.ValueOf(into).Elem()
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		d.Note(name)
		if d.IsNull(name) && d.needs(name) {
			return d.Errorf(name, "want a value")
		}
		if d.Has(name) {
			if err := d.Field(name, v.FieldByIndex(f.Index).Addr().Interface()); err != nil {
				return err
			}
		}
		least, err := 1.0, error(nil)
		text, given := f.Tag.Lookup("min")
		if given {
			if least, err = strconv.ParseFloat(text, 64); err != nil {
				panic(fmt.Sprintf("models: tag min of %s: %v", f.Name, err))
			}
		}
		switch x := v.FieldByIndex(f.Index); {
		case x.CanInt() && (float64(x.Int()) < least || x.Int() > math.MaxInt32):
			return d.Errorf(name, "want an integer from %g to %d", least, math.MaxInt32)
		case x.CanFloat() && (math.IsInf(x.Float(), 0) || given && !(x.Float() >= least) || !given && !(x.Float() > 0)):
			if given {
				return d.Errorf(name, "want at least %g", least)
			}
			return d.Errorf(name, "want a number above 0")
		}
	}
	return nil
}

// needs reports whether transformers refuses a null of config.json, and would not take it for the
// field's default.
func (d Document) needs(name string) bool {
	return d.Name != GGUFMetadata && d.account != nil && d.account.class != nil && slices.Contains(d.account.class.Needed, name)
}

// Field decodes the value of one field, which must be there.
func (d Document) Field(name string, into any) error {
	err := pyjson.Unmarshal(d.Fields[name], into)
	var wrong *pyjson.TypeError
	switch {
	case errors.As(err, &wrong) && wrong.Path == "":
		return d.Errorf(name, "want %v", wrong.Want)
	case err != nil:
		return d.Errorf(name, "%v", err)
	}
	return nil
}

// Activation is that named by a field.
func (d Document) Activation(field, name string) (kernels.Activation, error) {
	switch name {
	case "relu":
		return kernels.ActReLU, nil
	case "gelu", "gelu_python":
		return kernels.ActGELU, nil
	case "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python_tanh", "gelu_accurate":
		return kernels.ActGELUTanh, nil
	case "silu", "swish":
		return kernels.ActSiLU, nil
	case "tanh":
		return kernels.ActTanh, nil
	case "relu2":
		return kernels.ActReLU2, nil
	}
	return 0, d.ErrorWith(field, strconv.Quote(name), "unknown activation")
}

// FeedActivation returns the activation of a feed-forward network that is named by a field, and its
// sharpness.
func (d Document) FeedActivation(field, name string) (a kernels.Activation, sharpness float32, err error) {
	if name == "quick_gelu" { // x*sigmoid(1.702x)
		return kernels.ActSiLU, 1.702, nil
	}
	a, err = d.Activation(field, name)
	return a, 0, err
}

// MostLabels is the most labels of a classifier.
const MostLabels = 1 << 20

// Labels are names by their index: an object whose keys are the numbers from 0 on.
type Labels []string

func (l *Labels) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	byID := map[int]string{}
	err := pyjson.Members(text, func(key string, value json.RawMessage) error {
		id, err := strconv.Atoi(key)
		if err != nil || id < 0 || id >= MostLabels {
			return fmt.Errorf("key %.20q, want numbers from 0 to at most %d", key, MostLabels-1)
		}
		var name string
		if pyjson.Unmarshal(value, &name) != nil {
			name = check.JSON(value) // such as a number, which transformers takes for a name as well
		}
		byID[id] = name
		return nil
	})
	if err != nil {
		return err
	}
	*l = make(Labels, len(byID))
	for id, name := range byID {
		if id >= len(byID) {
			return fmt.Errorf("key %q, want the numbers from 0 to %d", strconv.Itoa(id), len(byID)-1)
		}
		(*l)[id] = name
	}
	return nil
}

// TokenID is the number of a token. A number beyond 32 bits is in no vocabulary, and stands for a
// token that never comes.
type TokenID int

func (t *TokenID) UnmarshalJSON(text []byte) error {
	if n, err := strconv.ParseInt(string(text), 10, 64); n > math.MaxInt32 && (err == nil || errors.Is(err, strconv.ErrRange)) {
		*t = math.MaxInt32
		return nil
	}
	return pyjson.Unmarshal(text, (*int)(t))
}

// LabelNames are those that transformers gives to n labels without names.
func LabelNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("LABEL_%d", i)
	}
	return names
}

// KeyError returns an error about a key of a GGUF file.
func KeyError(key string, value any, format string, args ...any) error {
	return &fault.Error{Kind: fault.ErrConfig, Field: key, Value: check.Short(fmt.Sprint(value)), Err: fmt.Errorf(format, args...)}
}

// GGUFMetadata is the name of the configuration that is made from a GGUF file's metadata.
const GGUFMetadata = "metadata"
