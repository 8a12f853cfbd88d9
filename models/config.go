package models

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

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
)

// Configurations: what all of them say, and how config.json is read without guessing.

// Config is what the configurations of all architectures say, by one name each.
type Config struct {
	ModelType     string
	Architectures []string // classes of transformers, the first of which decides about heads
	Vocab         int      // number of tokens
	Dim           int      // width of the hidden states
	Layers        int
	MaxLength     int      // the most tokens of a sequence; 0: not limited
	Labels        []string // of a classifier, by index
	MultiLabel    bool     // each label on its own, not one of all

	// Tokens with a meaning of their own; -1 where there is none.
	PadToken, BOSToken, DecoderStart int
	EOSTokens                        []int // that end a text
}

// Head is the end of the first architecture's name that tells the head, such as
// "ForSequenceClassification", "LMHeadModel" or "MTModel"; "Model" is without head, as
// are all other names.
func (c *Config) Head() string {
	name := "Model"
	if len(c.Architectures) > 0 {
		name = c.Architectures[0]
	}
	if at := strings.LastIndex(name, "For"); at > 0 {
		return name[at:]
	}
	for _, end := range []string{"LMHeadModel", "MTModel"} {
		if strings.HasSuffix(name, end) {
			return end
		}
	}
	return "Model"
}

// A Document is a JSON object of a file.
type Document struct {
	Name   string // of the file, and the path to the object in it
	fields map[string]json.RawMessage
}

// parse reads the object in text.
func parse(name string, text []byte) (Document, error) {
	d := Document{Name: name}
	if err := pyjson.Unmarshal(text, &d.fields); err != nil {
		return d, check.Errorf(ErrConfig, "%s: %v", name, err)
	}
	if d.fields == nil {
		return d, check.Errorf(ErrConfig, "%s: want an object, have null", name)
	}
	return d, nil
}

// Has reports whether the object has the field, and not as null.
func (d Document) Has(field string) bool {
	v, ok := d.fields[field]
	return ok && !bytes.Equal(v, []byte("null"))
}

// isNull reports whether the object has the field, as null.
func (d Document) isNull(field string) bool {
	_, ok := d.fields[field]
	return ok && !d.Has(field)
}

// Sub is the object that is the value of a field.
func (d Document) Sub(field string) (Document, error) {
	if !d.Has(field) {
		return Document{}, check.Errorf(ErrConfig, "%s: %s is missing", d.Name, field)
	}
	return parse(d.Name+": "+field, d.fields[field])
}

// Errorf is an error about the value of a field, which it names.
func (d Document) Errorf(field, format string, args ...any) error {
	return check.Errorf(ErrConfig, "%s: %s = %s: %w", d.Name, field, d.value(field), fmt.Errorf(format, args...))
}

// value is the text of a field's value, shortened.
func (d Document) value(field string) string {
	v, ok := d.fields[field]
	if !ok {
		return "(absent)"
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil { // NaN
		b.Write(v)
	}
	const most = 120
	if b.Len() > most {
		return string(b.Bytes()[:most]) + "…"
	}
	return b.String()
}

// neutral lists fields that change what a model computes, and the values besides null
// that are as if they were not there. An architecture that does not read such a field
// does not accept other values.
var neutral = map[string][]string{
	"quantization_config":             {},
	"position_embedding_type":         {`"absolute"`},
	"rope_scaling":                    {},
	"rope_parameters":                 {},
	"layer_types":                     {},
	"sliding_window":                  {},
	"use_sliding_window":              {"false"},
	"is_decoder":                      {"false"},
	"add_cross_attention":             {"false"},
	"attention_bias":                  {"false"},
	"mlp_bias":                        {"false"},
	"attn_logit_softcapping":          {},
	"final_logit_softcapping":         {},
	"partial_rotary_factor":           {"1", "1.0"},
	"use_bidirectional_attention":     {"false"},
	"scale_attn_by_inverse_layer_idx": {"false"},
	"scale_attn_weights":              {"true"},
	"num_experts":                     {"0"},
	"num_local_experts":               {"0"},
	"alibi":                           {"false"},
	"parallel_attn":                   {"false"},
	"normalize_before":                {"false"},
	"qk_layernorm":                    {"false"},
	"pretraining_tp":                  {"0", "1"},
	"cross_attention_hidden_size":     {},
	"use_weighted_layer_sum":          {"false"},
	"tie_encoder_decoder":             {"false"},
	"attention_multiplier":            {"1", "1.0"},
	"residual_multiplier":             {"1", "1.0"},
	"embedding_multiplier":            {"1", "1.0"},
	"logits_scaling":                  {"1", "1.0"},
}

// Decode fills the struct that into points to, whose tags name the fields. It has the
// defaults beforehand, which null and absent fields leave. Fields of structs embedded in
// it count as its own. Integers must be at least 1
// and floating-point numbers above 0, or what a tag min says. Fields of the object that
// would change what the model computes, and that the struct does not have, are errors.
func (d Document) Decode(into any) error {
	v := reflect.ValueOf(into).Elem()
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		known[name] = true
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
	for name, values := range neutral {
		if !known[name] && d.Has(name) && !slices.Contains(values, d.value(name)) {
			return d.Errorf(name, "not supported by this model_type")
		}
	}
	return nil
}

// DecodeAll is Decode of an object that has no fields besides those of the struct.
func (d Document) DecodeAll(into any) error {
	known := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(into).Elem()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	for name := range d.fields {
		if !known[name] {
			return d.Errorf(name, "unknown field")
		}
	}
	return d.Decode(into)
}

// Field decodes the value of one field, which must be there.
func (d Document) Field(name string, into any) error {
	err := pyjson.Unmarshal(d.fields[name], into)
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
	}
	return 0, check.Errorf(ErrConfig, "%s: %s = %q: unknown activation", d.Name, field, name)
}

// tokens is a token, or several.
type tokens []int

func (t *tokens) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return pyjson.Unmarshal(text, (*[]int)(t))
	}
	*t = []int{0}
	return pyjson.Unmarshal(text, &(*t)[0])
}

// common reads what all configurations have. generation, which may be empty, goes
// before config.json in what concerns generation.
func common(d, generation Document) (Config, error) {
	raw := struct {
		ModelType     string            `json:"model_type"`
		Architectures []string          `json:"architectures"`
		ID2Label      map[string]string `json:"id2label"`
		Problem       string            `json:"problem_type"`
		Pad           int               `json:"pad_token_id" min:"-1"`
		BOS           int               `json:"bos_token_id" min:"-1"`
		Start         int               `json:"decoder_start_token_id" min:"-1"`
		EOS           tokens            `json:"eos_token_id"`
	}{Pad: -1, BOS: -1, Start: -1}
	fields := map[string]json.RawMessage{}
	for _, name := range []string{"model_type", "architectures", "id2label", "problem_type", "pad_token_id", "bos_token_id", "decoder_start_token_id", "eos_token_id"} {
		if v, ok := d.fields[name]; ok {
			fields[name] = v
		}
	}
	if err := (Document{d.Name, fields}).Decode(&raw); err != nil {
		return Config{}, err
	}
	if err := (Document{generation.Name, keep(generation.fields, "bos_token_id", "pad_token_id", "eos_token_id", "decoder_start_token_id")}).Decode(&raw); err != nil {
		return Config{}, err
	}
	if raw.ModelType == "" && d.Has("architecture") { // timm's: vit_base_patch16_224
		var name string
		if err := d.Field("architecture", &name); err != nil {
			return Config{}, err
		}
		raw.ModelType, _, _ = strings.Cut(name, "_")
	}
	if raw.ModelType == "" {
		return Config{}, check.Errorf(ErrConfig, "%s: model_type is missing", d.Name)
	}
	c := Config{
		ModelType: raw.ModelType, Architectures: raw.Architectures, MultiLabel: raw.Problem == "multi_label_classification",
		PadToken: raw.Pad, BOSToken: raw.BOS, DecoderStart: raw.Start, EOSTokens: raw.EOS,
	}
	c.Labels = make([]string, len(raw.ID2Label))
	for id, label := range raw.ID2Label {
		i, err := strconv.Atoi(id)
		if err != nil || i < 0 || i >= len(c.Labels) {
			return c, d.Errorf("id2label", "key %q, want the numbers from 0 to %d", id, len(c.Labels)-1)
		}
		c.Labels[i] = label
	}
	return c, nil
}

// keep is the named fields.
func keep(fields map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
	kept := map[string]json.RawMessage{}
	for _, n := range names {
		if v, ok := fields[n]; ok {
			kept[n] = v
		}
	}
	return kept
}
