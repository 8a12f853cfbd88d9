package classic_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
)

// Cases of Llama's block and of single kernels.

func llamaBlock(g *golden) {
	batch, length, dim, heads, kvHeads := g.num("batch"), g.num("len"), g.num("hidden_size"), g.num("num_attention_heads"), g.num("num_key_value_heads")
	x := g.tensor("in.x")
	rows := tf.Uniform(batch, length)
	for name, pairing := range map[string]tf.Pairing{"half": tf.PairHalves, "interleaved": tf.PairNeighbours} {
		layer := tf.LayerConfig{
			Self: tf.AttentionConfig{Dim: dim, Heads: heads, KVHeads: kvHeads, HeadDim: g.num("head_dim"),
				Rotary: &tf.RotaryConfig{Pairing: pairing, Theta: g.real("rope_theta"), MaxPositions: length}},
			FeedForward: tf.FeedForwardConfig{Hidden: g.num("intermediate_size"), Activation: kernels.ActSiLU, Gated: true},
			Norm:        tf.NormConfig{Eps: float32(g.real("rms_norm_eps")), RMS: true}, NormFirst: true,
		}
		s, err := tf.NewStack(tf.StackConfig{Layers: 1, Layer: layer}, tf.StackNames{Layer: tf.LayerNames{
			Self: "self_attn.", SelfNorm: "input_layernorm.", FeedNorm: "post_attention_layernorm.",
			Attention: tf.AttentionNames{Query: "q_proj.", Key: "k_proj.", Value: "v_proj.", Out: "o_proj."},
			Feed:      tf.FeedForwardNames{Up: "mlp.up_proj.", Down: "mlp.down_proj.", Gate: "mlp.gate_proj."},
		}}, g.weights("w."), "")
		g.ok(err)
		y := make([]float32, len(x))
		seen := g.traced(func() error {
			return s.Forward(g.ws, y, tf.LayerInput{X: x, Batch: rows, Mask: tf.Causal()}, nil)
		})
		g.check("out."+name+".y", y)
		if pairing == tf.PairHalves {
			l := s.Layers[0]
			normed, after := make([]float32, len(x)), g.get(seen, "after_self")
			g.ok(l.SelfNorm.Forward(g.ws, normed, x))
			g.check("mid.input_layernorm", normed)
			g.check("mid.q_rope", byHead(g.get(seen, "self_attn.query"), batch, length, heads))
			g.check("mid.k_rope", byHead(g.get(seen, "self_attn.key"), batch, length, kvHeads))
			g.check("mid.probs", g.get(seen, "self_attn.weights"))
			g.check("mid.after_attention", after)
			g.ok(l.FeedNorm.Forward(g.ws, normed, after))
			g.ok(l.Feed.Forward(g.ws, y, normed, nil))
			g.check("mid.mlp", y)
		}
		// In pieces, through the cache.
		cache, from := tf.NewCache(batch), 0
		for _, n := range g.nums("cache_splits") {
			piece := steps(x, batch, length, from, n)
			g.ok(s.Forward(g.ws, piece, tf.LayerInput{X: piece, Batch: tf.Uniform(batch, n), Mask: tf.Causal()}, cache))
			putSteps(y, piece, batch, length, from, n)
			from += n
		}
		g.check("out."+name+".y", y)
		var keys, values []float32
		for b := range batch {
			keys, values = append(keys, cache.Keys(0, b)...), append(values, cache.Values(0, b)...)
		}
		g.check("out.cache.value", values)
		if pairing == tf.PairHalves {
			g.check("mid.k_rope", keys)
		}
	}
}

func rotaryRMSNorm(g *golden) {
	dim, length := g.num("head_dim"), g.num("len")
	positions := g.ints("in.positions")
	for name, c := range map[string]tf.RotaryConfig{
		"half": {Pairing: tf.PairHalves}, "interleaved": {Pairing: tf.PairNeighbours},
		"half_partial":        {Pairing: tf.PairHalves, Dim: g.num("rotary_dim")},
		"interleaved_partial": {Pairing: tf.PairNeighbours, Dim: g.num("rotary_dim")},
	} {
		c.Theta, c.MaxPositions = g.real("rope_theta"), slices.Max(positions)+1
		r, err := tf.NewRotary(c, dim)
		g.ok(err)
		x := g.tensor("in.x")
		for row := range len(x) / dim {
			g.ok(r.Apply(x[row*dim:(row+1)*dim], dim, positions[row%length]))
		}
		g.check("out."+name, x)
	}
	for _, name := range g.f.Names() {
		text, ok := strings.CutPrefix(name, "out.rms_eps")
		if !ok {
			continue
		}
		eps, err := strconv.ParseFloat(text, 32)
		g.ok(err)
		x := g.tensor("in.rms_x")
		kernels.RMSNorm(x, x, len(x)/dim, dim, g.tensor("in.rms_weight"), float32(eps))
		g.check(name, x)
	}
}

func kernelSoftmax(g *golden) {
	for _, name := range g.f.Names() {
		row, ok := strings.CutPrefix(name, "in.")
		if !ok {
			continue
		}
		x := g.tensor(name)
		y := make([]float32, len(x))
		kernels.Softmax(y, x, 1, len(x))
		g.check("out.softmax."+row, y)
		kernels.LogSoftmax(y, x, 1, len(x))
		g.check("out.log_softmax."+row, y)
	}
}

func kernelLayerNorm(g *golden) {
	rows := g.config["rows"].([]any)
	for _, e := range g.config["eps"].([]any) {
		for _, dim := range g.nums("dims") {
			x, weight, bias := g.tensor(fmt.Sprint("in.x.", dim)), g.tensor(fmt.Sprint("in.weight.", dim)), g.tensor(fmt.Sprint("in.bias.", dim))
			y := make([]float32, len(x))
			kernels.LayerNorm(y, x, len(rows), dim, weight, bias, float32(e.(float64)))
			for r, row := range rows {
				g.check(fmt.Sprintf("out.eps%s.%d.%s", pythonFloat(e.(float64)), dim, row), y[r*dim:(r+1)*dim])
			}
		}
	}
}

// pythonFloat writes small numbers as Python does: 1e-05.
func pythonFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func kernelGELU(g *golden) {
	x := g.tensor("in.x")
	for name, f := range map[string]func(dst, x []float32){
		"gelu_erf": kernels.GELU, "gelu_tanh": kernels.GELUTanh, "silu": kernels.SiLU,
		"sigmoid": kernels.Sigmoid, "tanh": kernels.Tanh, "erf": kernels.Erf,
	} {
		y := make([]float32, len(x))
		f(y, x)
		g.check("out."+name, y)
	}
}

// kernelExp allows 2 ulp of the exact result, and where that is denormal, what the file allows in
// absolute terms.
func kernelExp(g *golden) {
	x, lo, tol := g.tensor("in.x"), g.tensor("out.exp_lo"), g.tolerances["out.exp"]
	y := make([]float32, len(x))
	kernels.Exp(y, x)
	g.checkWithin("out.exp", y, func(i int, want float64) float64 {
		if math.Abs(want) < 0x1p-126 {
			return tol.DenormalAbs
		}
		// Measured from want+lo, the error may be smaller or larger by lo.
		_, exp := math.Frexp(want)
		ulp := math.Ldexp(1, exp-24)
		exact := want + float64(lo[i])
		if math.Abs(float64(y[i])-exact) <= tol.ULP*ulp {
			return math.Inf(1)
		}
		return 0
	})
}

func kernelGemm(g *golden) {
	for i, s := range g.config["shapes"].([]any) {
		c := s.(map[string]any)
		size := func(name string) int { return int(c[name].(float64)) }
		m, n, k := size("M"), size("N"), size("K")
		transA, transB := kernels.Transpose(c["transA"] == "t"), kernels.Transpose(c["transB"] == "t")
		lda, ldb := k, n
		if transA {
			lda = m
		}
		if transB {
			ldb = k
		}
		alpha, beta := float32(c["alpha"].(float64)), float32(c["beta"].(float64))
		name := fmt.Sprint(i)
		a, b := g.tensor("in."+name+".A"), g.tensor("in."+name+".B")
		y := g.tensor("in." + name + ".C")
		kernels.Gemm(transA, transB, m, n, k, alpha, a, max(lda, 1), b, max(ldb, 1), beta, y, n)
		g.check("out."+name, y)
		// The same with B packed.
		y = g.tensor("in." + name + ".C")
		kernels.GemmPacked(m, alpha, a2(a, transA, m, k), max(k, 1), kernels.PackB(transB, n, k, b, max(ldb, 1)), beta, y, n, kernels.Epilogue{})
		g.check("out."+name, y)
		// |alpha| |A| |B| + |beta| |C|, and with it a bound for each element.
		bound := absolute(g.tensor("in." + name + ".C"))
		kernels.Gemm(transA, transB, m, n, k, abs(alpha), absolute(a), max(lda, 1), absolute(b), max(ldb, 1), abs(beta), bound, n)
		within := func(_ int, want float64) float64 { return float64(k+2) * 0x1p-24 * want }
		g.checkWithin("out."+name+".abs", bound, within)
		want := g.tensor("out." + name)
		for j, v := range y {
			if e := math.Abs(float64(v) - float64(want[j])); !(e <= float64(k+2)*0x1p-24*float64(bound[j])+0x1p-24*math.Abs(float64(want[j]))) {
				g.Errorf("out.%s[%d] = %v, want %v: off by more than its bound", name, j, v, want[j])
				break
			}
		}
	}
}

// a2 is op(A), m x k, which GemmPacked wants as it is.
func a2(a []float32, trans kernels.Transpose, m, k int) []float32 {
	if !trans || len(a) == 0 {
		return a
	}
	return swapAxes(a, k, m)
}

func abs(x float32) float32 { return float32(math.Abs(float64(x))) }

func absolute(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = abs(v)
	}
	return y
}
