// Package outside_test has architectures as modules outside the tree write them.
package outside_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// plainDecoder is Llama as a module outside the tree would write it: it has the methods of a
// LanguageModel and no other.
type plainDecoder struct {
	words    *transformer.Embedding
	layers   []*transformer.Layer
	norm     *transformer.Norm
	head     *transformer.Linear
	format   kernels.Format
	adapters []string
}

func (d *plainDecoder) Vocab() int { return d.head.Out }
func (d *plainDecoder) Dim() int   { return d.words.Dim }

func (d *plainDecoder) NewPages(limit int64) *models.Pages {
	p, err := transformer.NewPages(transformer.PagesConfig{Format: d.format, Limit: limit})
	if err != nil {
		panic(err)
	}
	return p
}

func (d *plainDecoder) Hidden(ws *models.Workspace, dst []float32, tokens []int, batch models.Batch, _ *models.Memory, cache *models.Cache) error {
	if err := d.words.Forward(ws, dst, tokens); err != nil {
		return err
	}
	ws.Adapt(batch, cache, len(d.adapters))
	defer ws.Unadapt()
	if err := cache.Begin(batch, len(d.layers)); err != nil {
		return err
	}
	for i, l := range d.layers {
		if err := l.Forward(ws, dst, transformer.LayerInput{X: dst, Batch: batch, Mask: transformer.Causal()}, cache.Layer(i)); err != nil {
			return err
		}
	}
	cache.End(batch)
	return d.norm.Forward(ws, dst, dst)
}

func (d *plainDecoder) Logits(ws *models.Workspace, dst, x []float32) error {
	return d.head.Forward(ws, dst, x)
}

// ableDecoder has the abilities too.
type ableDecoder struct{ *plainDecoder }

var _ interface {
	models.LanguageModel
	models.CacheFormatter
	models.HistorySizer
	models.AdapterHolder
} = ableDecoder{}

func (d ableDecoder) SetCacheFormat(f kernels.Format) { d.format = f }

func (d ableDecoder) HistoryBytes(length int) (b models.HistoryBytes) {
	for _, l := range d.layers {
		b.Token += l.CacheBytes(d.format)
	}
	b.Text = b.Token * int64((length+transformer.PageRows-1)/transformer.PageRows*transformer.PageRows)
	return b
}

func (d ableDecoder) HoldAdapters(names []string) { d.adapters = names }

func (d ableDecoder) Adapter(name string) (number int, ok bool) {
	at := slices.Index(d.adapters, name)
	return at + 1, at >= 0
}

func newPlainDecoder(c *models.Checkpoint) (*plainDecoder, error) {
	var f struct {
		Vocab   int     `json:"vocab_size"`
		Dim     int     `json:"hidden_size"`
		Layers  int     `json:"num_hidden_layers"`
		Heads   int     `json:"num_attention_heads"`
		KVHeads int     `json:"num_key_value_heads"`
		Hidden  int     `json:"intermediate_size"`
		Length  int     `json:"max_position_embeddings"`
		Eps     float32 `json:"rms_norm_eps"`
	}
	if err := c.Decode(&f); err != nil {
		return nil, err
	}
	c.Config.MaxLength = f.Length
	norm := transformer.NormConfig{Shape: []int{f.Dim}, Eps: f.Eps, RMS: true}
	body := c.Loader.At("model.")
	d := &plainDecoder{words: body.At("embed_tokens.").Embedding(f.Vocab, f.Dim), norm: body.At("norm.").Norm(norm), head: c.Loader.At("lm_head.").Linear(f.Dim, f.Vocab, false)}
	for i := range f.Layers {
		d.layers = append(d.layers, body.At("layers.%d.", i).Layer(transformer.LayerConfig{
			Self:        transformer.AttentionConfig{Dim: f.Dim, Heads: f.Heads, KVHeads: f.KVHeads, HeadDim: f.Dim / f.Heads, Rotary: &transformer.RotaryConfig{Pairing: transformer.PairHalves}},
			FeedForward: transformer.FeedForwardConfig{Hidden: f.Hidden, Activation: kernels.ActSiLU, Gated: true},
			Norm:        norm, NormFirst: true,
		}, transformer.LayerNames{
			Self: "self_attn.", SelfNorm: "input_layernorm.", FeedNorm: "post_attention_layernorm.",
			Attention: transformer.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
			Feed:      transformer.FeedForwardNames{Gate: "mlp.gate_proj.", Up: "mlp.up_proj.", Down: "mlp.down_proj."},
		}))
	}
	return d, nil
}

func init() {
	models.Register(func(c *models.Checkpoint) (*models.Model, error) {
		d, err := newPlainDecoder(c)
		return &models.Model{LM: d}, err
	}, "plain_decoder")
	models.Register(func(c *models.Checkpoint) (*models.Model, error) {
		d, err := newPlainDecoder(c)
		return &models.Model{LM: ableDecoder{d}}, err
	}, "able_decoder")
}

// asType returns the folder llama with another model type.
func asType(t *testing.T, modelType string) string {
	t.Helper()
	from, to := filepath.Join(modelstest.Own, "llama"), t.TempDir()
	fields := map[string]any{}
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(from, "config.json")))(t), &fields))
	fields["model_type"], fields["_name_or_path"] = modelType, "org/llama"
	tftest.NoError(t, os.WriteFile(filepath.Join(to, "config.json"), tftest.Must(json.Marshal(fields))(t), 0o600))
	tftest.NoError(t, os.WriteFile(filepath.Join(to, "model.safetensors"), tftest.Must(os.ReadFile(filepath.Join(from, "model.safetensors")))(t), 0o600))
	return to
}

// someLogits are those of two texts in two passes with a cache, one of them with the first adapter
// if there are some.
func someLogits(t *testing.T, m *models.Model) []float32 {
	t.Helper()
	pages, ws := m.LM.NewPages(0), new(models.Workspace)
	cache := pages.Cache(2)
	if len(m.Adapters) > 0 {
		h := pages.New()
		tftest.NoError(t, h.Adapt(1))
		cache = transformer.NewCacheOf(pages.New(), h)
	}
	var all []float32
	for _, tokens := range [][]int{{3, 1, 4, 1, 5, 9}, {2, 7}} {
		y := make([]float32, len(tokens)*m.LM.Vocab())
		tftest.NoError(t, m.Logits(ws, y, tokens, transformer.Uniform(2, len(tokens)/2), nil, cache))
		all = append(all, y...)
	}
	return all
}

// TestForeignArchitecture opens one folder as Llama, and as an architecture that is written outside
// the package: with each option the two compute the same bits and take the same memory, or the
// option is refused.
func TestForeignArchitecture(t *testing.T) {
	adapter := filepath.Join(modelstest.Adapters, "llama-linear")
	own, able, plain := asType(t, "llama"), asType(t, "able_decoder"), asType(t, "plain_decoder")
	for name, c := range map[string]struct {
		o     models.Options
		plain bool // supported without abilities
	}{
		"none":            {models.Options{}, true},
		"int8":            {models.Options{WeightFormat: kernels.FormatInt8}, true},
		"prompts":         {models.Options{WeightFormat: kernels.FormatBF16, PromptFormat: kernels.FormatInt8}, true},
		"merged adapter":  {models.Options{Adapters: []models.Adapter{{Path: adapter}}}, true},
		"adapter by name": {models.Options{Adapters: []models.Adapter{{Path: adapter, Name: "a"}}}, false},
		"int8 caches":     {models.Options{CacheFormat: kernels.FormatInt8}, false},
		"bf16 caches":     {models.Options{CacheFormat: kernels.FormatBF16}, false},
		"headers":         {models.Options{HeadersOnly: true, WeightFormat: kernels.FormatInt8}, true},
	} {
		want, got := tftest.Must(models.Open(own, c.o))(t), tftest.Must(models.Open(able, c.o))(t)
		if want.Footprint.Token == 0 || got.Footprint != want.Footprint {
			t.Errorf("%s: footprint %+v, want %+v", name, got.Footprint, want.Footprint)
		}
		if !c.o.HeadersOnly && !slices.Equal(someLogits(t, got), someLogits(t, want)) {
			t.Errorf("%s: other logits than Llama's", name)
		}
		m, err := models.Open(plain, c.o)
		switch {
		case !c.plain && !errors.Is(err, fault.ErrOption):
			t.Errorf("%s without abilities: error %v, want ErrOption", name, err)
		case c.plain && err != nil:
			t.Errorf("%s without abilities: %v", name, err)
		case c.plain && !slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.Contains(w, "footprint") }):
			t.Errorf("%s without abilities: no warning that the footprint lacks keys and values", name)
		}
	}
}

// TestForeignEmbedder: a language model from outside the package makes the same vectors of texts as
// Llama.
func TestForeignEmbedder(t *testing.T) {
	var want []float32
	for _, modelType := range []string{"llama", "able_decoder", "plain_decoder"} {
		m := tftest.Must(models.Open(asType(t, modelType), models.Options{}))(t)
		e := m.TextEncoder()
		if e == nil {
			t.Fatalf("%s has no encoder of texts", modelType)
		}
		got := make([]float32, 6*e.Dim())
		in := models.Tokens{IDs: []int{3, 1, 4, 1, 5, 9}, Batch: transformer.Uniform(2, 3)}
		tftest.NoError(t, e.Encode(new(models.Workspace), got, in))
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%s: other hidden states than Llama's", modelType)
		}
		if dim := m.BareEmbedder().Dim(); dim != e.Dim() {
			t.Errorf("%s: vectors of %d elements, want %d", modelType, dim, e.Dim())
		}
	}
}

// TestRefusedAdapter: where an adapter is refused there is no model.
func TestRefusedAdapter(t *testing.T) {
	dir := asType(t, "plain_decoder")
	weights := tftest.Must(safetensors.Open(filepath.Join(dir, "model.safetensors")))(t)
	defer weights.Close()
	m, err := models.New(tftest.Must(os.ReadFile(filepath.Join(dir, "config.json")))(t), transformer.FromSafetensors(weights), models.Options{Adapters: []models.Adapter{{Path: filepath.Join(modelstest.Adapters, "llama-linear"), Name: "a"}}})
	if m != nil || !errors.Is(err, fault.ErrOption) {
		t.Errorf("%v, %v; want no model, ErrOption", m, err)
	}
}
