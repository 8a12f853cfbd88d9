package llamacpp_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// deepGemma has the logits of a Gemma of so many layers, of which all but the first add nothing;
// sharper multiplies its queries.
func deepGemma(t *testing.T, arch string, layers int, sharper float32) []float32 {
	const vocab, dim, heads, width, hidden = 5, 8, 2, 8, 8
	var f modelstest.GGUF
	f.Key("general.architecture", arch)
	for name, value := range map[string]any{
		"embedding_length": dim, "block_count": layers, "attention.head_count": heads, "attention.head_count_kv": heads, "attention.key_length": width, "attention.value_length": width,
		"feed_forward_length": hidden, "context_length": 64, "attention.layer_norm_rms_epsilon": float32(1e-6), "attention.sliding_window": 16,
	} {
		f.Key(arch+"."+name, value)
	}
	draws := 0
	drawn := func(n int) []float32 { draws++; return tftest.Normal(uint64(draws), n) }
	times := func(x []float32, by float32) []float32 {
		for i := range x {
			x[i] *= by
		}
		return x
	}
	f.Tensor("token_embd.weight", drawn(vocab*dim), vocab, dim)
	f.Tensor("output_norm.weight", drawn(dim), dim)
	for i := range layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", i, part) }
		query, queryNorm := sharper, float32(1)
		if arch == "gemma3" { // which normalizes queries
			query, queryNorm = 1, sharper
			f.Tensor(name("attn_q_norm"), times(drawn(width), queryNorm), width)
			f.Tensor(name("attn_k_norm"), drawn(width), width)
		}
		f.Tensor(name("attn_norm"), drawn(dim), dim)
		f.Tensor(name("attn_q"), times(drawn(heads*width*dim), query), heads*width, dim)
		f.Tensor(name("attn_k"), drawn(heads*width*dim), heads*width, dim)
		f.Tensor(name("attn_v"), drawn(heads*width*dim), heads*width, dim)
		f.Tensor(name("attn_output"), drawn(dim*heads*width), dim, heads*width)
		f.Tensor(name("ffn_norm"), drawn(dim), dim)
		f.Tensor(name("ffn_gate"), drawn(hidden*dim), hidden, dim)
		f.Tensor(name("ffn_up"), drawn(hidden*dim), hidden, dim)
		f.Tensor(name("ffn_down"), drawn(dim*hidden), dim, hidden)
		after := []float32{1, 1, 1, 1, 1, 1, 1, 1}
		if i > 0 {
			clear(after)
		}
		f.Tensor(name("post_attention_norm"), after, dim)
		f.Tensor(name("post_ffw_norm"), after, dim)
	}
	m := tftest.Must(models.Open(f.Write(t), models.Options{}))(t)
	d := generation.StartLM(new(tf.Workspace), m.LM, nil, 1)
	return slices.Clone(tftest.Must(d.Feed([][]int{{1, 3, 0, 2, 4, 1}}))(t))
}

// TestGemmaScaleOfGGUF: the largest models of each version, recognized by their number of layers,
// scale queries by the width of a head's share of the rows, here half of a head's width, and all
// others by the width of a head.
func TestGemmaScaleOfGGUF(t *testing.T) {
	for arch, largest := range map[string]int{"gemma2": 46, "gemma3": 62} {
		got := deepGemma(t, arch, largest, 1)
		for _, layers := range []int{largest - 1, largest + 1} {
			want, other := deepGemma(t, arch, layers, math.Sqrt2), deepGemma(t, arch, layers, 1)
			if d := modelstest.Distance(got, want); !(d <= 1e-4) {
				t.Errorf("%s of %d layers: logits %v, want %v (%.2g off)", arch, largest, got, want, d)
			}
			if d := modelstest.Distance(got, other); !(d >= 1e-2) {
				t.Errorf("%s of %d layers scales as one of %d", arch, largest, layers)
			}
		}
	}
}
