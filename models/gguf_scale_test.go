package models_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	tf "github.com/avoformer/avoformer/transformer"
)

// ggufFile makes a GGUF file of metadata, whose integers are uint32, and of tensors in F32.
type ggufFile struct {
	keys, infos, data bytes.Buffer
	nKeys, nTensors   uint64
}

func (f *ggufFile) text(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func put(b *bytes.Buffer, xs ...any) {
	for _, x := range xs {
		if err := binary.Write(b, binary.LittleEndian, x); err != nil {
			panic(err)
		}
	}
}

func (f *ggufFile) key(name string, value any) {
	f.nKeys++
	f.text(&f.keys, name)
	switch v := value.(type) {
	case string:
		put(&f.keys, uint32(8))
		f.text(&f.keys, v)
	case int:
		put(&f.keys, uint32(4), uint32(v))
	case float32:
		put(&f.keys, uint32(6), v)
	}
}

func (f *ggufFile) tensor(name string, x []float32, shape ...int) {
	f.nTensors++
	f.text(&f.infos, name)
	put(&f.infos, uint32(len(shape)))
	for _, n := range slices.Backward(shape) {
		put(&f.infos, uint64(n))
	}
	put(&f.infos, uint32(0), uint64(f.data.Len()))
	put(&f.data, x)
	f.data.Write(make([]byte, -f.data.Len()&31))
}

func (f *ggufFile) write(t *testing.T) string {
	var b bytes.Buffer
	b.WriteString("GGUF")
	put(&b, uint32(3), f.nTensors, f.nKeys)
	b.Write(f.keys.Bytes())
	b.Write(f.infos.Bytes())
	b.Write(make([]byte, -b.Len()&31))
	b.Write(f.data.Bytes())
	path := filepath.Join(t.TempDir(), "model.gguf")
	tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// deepGemma has the logits of a Gemma of so many layers, of which all but the first add
// nothing; sharper multiplies its queries.
func deepGemma(t *testing.T, arch string, layers int, sharper float32) []float32 {
	const vocab, dim, heads, width, hidden = 5, 8, 2, 8, 8
	var f ggufFile
	f.key("general.architecture", arch)
	for name, value := range map[string]any{
		"embedding_length": dim, "block_count": layers, "attention.head_count": heads, "attention.head_count_kv": heads, "attention.key_length": width, "attention.value_length": width,
		"feed_forward_length": hidden, "context_length": 64, "attention.layer_norm_rms_epsilon": float32(1e-6), "attention.sliding_window": 16,
	} {
		f.key(arch+"."+name, value)
	}
	draws := 0
	drawn := func(n int) []float32 { draws++; return tftest.Normal(uint64(draws), n) }
	times := func(x []float32, by float32) []float32 {
		for i := range x {
			x[i] *= by
		}
		return x
	}
	f.tensor("token_embd.weight", drawn(vocab*dim), vocab, dim)
	f.tensor("output_norm.weight", drawn(dim), dim)
	for i := range layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", i, part) }
		query, queryNorm := sharper, float32(1)
		if arch == "gemma3" { // which normalizes queries
			query, queryNorm = 1, sharper
			f.tensor(name("attn_q_norm"), times(drawn(width), queryNorm), width)
			f.tensor(name("attn_k_norm"), drawn(width), width)
		}
		f.tensor(name("attn_norm"), drawn(dim), dim)
		f.tensor(name("attn_q"), times(drawn(heads*width*dim), query), heads*width, dim)
		f.tensor(name("attn_k"), drawn(heads*width*dim), heads*width, dim)
		f.tensor(name("attn_v"), drawn(heads*width*dim), heads*width, dim)
		f.tensor(name("attn_output"), drawn(dim*heads*width), dim, heads*width)
		f.tensor(name("ffn_norm"), drawn(dim), dim)
		f.tensor(name("ffn_gate"), drawn(hidden*dim), hidden, dim)
		f.tensor(name("ffn_up"), drawn(hidden*dim), hidden, dim)
		f.tensor(name("ffn_down"), drawn(dim*hidden), dim, hidden)
		after := []float32{1, 1, 1, 1, 1, 1, 1, 1}
		if i > 0 {
			clear(after)
		}
		f.tensor(name("post_attention_norm"), after, dim)
		f.tensor(name("post_ffw_norm"), after, dim)
	}
	m := tftest.Must(models.Open(f.write(t), models.Options{}))(t)
	d := generation.StartLM(new(tf.Workspace), m.LM, nil, 1)
	return slices.Clone(tftest.Must(d.Feed([][]int{{1, 3, 0, 2, 4, 1}}))(t))
}

// TestGemmaScaleOfGGUF: the largest models of each version, which their layers tell, scale
// queries by the width of a head's share of the rows, here half of a head's width, and all
// others by the width of a head.
func TestGemmaScaleOfGGUF(t *testing.T) {
	for arch, largest := range map[string]int{"gemma2": 46, "gemma3": 62} {
		got := deepGemma(t, arch, largest, 1)
		for _, layers := range []int{largest - 1, largest + 1} {
			want, other := deepGemma(t, arch, layers, math.Sqrt2), deepGemma(t, arch, layers, 1)
			if d := distance(got, want); !(d <= 1e-4) {
				t.Errorf("%s of %d layers: logits %v, want %v (%.2g off)", arch, largest, got, want, d)
			}
			if d := distance(got, other); !(d >= 1e-2) {
				t.Errorf("%s of %d layers scales as one of %d", arch, largest, layers)
			}
		}
	}
}
