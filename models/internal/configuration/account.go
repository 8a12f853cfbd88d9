package configuration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/avoformer/avoformer/fault"
	beside "github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// The account of a configuration: which of its fields the architecture has read, and what becomes
// of those it has not.

// HandMade are configurations that transformers has no class for.
var HandMade = map[string]*pyclass.Class{
	// The published form of nomic_bert, which has its own code next to the weights.
	"nomic_bert of the hub": {Fields: map[string]string{
		"scale_attn_weights": "true", "scale_attn_by_inverse_layer_idx": "false", "parallel_block_tied_norm": "false", "dense_seq_output": "true",
		"pad_token_id": "0", "max_trained_positions": "2048",
		"ffn_div": "1", "router_aux_loss_coef": "0.1", "add_pooling_layer": "false",
	}},
	// GTE as it was published, by code of its own too.
	"model2vec": {},
	"new":       {Fields: map[string]string{"pack_qkv": "true", "logn_attention_clip1": "false"}},
	// Its fields are those of its base, EuroBERT or Qwen 3.
	"jina_embeddings_v5": {},

	"timm": {Fields: map[string]string{"num_features": "768", "pretrained_cfg": "null"}},
}

// account records which fields of one object of a configuration are read.
type account struct {
	class  *pyclass.Class // nil: unknown
	read   map[string]bool
	hidden map[string]Document // by field, those that an alias has replaced
	ledger *ledger
}

// ledger is the accounts of a configuration and of its objects.
type ledger struct {
	parts    []Document
	warnings []string
}

// CommonFields are the fields of config.json that every architecture may have.
var CommonFields = []string{
	"model_type", "architectures", "id2label", "num_labels", "problem_type", "pad_token_id", "bos_token_id", "decoder_start_token_id", "eos_token_id",
}

// accounted is d with an account, and with aliases under their fields' own names.
func (d Document) accounted(c *pyclass.Class, l *ledger) (Document, error) {
	d.account = &account{class: c, read: map[string]bool{}, hidden: map[string]Document{}, ledger: l}
	if c != nil {
		from := map[string]string{}
		fields := maps.Clone(d.Fields)
		for _, alias := range slices.Sorted(maps.Keys(c.Aliases)) {
			v, ok := d.Fields[alias]
			if !ok {
				continue
			}
			name := c.Aliases[alias]
			if other, twice := from[name]; twice && d.Value(alias) != d.Value(other) {
				return d, d.Errorf(alias, "%s, which means the same, is %s", other, d.Value(other))
			}
			from[name] = alias
			d.account.hidden[name] = Document{Name: d.Name, Fields: map[string]json.RawMessage{}}
			if own, ok := d.Fields[name]; ok {
				d.account.hidden[name].Fields[name] = own
			}
			fields[name] = v
			delete(fields, alias)
		}
		d.Fields = fields
	}
	for _, name := range CommonFields {
		d.account.read[name] = true
	}
	l.parts = append(l.parts, d)
	return d, nil
}

// AccountFor is d with an account by the class of a model_type.
func (d Document) AccountFor(modelType string) (Document, error) {
	return d.accounted(cmp.Or(pyclass.Config(modelType), HandMade[modelType]), new(ledger))
}

// Hidden returns a document with the value that a field has besides that of an alias, if it has an
// alias.
func (d Document) Hidden(name string) (Document, bool) {
	if d.account == nil {
		return Document{}, false
	}
	own, ok := d.account.hidden[name]
	return own, ok
}

// Tracked returns a file other than config.json with an account of its own.
func (d Document) Tracked() Document {
	d.account = &account{read: map[string]bool{}, ledger: new(ledger)}
	return d
}

// SettleBy ends the account of a file that a class of a Python library reads. It returns an error
// for a field that was not read, is not in idle, and has another value than the class's default.
// Fields that the class does not have go to warnings.
func (d Document) SettleBy(class string, warnings *[]string, idle ...string) error {
	more, err := beside.Settle(pyclass.File(class), d.Fields, d.account.read, idle)
	for _, w := range more {
		*warnings = append(*warnings, d.Name+": "+w)
	}
	if err != nil {
		return check.InFile(d.Name, fault.ErrConfig, err)
	}
	return nil
}

// NoneNull returns an error if a field is null that Python computes with.
func (d Document) NoneNull(fields ...string) error {
	for _, field := range fields {
		if d.IsNull(field) {
			return d.Errorf(field, "want a value")
		}
	}
	return nil
}

// warn adds to the model's warnings.
func (d Document) warn(format string, args ...any) {
	if w := d.Name + ": " + fmt.Sprintf(format, args...); d.account != nil && !slices.Contains(d.account.ledger.warnings, w) {
		d.account.ledger.warnings = append(d.account.ledger.warnings, w)
	}
}

// Settle ends the account. A field that was not read and would change what the model computes is an
// error, unless idle reports that it has no effect on this model. Fields that nobody knows are
// warnings.
func (d Document) Settle(idle func(part Document, field string) bool) (warnings []string, err error) {
	for _, part := range d.account.ledger.parts {
		for _, name := range slices.Sorted(maps.Keys(part.Fields)) {
			if part.account.read[name] || Neutral[name] != "" || Generation(name) {
				continue
			}
			if initial, known := Default(part.account.class, name); !known {
				part.warn("%s = %s: ignored, as by transformers %s, which has no such field here", name, part.Value(name), pyclass.Transformers)
			} else if !part.silent(name, initial) && !idle(part, name) {
				return nil, part.Errorf(name, "not supported by this model_type")
			}
		}
	}
	return d.account.ledger.warnings, nil
}

// Default returns the default of a field of a class, which may be nil, or of the fields that all
// classes have.
func Default(c *pyclass.Class, name string) (initial string, known bool) {
	if c != nil {
		if initial, known = c.Fields[name]; known {
			return initial, true
		}
	}
	initial, known = pyclass.Table("config base")[name]
	return initial, known
}

// Generation reports whether transformers' GenerationConfig has a field.
func Generation(name string) bool { return pyclass.Table("generation fields")[name] != "" }

// Initial returns the value that transformers gives a field that is absent, if its class has it.
func (d Document) Initial(name string) (string, bool) {
	if d.account == nil {
		return "", false
	}
	return Default(d.account.class, name)
}

// silent reports whether a field has the same meaning as its default.
func (d Document) silent(name, initial string) bool {
	var have, want any
	if pyjson.Unmarshal(d.Fields[name], &have) != nil || pyjson.Unmarshal([]byte(initial), &want) != nil {
		return false
	}
	return reflect.DeepEqual(have, want) || Empty(have) && Empty(want)
}

// AsClass has the account go by another class than that of the model_type.
func (d Document) AsClass(name string) {
	if d.account != nil {
		d.account.class = cmp.Or(HandMade[name], pyclass.Config(name))
	}
}

// Unaccounted returns the same object without an account of the fields that are read.
func (d Document) Unaccounted() Document { return Document{Name: d.Name, Fields: d.Fields} }

// Bare returns an object without fields, which counts as d's.
func (d Document) Bare() Document { return Document{Name: d.Name, account: d.account} }

// With is d with another value of a field.
func (d Document) With(field, value string) Document {
	fields := map[string]json.RawMessage{}
	maps.Copy(fields, d.Fields)
	fields[field] = json.RawMessage(value)
	d.Fields = fields
	return d
}

// Without is d without some fields.
func (d Document) Without(names ...string) Document {
	d.Fields = maps.Clone(d.Fields)
	for _, name := range names {
		delete(d.Fields, name)
	}
	return d
}

// Raw returns the JSON of a field, and false if it is absent.
func (d Document) Raw(field string) (json.RawMessage, bool) {
	v, ok := d.Fields[field]
	return v, ok
}
