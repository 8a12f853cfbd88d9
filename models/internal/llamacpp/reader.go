package llamacpp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// The metadata of a GGUF file, key by key.

// Reader collects the fields of config.json from metadata.
type Reader struct {
	File         *gguf.File
	Architecture string         // llama.cpp's name
	Fields       map[string]any // of config.json
	Pool         block.Pooling  // of an embedder; else nil

	weights transformer.Reader
	known   map[string]Architecture
	own     Architecture
	read    map[string]bool // keys
	endless bool            // no token ends a text
	err     error           // the first
}

func newReader(file *gguf.File, known map[string]Architecture) *Reader {
	return &Reader{File: file, weights: transformer.FromGGUF(file), Fields: map[string]any{}, known: known, read: map[string]bool{}}
}

// names returns llama.cpp's names of the tensors that Hugging Face's have.
func (r *Reader) names() func(name string) string {
	if r.own.Names != nil {
		return r.own.Names(r)
	}
	return r.own.names()
}

// Key returns the architecture's key of a name, which is read.
func (r *Reader) Key(name string) string {
	key := r.Architecture + "." + name
	r.read[key] = true
	return key
}

func (r *Reader) Has(tensor string) bool { _, ok := r.File.Info(tensor); return ok }

// Note keeps the first error.
func (r *Reader) Note(err error) {
	if r.err == nil {
		r.err = err
	}
}

// furtherKey is the key of how many of the last layers predict further tokens.
const furtherKey = "nextn_predict_layers"

// Layers returns the number of layers without those that predict further tokens.
func (r *Reader) Layers() int64 {
	return r.IntegerOf("block_count") - max(r.IntegerOf(furtherKey), 0)
}

// each returns a list with a value for each layer, without those for layers that predict further
// tokens.
func each[T any](r *Reader, list []T) []T {
	if n := r.Layers(); int64(len(list)) == r.IntegerOf("block_count") && n > 0 {
		return list[:n]
	}
	return list
}

// Integer takes a field from the architecture's key. A list of equal numbers, one for each layer,
// counts as one.
func (r *Reader) Integer(field, key string, wanted bool) {
	key = r.Key(key)
	n, err := r.File.Int(key)
	if list, listErr := r.File.Ints(key); listErr == nil && len(list) > 0 {
		list = each(r, list)
		n, err = list[0], nil
		if len(slices.Compact(list)) > 1 {
			err = errors.New("it differs from layer to layer: not supported")
		}
	}
	switch {
	case err == nil:
		r.Fields[field] = n
	case wanted || !errors.Is(err, fault.ErrAbsent):
		r.Note(&fault.Error{Kind: fault.ErrConfig, Field: key, Err: err})
	}
}

// Integers returns the architecture's list of integers, one for each layer; an integer counts as
// that of all.
func (r *Reader) Integers(key string) []int64 {
	layers := r.IntegerOf("block_count")
	const most = 1 << 16 // of what files merely claim
	if layers < 1 || layers > most {
		r.Refuse("block_count", layers, "want 1 to %d", most)
		return nil
	}
	key = r.Key(key)
	if n, err := r.File.Int(key); err == nil {
		return each(r, slices.Repeat([]int64{n}, int(layers)))
	}
	list, err := r.File.Ints(key)
	if err == nil && len(list) != int(layers) {
		err = fmt.Errorf("%d values, want one for each of %d layers", len(list), layers)
	}
	if err != nil {
		r.Note(&fault.Error{Kind: fault.ErrConfig, Field: key, Err: err})
		return nil
	}
	return each(r, list)
}

// Number takes a field from the architecture's key.
func (r *Reader) Number(field, key string, wanted bool) {
	x, err := r.File.Float(r.Key(key))
	switch {
	case err == nil:
		r.Fields[field] = Shortest(x)
	case wanted || !errors.Is(err, fault.ErrAbsent):
		r.Note(&fault.Error{Kind: fault.ErrConfig, Field: r.Key(key), Err: err})
	}
}

// Shortest returns the decimal number that a float32 was written for: 1e-6, not 9.99999997e-07.
func Shortest(x float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64)
	return short
}

// IntegerOf returns the architecture's integer with a key, 0 if the file does not have it.
func (r *Reader) IntegerOf(key string) int64 {
	n, err := r.File.Int(r.Key(key))
	if err != nil && !errors.Is(err, fault.ErrAbsent) {
		r.Note(err)
	}
	return n
}

// NumberOf returns the architecture's number, or what holds without one.
func (r *Reader) NumberOf(key string, without float64) float64 {
	x, err := r.File.Float(r.Key(key))
	if errors.Is(err, fault.ErrAbsent) {
		return without
	}
	r.Note(err)
	return x
}

// Want notes an error if the architecture has another number than the only one supported.
func (r *Reader) Want(key string, only float64) {
	if x := r.NumberOf(key, only); x != only {
		r.Refuse(key, x, "not supported")
	}
}

// The functions that make a mixture's weights from scores, with llama.cpp's numbers.
const (
	SoftmaxOfAll    = 1
	Sigmoid         = 2
	SoftmaxOfPicked = 3
)

// Experts reads what mixtures of experts have in common. count is the field of their number, and
// gating what their weights are of the scores.
func (r *Reader) Experts(count string, gating int64) {
	r.countExperts(count)
	r.Want("expert_weights_scale", 1)
	if n := r.IntegerOf("expert_gating_func"); n != 0 && n != gating {
		r.Refuse("expert_gating_func", n, "want %d", gating)
	}
	for _, groups := range []string{"expert_group_count", "expert_group_used_count"} { // of which some are picked first
		if n := r.IntegerOf(groups); n > 1 {
			r.Refuse(groups, n, "not supported")
		}
	}
}

func (r *Reader) countExperts(count string) {
	r.Integer(count, "expert_count", true)
	r.Integer("num_experts_per_tok", "expert_used_count", true)
}

// SigmoidExperts reads a mixture of DeepSeek's kind: the weights of experts are scaled sigmoids,
// experts are in groups of which some are picked first, and every row also takes shared experts.
// silent is the function of llama.cpp if the file does not name one.
func (r *Reader) SigmoidExperts(silent int64) {
	r.countExperts("n_routed_experts")
	if n := cmp.Or(r.IntegerOf("expert_gating_func"), silent); n != Sigmoid {
		r.Refuse("expert_gating_func", n, "want %d", Sigmoid)
	}
	r.Fields["routed_scaling_factor"], r.Fields["norm_topk_prob"] = 1.0, r.Flag("expert_weights_norm", false)
	r.Number("routed_scaling_factor", "expert_weights_scale", false)
	r.Fields["n_group"], r.Fields["topk_group"] = 1, 1
	r.Integer("n_group", "expert_group_count", false)
	r.Integer("topk_group", "expert_group_used_count", false)
	r.Integer("n_shared_experts", "expert_shared_count", true)
	r.Integer("moe_intermediate_size", "expert_feed_forward_length", true)
}

// Rename gives a field another name.
func (r *Reader) Rename(field, of string) {
	r.Fields[field] = r.Fields[of]
	delete(r.Fields, of)
}

// Types reads how many types of tokens there are.
func (r *Reader) Types() {
	types, _ := r.File.Info("token_types.weight")
	r.Fields["type_vocab_size"] = 0
	if len(types.Shape) == 2 {
		r.Fields["type_vocab_size"] = types.Shape[0]
	}
}

// Flag returns the architecture's bool, or what holds without one.
func (r *Reader) Flag(name string, without bool) bool {
	key := r.Key(name)
	if _, ok := r.File.Value(key); !ok {
		return without
	}
	value, err := r.File.Bool(key)
	r.Note(err)
	return value
}

// Refuse notes an error about the architecture's key of a name.
func (r *Reader) Refuse(key string, value any, format string, args ...any) {
	r.Note(configuration.KeyError(r.Key(key), value, format, args...))
}
