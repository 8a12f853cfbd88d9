package models

import (
	"cmp"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/matrix"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// Nomic BERT with a mixture of experts in some of its layers: Nussbaum and Duderstadt, 2025,
// "Training Sparse Mixture Of Experts Text Embedding Models". It has biases, and its feed-forward
// networks, experts too, have no gate.

func init() {
	registerGGUF("nomic-bert-moe", llamacpp.Architecture{ModelType: "nomic_bert", Encoder: true, Epsilon: "layer_norm_epsilon", Names: nomicGGUFNames, Read: readNomicMoEGGUF})
}

// nomicMoEFields are fields of the published form of the configuration.
type nomicMoEFields struct {
	Experts   int  `json:"num_experts" min:"0"`
	TopK      int  `json:"moe_top_k" min:"0"`
	Every     int  `json:"moe_every_n_layers" min:"0"` // 0: there are none
	Normalize bool `json:"moe_normalize_expert_weights"`
	Choice    bool `json:"expert_choice_router"`
	Shared    int  `json:"num_shared_experts" min:"0"`
}

// check returns the error of fields that make no mixture, or are not supported.
func (f *nomicMoEFields) check(d configuration.Document) error {
	switch {
	case f.Every == 1:
		return d.Errorf("moe_every_n_layers", "want 0, or 2 and more")
	case f.Every == 0:
		return nil
	case f.Experts < 1 || f.Experts > 1<<12:
		return d.Errorf("num_experts", "want 1 to %d", 1<<12)
	case f.TopK < 1 || f.TopK > f.Experts:
		return d.Errorf("moe_top_k", "want 1 to num_experts = %d", f.Experts)
	case f.Choice:
		return d.Errorf("expert_choice_router", "not supported by this model_type")
	case f.Shared > 0:
		return d.Errorf("num_shared_experts", "not supported by this model_type")
	}
	return nil
}

// feed makes the feed-forward network of one layer after the other: every so many a mixture.
func (f *nomicMoEFields) feed(plain transformer.FeedForwardConfig) func(l *transformer.Loader) transformer.Feed {
	layer := -1
	return func(l *transformer.Loader) transformer.Feed {
		if layer++; layer%f.Every != 1 {
			return l.FeedForward(plain, transformer.FeedForwardNames{Up: "mlp.fc1.", Down: "mlp.fc2."})
		}
		return f.mixture(l.At("mlp."), plain)
	}
}

// mixture returns the experts under l.
func (f *nomicMoEFields) mixture(l *transformer.Loader, plain transformer.FeedForwardConfig) *plainExperts {
	dim, hidden := plain.Dim, plain.Hidden
	m := &plainExperts{dim: dim, top: f.TopK, normalize: f.Normalize, act: block.Activate(plain.Activation), router: l.At("router.layer.").RowByRow().Linear(dim, f.Experts, false)}
	if all := l.At("experts."); all.Has("up.weight") { // in GGUF files, [experts, hidden, D] and [experts, D, hidden]
		for e := range f.Experts {
			m.up = append(m.up, all.Stacked(dim, false, transformer.Part{Name: "up.", Rows: hidden, Stack: f.Experts, Item: e}))
			m.down = append(m.down, all.Stacked(hidden, false, transformer.Part{Name: "down.", Rows: dim, Stack: f.Experts, Item: e}))
		}
		return m
	}
	up, down := l.Tensor("experts.mlp.w1", f.Experts*hidden, dim), l.Tensor("experts.mlp.w2", f.Experts*hidden, dim) // [experts*hidden, D]
	if bias := l.Optional(l.Has("experts.bias"), "experts.bias", dim); slices.ContainsFunc(bias, func(v float32) bool { return v != 0 }) {
		l.Fail(check.Errorf(fault.ErrConfig, "%s: experts.bias is not 0: not supported", l.Name()))
	}
	if up == nil || down == nil {
		return m
	}
	for e := range f.Experts {
		from, to := e*hidden*dim, (e+1)*hidden*dim
		m.up = append(m.up, l.LinearOf(dim, hidden, up[from:to], nil))
		turned := make([]float32, hidden*dim) // [D, hidden]
		matrix.Transpose(turned, down[from:to], dim)
		m.down = append(m.down, l.LinearOf(hidden, dim, turned, nil))
	}
	return m
}

// plainExperts is a mixture of experts without gates. It implements transformer.Feed.
type plainExperts struct {
	dim, top  int
	normalize bool // weights of the experts of a row add up to 1
	act       func(t kernels.Threads, x []float32)
	router    *transformer.Linear
	up, down  []*transformer.Linear
}

func (m *plainExperts) Forward(ws *Workspace, dst, x, residual []float32) error {
	rows, experts := len(x)/m.dim, len(m.up)
	if len(x) != rows*m.dim || len(dst) != len(x) || residual != nil && len(residual) != len(x) {
		return check.Errorf(fault.ErrShape, "mixture of experts: %d, %d and %d elements, want rows of %d", len(dst), len(x), len(residual), m.dim)
	}
	defer ws.Release(ws.Mark())
	scores := ws.Alloc(rows * experts) // [rows, experts]
	if err := m.router.Forward(ws, scores, x); err != nil {
		return err
	}
	ws.Threads.Softmax(scores, scores, rows, experts)
	chosen := m.choose(scores, experts)
	if residual == nil {
		clear(dst)
	} else {
		copy(dst, residual)
	}
	in, out, hidden := ws.Alloc(rows*m.dim), ws.Alloc(rows*m.dim), ws.Alloc(rows*m.up[0].Out)
	for e, own := range chosen {
		n := len(own)
		if n == 0 {
			continue
		}
		for i, r := range own {
			copy(in[i*m.dim:], x[r*m.dim:(r+1)*m.dim])
		}
		h := hidden[:n*m.up[e].Out]                                  // [n, hidden]
		if err := m.up[e].Forward(ws, h, in[:n*m.dim]); err != nil { // [n, hidden]
			return err
		}
		m.act(ws.Threads, h)
		if err := m.down[e].Forward(ws, out[:n*m.dim], h); err != nil { // [n, D]
			return err
		}
		for i, r := range own {
			kernels.AXPY(scores[r*experts+e], out[i*m.dim:(i+1)*m.dim], dst[r*m.dim:(r+1)*m.dim])
		}
	}
	return nil
}

// choose returns the rows of each expert. Of a row's scores, [experts], it leaves those of the
// chosen ones, as weights.
func (m *plainExperts) choose(scores []float32, experts int) [][]int {
	chosen := make([][]int, experts)
	order := make([]int, experts)
	for r := 0; r*experts < len(scores); r++ {
		own := scores[r*experts : (r+1)*experts]
		for e := range order {
			order[e] = e
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(own[b], own[a]) })
		sum := float32(0)
		for _, e := range order[:m.top] {
			chosen[e] = append(chosen[e], r)
			sum += own[e]
		}
		if m.normalize {
			for _, e := range order[:m.top] {
				own[e] /= sum
			}
		}
	}
	return chosen
}

// readNomicMoEGGUF reads what Nomic BERT with a mixture of experts has, in the words of the form
// that it is published in.
func readNomicMoEGGUF(r *llamacpp.Reader) {
	r.Types()
	for field, of := range map[string]string{"n_embd": "hidden_size", "n_inner": "intermediate_size", "n_layer": "num_hidden_layers", "n_head": "num_attention_heads", "n_positions": "max_position_embeddings"} {
		r.Rename(field, of)
	}
	r.Fields["activation_function"], r.Fields["rotary_emb_base"] = "gelu", 10000
	r.Number("rotary_emb_base", "rope.freq_base", false)
	r.Integer("num_experts", "expert_count", true)
	r.Integer("moe_top_k", "expert_used_count", true)
	r.Integer("moe_every_n_layers", "moe_every_n_layers", true)
	r.Want("expert_weights_scale", 1)
}
