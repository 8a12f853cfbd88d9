package models

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/models/internal/llamacpp"
)

// Gemma 3n in GGUF files.

func init() {
	registerGGUF("gemma3n", llamacpp.Architecture{
		ModelType: "gemma3n_text", Varying: true, Unscaled: true, Read: readGemma3nGGUF,
		Whole: llamacpp.Merged(perLayerWhole, map[string]string{"altup_projections": "altup_proj", "altup_unembed_projections": "altup_unembd_proj"}),
		Parts: llamacpp.Merged(llamacpp.Merged(llamacpp.PostNorms, perLayerParts), map[string]string{
			"altup.correct_output_scale": "altup_correct_scale.weight", "altup.correction_coefs": "altup_correct_coef", "altup.prediction_coefs": "altup_predict_coef",
			"altup.modality_router": "altup_router", "altup.router_norm": "altup_router_norm",
			"laurel.linear_left": "laurel_l", "laurel.linear_right": "laurel_r", "laurel.post_laurel_norm": "laurel_post_norm",
		}),
	})
}

// readGemma3nGGUF reads what Gemma 3n has.
func readGemma3nGGUF(r *llamacpp.Reader) {
	r.Windows(5)
	readPerLayerGGUF(r)
	r.Integer("num_key_value_heads", "attention.head_count_kv", true)
	r.Fields["intermediate_size"] = r.Integers("feed_forward_length")
	r.Number("rope_theta", "rope.freq_base", true)
	r.Number("rope_local_base_freq", "rope.freq_base_swa", false)
	r.Rope()
	r.Integer("altup_num_inputs", "altup.num_inputs", false)
	r.Integer("altup_active_idx", "altup.active_idx", false)
	r.Fields["attention_bias"] = r.Has("blk.0.attn_q.bias")
	if left, ok := r.File.Info("blk.0.laurel_l.weight"); ok && len(left.Shape) == 2 {
		r.Fields["laurel_rank"] = left.Shape[0]
	}
	const key = "activation_sparsity_scale" // deviations above the mean; as in transformers, where the file lacks them
	if _, ok := r.File.Value(r.Key(key)); !ok {
		return
	}
	deviations, err := r.File.Floats(r.Key(key))
	r.Note(err)
	sparsity := make([]float64, len(deviations))
	for i, d := range deviations {
		sparsity[i] = (1 + math.Erf(float64(d)/math.Sqrt2)) / 2
		if !(sparsity[i] < 1) {
			r.Refuse(key, fmt.Sprint(d), "want a number that leaves activations")
			return
		}
	}
	r.Fields["activation_sparsity_pattern"] = sparsity
}
