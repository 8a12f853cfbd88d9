package llamacpp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// This file opens GGUF files: it says in the words of config.json what their metadata
// says, and in those of llama.cpp what the architectures call their tensors. Sources:
// the GGUF specification and the names in llama.cpp's gguf-py.

// Reader collects the fields of config.json from metadata.
type Reader struct {
	file         *gguf.File
	Weights      transformer.Reader
	Architecture string
	fields       map[string]any
	read         map[string]bool // keys
	Pool         block.Pooling   // of an embedder; else nil
	err          error           // the first
}

func NewReader(file *gguf.File) *Reader {
	return &Reader{file: file, Weights: transformer.FromGGUF(file), fields: map[string]any{}, read: map[string]bool{}}
}

// Names gives llama.cpp's names of the tensors that Hugging Face's have.
func (r *Reader) Names() func(name string) string {
	if own, ok := ggufEncoders[r.Architecture]; ok {
		return own.names(r)
	}
	return llamaCppName(r.Architecture)
}

// Neighbours tells that the rotary pairs of queries and keys are neighbours where they are half a head apart.
func (r *Reader) Neighbours() bool { return ggufDecoders[r.Architecture].neighbours }

func (r *Reader) isEncoder() bool { _, ok := ggufEncoders[r.Architecture]; return ok }

// key is the architecture's key of a name, which is read.
func (r *Reader) key(name string) string {
	key := r.Architecture + "." + name
	r.read[key] = true
	return key
}

// ggufNeutral are the architectures' keys that change nothing.
var ggufNeutral = []string{
	"vocab_size", "rope.scaling.finetuned", "attention.layer_norm_epsilon", "tensor_data_layout", // of tensors; not of these architectures; of none since GGUF 2
	"expert_used_count", "expert_shared_count", "expert_group_count", "expert_group_used_count", // where there are no experts, and no groups of them
}

// Unread is a warning for each key of the architecture that was not read.
func (r *Reader) Unread() (warnings []string) {
	for _, key := range r.file.Keys() {
		name, own := strings.CutPrefix(key, r.Architecture+".")
		if value, _ := r.file.Value(key); own && !r.read[key] && !slices.Contains(ggufNeutral, name) {
			warnings = append(warnings, fmt.Sprintf("metadata: %s = %.60s: ignored", key, fmt.Sprint(value)))
		}
	}
	return warnings
}

// Guessed is a warning for each thing about texts that the file leaves open. endless tells that no token ends a text.
func (r *Reader) Guessed(endless bool) (warnings []string) {
	if model, _ := r.file.Text("tokenizer.ggml.model"); model == "gpt2" {
		if pre, _ := r.file.Text("tokenizer.ggml.pre"); pre == "" || pre == "default" {
			warnings = append(warnings, fmt.Sprintf("metadata: tokenizer.ggml.pre = %q: does not say how the model's tokenizer cuts texts; they are cut as llama.cpp does by default", pre))
		}
	}
	if endless {
		warnings = append(warnings, "metadata: no token ends a text: generation goes on to its limit")
	}
	return warnings
}

// Widened is a warning if weights take more memory than in the file, since they become float32 for want of a format
// for the blocks that it has them in.
func (r *Reader) Widened(held []transformer.Holding) []string {
	var types []string
	var inFile, inMemory int
	for _, h := range held {
		info, ok := r.file.Info(h.Tensor)
		if !ok || h.Format != kernels.FormatF32 || r.Weights.Format(h.Tensor) != kernels.FormatF32 || info.Type.Block() == 1 {
			continue
		}
		if name := info.Type.String(); !slices.Contains(types, name) {
			types = append(types, name)
		}
		inFile += info.Type.Bytes(h.Elements)
		inMemory += 4 * h.Elements
	}
	if types == nil {
		return nil
	}
	slices.Sort(types)
	return []string{fmt.Sprintf("%s: %d bytes in the file take %d in memory, as float32", strings.Join(types, ", "), inFile, inMemory)}
}

// Document is config.json for the file.
func (r *Reader) Document() (configuration.Document, error) {
	var err error
	if r.Architecture, err = r.file.Text("general.architecture"); err != nil {
		return configuration.Document{}, err
	}
	if all := slices.Concat(ggufArchitectures, ggufEncoderNames); !slices.Contains(all, r.Architecture) {
		return configuration.Document{}, &check.Error{Kind: check.ErrModelType, Field: "general.architecture", Value: strconv.Quote(r.Architecture), Err: fmt.Errorf("want one of %s", strings.Join(all, ", "))}
	}
	embedding, _ := r.file.Info("token_embd.weight")
	if len(embedding.Shape) != 2 {
		return configuration.Document{}, &check.Error{Kind: transformer.ErrMissing, Field: "token_embd.weight", Err: errors.New("missing, or no matrix")}
	}
	r.fields["vocab_size"] = embedding.Shape[0]
	r.integer("hidden_size", "embedding_length", true)
	r.integer("num_hidden_layers", "block_count", true)
	r.integer("num_attention_heads", "attention.head_count", true)
	r.integer("intermediate_size", "feed_forward_length", !ggufDecoders[r.Architecture].experts)
	r.integer("max_position_embeddings", "context_length", true)
	for field, key := range map[string]string{"bos_token_id": "bos", "pad_token_id": "padding"} {
		if n, err := r.file.Int("tokenizer.ggml." + key + "_token_id"); err == nil {
			r.fields[field] = n
		}
	}
	ends, err := r.file.EndTokens()
	if err != nil {
		return configuration.Document{}, &check.Error{Kind: check.ErrConfig, Field: "tokenizer.ggml", Err: err}
	}
	r.fields["eos_token_id"] = ends
	r.Pool = r.pooling()
	if r.isEncoder() {
		r.encoder()
	} else {
		r.decoder()
	}
	if r.err != nil {
		return configuration.Document{}, r.err
	}
	text, err := json.Marshal(r.fields)
	if err != nil {
		return configuration.Document{}, check.Errorf(check.ErrConfig, "%v", err) // an infinite number
	}
	return configuration.Parse(configuration.GGUFMetadata, text)
}

// decoder reads what decoders have beside the sizes of all models.
func (r *Reader) decoder() {
	own := ggufDecoders[r.Architecture]
	r.fields["model_type"], r.fields["architectures"] = cmp.Or(own.kind, r.Architecture), []string{r.Architecture + "ForCausalLM"}
	if r.Pool != nil {
		r.fields["architectures"] = []string{"Model"}
	}
	r.fields["tie_word_embeddings"] = !r.has("output.weight")
	if !own.byLayer {
		r.integer("num_key_value_heads", "attention.head_count_kv", false)
	}
	r.integer("head_dim", "attention.key_length", false)
	if own.epsilon == "" {
		r.number("rms_norm_eps", "attention.layer_norm_rms_epsilon", true)
	} else {
		r.number(own.epsilon, "attention.layer_norm_epsilon", true)
	}
	r.number("rope_theta", "rope.freq_base", false)
	r.special()
	r.rope(own)
}

func (r *Reader) has(tensor string) bool { _, ok := r.file.Info(tensor); return ok }

// note keeps the first error.
func (r *Reader) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

// integer takes a field from the architecture's key. A list of equal numbers, one for
// each layer, counts as one.
func (r *Reader) integer(field, key string, wanted bool) {
	key = r.key(key)
	n, err := r.file.Int(key)
	if list, listErr := r.file.Ints(key); listErr == nil && len(list) > 0 {
		n, err = list[0], nil
		if len(slices.Compact(list)) > 1 {
			err = errors.New("it differs from layer to layer: not supported")
		}
	}
	switch {
	case err == nil:
		r.fields[field] = n
	case wanted || !errors.Is(err, gguf.ErrAbsent):
		r.note(&check.Error{Kind: check.ErrConfig, Field: key, Err: err})
	}
}

// number takes a field from the architecture's key.
func (r *Reader) number(field, key string, wanted bool) {
	x, err := r.file.Float(r.key(key))
	switch {
	case err == nil:
		// The decimal number that the float32 was written for: 1e-6, not 9.99999997e-07.
		short, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', -1, 32), 64)
		r.fields[field] = short
	case wanted || !errors.Is(err, gguf.ErrAbsent):
		r.note(&check.Error{Kind: check.ErrConfig, Field: r.key(key), Err: err})
	}
}

// integerOf is the architecture's integer, 0 if there is none.
func (r *Reader) integerOf(key string) int64 {
	n, err := r.file.Int(r.key(key))
	if err != nil && !errors.Is(err, gguf.ErrAbsent) {
		r.note(err)
	}
	return n
}

// numberOf is the architecture's number, or what holds without one.
func (r *Reader) numberOf(key string, without float64) float64 {
	x, err := r.file.Float(r.key(key))
	if errors.Is(err, gguf.ErrAbsent) {
		return without
	}
	r.note(err)
	return x
}

// want notes an error if the architecture has another number than the only one supported.
func (r *Reader) want(key string, only float64) {
	if x := r.numberOf(key, only); x != only {
		r.note(configuration.KeyError(r.key(key), x, "not supported"))
	}
}

// special is what only some architectures have.
func (r *Reader) special() {
	if !r.flag("attention.causal", true) {
		r.note(configuration.KeyError(r.key("attention.causal"), false, "not supported"))
	}
	if n := r.integerOf("expert_count"); n > 0 && !ggufDecoders[r.Architecture].experts {
		r.note(configuration.KeyError(r.key("expert_count"), n, "not supported"))
	}
	if v, k := r.integerOf("attention.value_length"), r.integerOf("attention.key_length"); v != k {
		r.note(configuration.KeyError(r.key("attention.value_length"), v, "want key_length = %d", k))
	}
	if read := ggufDecoders[r.Architecture].read; read != nil {
		read(r)
	}
}

// llamaCppName gives llama.cpp's names of the tensors that Hugging Face's have.
func llamaCppName(arch string) func(name string) string {
	parts := map[string]string{
		"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
		"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.qkv_proj": "attn_qkv",
		"self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
		"mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
	}
	maps.Copy(parts, ggufDecoders[arch].parts)
	whole := map[string]string{"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
	maps.Copy(whole, ggufDecoders[arch].whole)
	return ggufNames("layers.", parts, whole)
}

// ggufNames gives the names of tensors of which parts are those of a layer, after the given prefix and its number, and
// whole are others.
func ggufNames(layers string, parts, whole map[string]string) func(name string) string {
	return func(name string) string {
		stem, kind, _ := cutLast(strings.TrimPrefix(name, "model."))
		if rest, ok := strings.CutPrefix(stem, layers); ok {
			layer, part, _ := strings.Cut(rest, ".")
			if own, ok := parts[part+"."+kind]; ok { // with its end
				return "blk." + layer + "." + own
			}
			if own, ok := parts[part]; ok {
				return "blk." + layer + "." + own + "." + kind
			}
		}
		if own, ok := whole[stem]; ok {
			return own + "." + kind
		}
		return name
	}
}

// cutLast cuts around the last dot.
func cutLast(name string) (before, after string, found bool) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}
