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

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// This file opens GGUF files: it says in the words of config.json what their metadata says, and in
// those of llama.cpp what the architectures call their tensors. Sources: the GGUF specification and
// the names in llama.cpp's gguf-py.

// order has decoders before encoders, each by name.
func (r *Reader) order(a, b string) int {
	if first, second := r.known[a].Encoder, r.known[b].Encoder; first != second {
		if second {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

// document returns config.json for the file.
func (r *Reader) document() (configuration.Document, error) {
	var err error
	if r.Architecture, err = r.File.Text("general.architecture"); err != nil {
		return configuration.Document{}, err
	}
	var ok bool
	if r.own, ok = r.known[r.Architecture]; !ok {
		all := slices.SortedFunc(maps.Keys(r.known), r.order)
		return configuration.Document{}, &fault.Error{Kind: fault.ErrModelType, Field: "general.architecture", Value: strconv.Quote(r.Architecture), Err: fmt.Errorf("want one of %s", strings.Join(all, ", "))}
	}
	embedding, _ := r.File.Info("token_embd.weight")
	if len(embedding.Shape) != 2 {
		return configuration.Document{}, &fault.Error{Kind: fault.ErrMissing, Field: "token_embd.weight", Err: errors.New("missing, or no matrix")}
	}
	r.Fields["vocab_size"] = embedding.Shape[0]
	r.Integer("hidden_size", "embedding_length", true)
	r.Integer("num_hidden_layers", "block_count", true)
	r.further()
	r.Integer("num_attention_heads", "attention.head_count", true)
	if !r.own.Varying {
		r.Integer("intermediate_size", "feed_forward_length", !r.own.Experts)
	}
	r.Integer("max_position_embeddings", "context_length", true)
	for field, key := range map[string]string{"bos_token_id": "bos", "pad_token_id": "padding"} {
		if n, err := r.File.Int("tokenizer.ggml." + key + "_token_id"); err == nil {
			r.Fields[field] = n
		}
	}
	ends, err := r.File.EndTokens()
	if err != nil {
		return configuration.Document{}, &fault.Error{Kind: fault.ErrConfig, Field: "tokenizer.ggml", Err: err}
	}
	r.Fields["eos_token_id"], r.endless = ends, len(ends) == 0
	r.Pool = r.pooling()
	if r.own.Encoder {
		r.encoder()
	} else {
		r.decoder()
	}
	if r.err != nil {
		return configuration.Document{}, r.err
	}
	return jsonDocument(r.Fields)
}

// jsonDocument returns fields as a document.
func jsonDocument(fields map[string]any) (configuration.Document, error) {
	text, err := json.Marshal(fields)
	if err != nil {
		return configuration.Document{}, check.Errorf(fault.ErrConfig, "%v", err) // an infinite number
	}
	return configuration.Parse(configuration.GGUFMetadata, text)
}

// decoder reads the metadata that only decoders have.
func (r *Reader) decoder() {
	r.Fields["model_type"], r.Fields["architectures"] = cmp.Or(r.own.ModelType, r.Architecture), []string{r.Architecture + "ForCausalLM"}
	if r.Pool != nil {
		r.Fields["architectures"] = []string{"Model"}
	}
	r.Fields["tie_word_embeddings"] = !r.Has("output.weight")
	if !r.own.ByLayer && !r.own.Varying {
		r.Integer("num_key_value_heads", "attention.head_count_kv", false)
	}
	r.Integer("head_dim", "attention.key_length", false)
	if r.own.Epsilon == "" {
		r.Number("rms_norm_eps", "attention.layer_norm_rms_epsilon", true)
	} else {
		r.Number(r.own.Epsilon, "attention.layer_norm_epsilon", true)
	}
	if r.own.Varying {
		r.special()
		return
	}
	r.Fields["rope_theta"] = 10000.0
	r.Number("rope_theta", "rope.freq_base", false)
	r.Rope()
	r.special()
}

// special is what only some architectures have.
func (r *Reader) special() {
	if !r.Flag("attention.causal", true) && !r.own.BothWays {
		r.Refuse("attention.causal", false, "not supported")
	}
	if n := r.IntegerOf("expert_count"); n > 0 && !r.own.Experts {
		r.Refuse("expert_count", n, "not supported")
	}
	if v, k := r.IntegerOf("attention.value_length"), r.IntegerOf("attention.key_length"); v != k && !r.own.Latent {
		r.Refuse("attention.value_length", v, "want key_length = %d", k)
	}
	if read := r.own.Read; read != nil {
		read(r)
	}
}

// encoder reads the metadata that only encoders have.
func (r *Reader) encoder() {
	r.Fields["model_type"], r.Fields["architectures"] = cmp.Or(r.own.ModelType, r.Architecture), []string{"Model"}
	if r.own.Epsilon != "" {
		r.Number(r.own.Epsilon, "attention.layer_norm_epsilon", true)
	}
	if r.Flag("attention.causal", false) {
		r.Note(check.Errorf(fault.ErrConfig, "%s.attention.causal = true: not supported", r.Architecture))
	}
	heads := r.IntegerOf("attention.head_count")
	if n := r.IntegerOf("attention.head_count_kv"); n != 0 && n != heads && !r.own.Groups {
		r.Note(check.Errorf(fault.ErrConfig, "%s.attention.head_count_kv = %d, want head_count = %d", r.Architecture, n, heads))
	}
	r.own.Read(r)
}

// poolings are llama.cpp's numbers of poolings; 0 means no pooling.
var poolings = []block.Pooling{1: block.PoolMean, 2: block.PoolFirst, 3: block.PoolLast}

// pooling is how hidden states become the vector of a text; nil if the file is not of an embedder.
func (r *Reader) pooling() block.Pooling {
	n := r.IntegerOf("pooling_type")
	if n < 0 || n >= int64(len(poolings)) {
		r.Note(check.Errorf(fault.ErrConfig, "%s.pooling_type = %d: not supported", r.Architecture, n))
		return nil
	}
	return poolings[n]
}

// ggufNeutral are the architectures' keys that change nothing.
var ggufNeutral = []string{
	"vocab_size", "rope.scaling.finetuned", "attention.layer_norm_epsilon", "tensor_data_layout", // of tensors; not of these architectures; of none since GGUF 2
	"dense_2_feat_in", "dense_2_feat_out", "dense_3_feat_in", "dense_3_feat_out", // which their tensors say
	"expert_used_count", "expert_shared_count", "expert_group_count", "expert_group_used_count", // where there are no experts, and no groups of them
}

// unread returns a warning for each key of the architecture that was not read.
func (r *Reader) unread() (warnings []string) {
	for _, key := range r.File.Keys() {
		name, own := strings.CutPrefix(key, r.Architecture+".")
		if value, _ := r.File.Value(key); own && !r.read[key] && !slices.Contains(ggufNeutral, name) {
			warnings = append(warnings, fmt.Sprintf("metadata: %s = %.60s: ignored", key, fmt.Sprint(value)))
		}
	}
	return warnings
}

// guessed returns a warning for each thing about texts that the file leaves open.
func (r *Reader) guessed() (warnings []string) {
	if model, _ := r.File.Text("tokenizer.ggml.model"); model == "gpt2" {
		if pre, _ := r.File.Text("tokenizer.ggml.pre"); pre == "" || pre == "default" {
			warnings = append(warnings, fmt.Sprintf("metadata: tokenizer.ggml.pre = %q: does not say how the model's tokenizer cuts texts; they are cut as llama.cpp does by default", pre))
		}
	}
	if generates := !r.own.Encoder || r.own.Decodes; generates && r.Pool == nil && r.endless {
		warnings = append(warnings, "metadata: no token ends a text: generation continues to its limit")
	}
	return warnings
}
