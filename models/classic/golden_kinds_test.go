package classic_test

import (
	"math"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// The functions below compute the results of one kind of golden file each.

// numpyAttention is unscaled attention on single matrices.
func numpyAttention(g *golden) {
	q, k, v := g.tensor("in.query"), g.tensor("in.key"), g.tensor("in.value")
	dim, valueDim := g.shape("in.query")[1], g.shape("in.value")[1]
	lenQ, lenK := g.shape("in.query")[0], g.shape("in.key")[0]
	y := make([]float32, lenQ*valueDim)
	scores, weights := make([]float32, lenQ*lenK), make([]float32, lenQ*lenK)
	g.ok(tf.Attention{Heads: 1, HeadDim: dim, ValueDim: valueDim, Scale: 1}.Forward(g.ws, y, tf.AttentionInput{
		Query: q, Batch: tf.Uniform(1, lenQ), Key: k, Value: v, KeyBatch: tf.Uniform(1, lenK),
		Scores: scores, Weights: weights,
	}))
	g.check("mid.scores", scores)
	g.check("mid.probs", weights)
	g.check("out.y", y)
	if _, ok := g.f.Info("in.rounded_probs"); ok {
		row := make([]float32, valueDim)
		kernels.Gemm(kernels.NoTrans, kernels.NoTrans, 1, valueDim, lenK, 1, g.tensor("in.rounded_probs"), lenK, v, valueDim, 0, row, valueDim)
		g.check("out.rounded_first_row", row)
	}
}

// numpyMultihead is unscaled multi-head attention without projections.
func numpyMultihead(g *golden) {
	heads, hidden, lenQ, lenK := g.num("heads"), g.num("hidden"), g.num("len_q"), g.num("len_kv")
	y := make([]float32, lenQ*hidden)
	scores, weights := make([]float32, heads*lenQ*lenK), make([]float32, heads*lenQ*lenK)
	g.ok(tf.Attention{Heads: heads, HeadDim: hidden / heads, Scale: 1}.Forward(g.ws, y, tf.AttentionInput{
		Query: g.tensor("in.query"), Batch: tf.Uniform(1, lenQ),
		Key: g.tensor("in.key"), Value: g.tensor("in.value"), KeyBatch: tf.Uniform(1, lenK),
		Scores: scores, Weights: weights,
	}))
	g.check("mid.scores", scores)
	g.check("mid.probs", weights)
	g.check("out.y", y)
}

// kerasAttention is Keras' DotProductAttention with its masks of ones.
func kerasAttention(g *golden) {
	batch, lenQ, lenK := g.num("batch"), g.num("len_q"), g.num("len_kv")
	a := tf.Attention{Heads: 1, HeadDim: g.num("d_k"), ValueDim: g.num("d_v"), Scale: float32(1 / math.Sqrt(g.real("d_k_argument")))}
	run := func(mask *tf.Mask) (y, weights []float32) {
		y, weights = make([]float32, batch*lenQ*g.num("d_v")), make([]float32, batch*lenQ*lenK)
		g.ok(a.Forward(g.ws, y, tf.AttentionInput{
			Query: g.tensor("in.queries"), Batch: tf.Uniform(batch, lenQ),
			Key: g.tensor("in.keys"), Value: g.tensor("in.values"), KeyBatch: tf.Uniform(batch, lenK),
			Mask: mask, Weights: weights,
		}))
		return y, weights
	}
	padding := classic.KerasMask(g.tensor("in.padding_mask"), batch, 1, 1, lenK)
	lookahead := classic.KerasMask(g.tensor("in.lookahead_mask"), 1, 1, lenQ, lenK)
	y, weights := run(nil)
	g.check("out.nomask.y", y)
	g.check("out.nomask.weights", weights)
	if _, ok := g.f.Info("expected.printed"); ok {
		columns := g.ints("in.printed_columns")
		rows := g.shape("expected.printed")[0] * g.shape("expected.printed")[1]
		var printed []float32
		for r := range rows {
			for _, c := range columns {
				printed = append(printed, y[r*g.num("d_v")+c])
			}
		}
		g.check("expected.printed", printed)
	}
	y, _ = run(padding)
	g.check("out.padding.y", y)
	y, _ = run(lookahead)
	g.check("out.lookahead.y", y)
	y, weights = run(padding.And(lookahead))
	g.check("out.combined.y", y)
	g.check("out.combined.weights", weights)
	y, _ = run(classic.KerasMask(g.tensor("in.fullmask"), batch, 1, lenQ, 1))
	g.check("out.fullmask.y_f32", y)
}

// attentionOf runs a multi-head attention on queries, keys and values of batches of equal lengths
// and returns its output and weights.
func (g *golden) attentionOf(a *tf.MultiHeadAttention, q, k, v []float32, batch, lenQ, lenK int, mask *tf.Mask) (y, weights []float32) {
	g.Helper()
	y, weights = make([]float32, batch*lenQ*a.OutDim), make([]float32, batch*a.Heads*lenQ*lenK)
	in := tf.AttentionInput{Query: q, Batch: tf.Uniform(batch, lenQ), Mask: mask, Weights: weights}
	if k != nil {
		in.Key, in.Value, in.KeyBatch = k, v, tf.Uniform(batch, lenK)
	}
	g.ok(a.Forward(g.ws, y, in, nil))
	return y, weights
}

// multiHead loads a multi-head attention.
func (g *golden) multiHead(c tf.AttentionConfig, names tf.AttentionNames, prefix string) *tf.MultiHeadAttention {
	g.Helper()
	a, err := tf.NewMultiHeadAttention(c, names, g.weights(prefix), "")
	g.ok(err)
	return a
}

// keepMaskAttention is multi-head attention with a mask of visible keys.
func keepMaskAttention(g *golden) {
	batch, lenQ, lenK := g.num("batch"), g.num("len_q"), g.num("len_kv")
	a := g.multiHead(tf.AttentionConfig{Dim: g.num("d_model"), Heads: g.num("num_heads"), Bias: true, OutBias: true, CrossOnly: true},
		tf.AttentionNames{Query: "linear_query.", Key: "linear_key.", Value: "linear_value.", Out: "linear_out."}, "w.")
	q, k, v := g.tensor("in.query"), g.tensor("in.key"), g.tensor("in.value")
	full := g.keepMask("in.mask_full")
	for name, mask := range map[string]*tf.Mask{
		"nomask": nil, "padding": g.keepMask("in.mask_padding"), "causal": g.keepMask("in.mask_causal"),
		"fullmask_nan": full.WithEmpty(kernels.EmptyNaN), "fullmask_zero": full,
	} {
		y, weights := g.attentionOf(a, q, k, v, batch, lenQ, lenK, mask)
		g.check("out."+name+".output", y)
		g.check("out."+name+".weights", weights)
	}
}

func selfAttention(g *golden) {
	batch, length := g.num("batch"), g.num("len")
	a := g.multiHead(tf.AttentionConfig{Dim: g.num("d_model"), Heads: g.num("n_heads"), Bias: true, OutBias: true},
		tf.AttentionNames{Query: "W_Q.", Key: "W_K.", Value: "W_V.", Out: "output_layer."}, "w.")
	y, weights := g.attentionOf(a, g.tensor("in.x"), nil, nil, batch, length, length, nil)
	g.check("out.output", y)
	g.check("mid.attention_weights", weights)
}

// torchAttention is torch.nn.MultiheadAttention.
func torchAttention(g *golden) {
	batch, lenQ, lenK, heads := g.num("batch"), g.num("len_q"), g.num("len_kv"), g.num("num_heads")
	bias := g.flag("bias")
	a := g.multiHead(tf.AttentionConfig{
		Dim: g.num("embed_dim"), KeyWidth: g.num("kdim"), ValueWidth: valueOr(g.num("vdim"), g.num("embed_dim")), Heads: heads, Bias: bias, OutBias: bias, CrossOnly: true,
	}, classic.TorchAttention(), "w.")
	q, k, v := g.tensor("in.query"), g.tensor("in.key"), g.tensor("in.value")
	if !g.flag("batch_first") {
		q, k, v = swapAxes(q, lenQ, batch), swapAxes(k, lenK, batch), swapAxes(v, lenK, batch)
	}
	padding := g.paddingMask("in.key_padding_mask").WithEmpty(kernels.EmptyNaN)
	blocked := g.blockMask("in.attn_mask").WithEmpty(kernels.EmptyNaN)
	for name, mask := range map[string]*tf.Mask{
		"nomask": nil, "padding": padding, "attnmask": blocked, "both": padding.And(blocked),
		"bias3d": tf.AdditiveMask(g.tensor("in.attn_bias"), batch, heads, lenQ, lenK),
		"nanrow": g.blockMask("in.attn_mask_nanrow").WithEmpty(kernels.EmptyNaN),
	} {
		y, weights := g.attentionOf(a, q, k, v, batch, lenQ, lenK, mask)
		if !g.flag("batch_first") {
			y = swapAxes(y, batch, lenQ)
		}
		g.check("out."+name+".output", y)
		g.check("out."+name+".weights_avg", classic.AverageHeads(weights, batch, heads))
		if _, ok := g.f.Info("out." + name + ".weights"); ok {
			g.check("out."+name+".weights", weights)
		}
	}
}

func valueOr(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// torchLayers runs the four variants of a torch layer.
func torchLayers(g *golden, decoder bool, run func(l *tf.Layer, variant string)) {
	for _, pre := range []bool{false, true} {
		for _, activation := range []string{"relu", "gelu"} {
			c := classic.TorchConfig{Dim: g.num("d_model"), Heads: g.num("nhead"), EncoderLayers: 1, DecoderLayers: 1, FeedForward: g.num("dim_feedforward"), Activation: g.activation(activation), NormFirst: pre}.Transformer()
			layer, names := c.Encoder.Layer, classic.TorchEncoder().Layer
			if decoder {
				layer, names = c.Decoder.Layer, classic.TorchDecoder().Layer
			}
			layer.Norm.Eps = float32(g.real("layer_norm_eps"))
			l, err := tf.NewLayer(layer, names, g.weights("w."), "")
			g.ok(err)
			order := "post"
			if pre {
				order = "pre"
			}
			run(l, "out."+order+"_"+activation+".")
		}
	}
}

func torchEncoderLayer(g *golden) {
	batch, length, dim := g.num("batch"), g.num("len"), g.num("d_model")
	x := g.tensor("in.src")
	if !g.flag("batch_first") {
		x = swapAxes(x, length, batch)
	}
	torchLayers(g, false, func(l *tf.Layer, variant string) {
		for name, mask := range map[string]*tf.Mask{
			"nomask": nil, "padding": g.paddingMask("in.src_key_padding_mask"), "causal": g.blockMask("in.src_mask_causal"),
		} {
			y := make([]float32, batch*length*dim)
			g.ok(l.Forward(g.ws, y, tf.LayerInput{X: x, Batch: tf.Uniform(batch, length), Mask: mask}, nil))
			if !g.flag("batch_first") {
				y = swapAxes(y, batch, length)
			}
			g.check(variant+name, y)
		}
	})
}

func torchDecoderLayer(g *golden) {
	batch, lenT, lenS, dim := g.num("batch"), g.num("len_tgt"), g.num("len_src"), g.num("d_model")
	causal := g.blockMask("in.tgt_mask")
	torchLayers(g, true, func(l *tf.Layer, variant string) {
		for name, masks := range map[string][2]*tf.Mask{
			"causal": {causal, nil},
			"all_masks": {
				causal.And(g.paddingMask("in.tgt_key_padding_mask")),
				g.blockMask("in.memory_mask").And(g.paddingMask("in.memory_key_padding_mask")),
			},
		} {
			y := make([]float32, batch*lenT*dim)
			g.ok(l.Forward(g.ws, y, tf.LayerInput{
				X: g.tensor("in.tgt"), Batch: tf.Uniform(batch, lenT), Mask: masks[0],
				Memory: g.tensor("in.memory"), MemoryBatch: tf.Uniform(batch, lenS), MemoryMask: masks[1],
			}, nil))
			g.check(variant+name, y)
		}
	})
}

func torchTransformer(g *golden) {
	batch, lenS, lenT, dim := g.num("batch"), g.num("len_src"), g.num("len_tgt"), g.num("d_model")
	c := classic.TorchConfig{
		Dim: dim, Heads: g.num("nhead"), EncoderLayers: g.num("encoder_layers"), DecoderLayers: g.num("decoder_layers"),
		FeedForward: g.num("dim_feedforward"), Activation: g.activation(g.config["activation"]), NormFirst: g.flag("norm_first"),
	}.Transformer()
	c.Encoder.Layer.Norm.Eps = float32(g.real("layer_norm_eps"))
	c.Decoder.Layer.Norm.Eps = c.Encoder.Layer.Norm.Eps
	m, err := classic.NewTransformer(c, classic.TorchTransformer(), g.weights("w."), "")
	g.ok(err)
	padding := g.paddingMask("in.src_key_padding_mask")
	source := tf.LayerInput{X: g.tensor("in.src"), Batch: tf.Uniform(batch, lenS)}
	target := tf.LayerInput{X: g.tensor("in.tgt"), Batch: tf.Uniform(batch, lenT)}
	y := make([]float32, batch*lenT*dim)
	g.ok(m.Forward(g.ws, y, source, target))
	g.check("out.y_nomask", y)

	source.Mask, target.MemoryMask = padding, padding
	target.Mask = g.blockMask("in.tgt_mask")
	memory := make([]float32, batch*lenS*dim)
	g.ok(m.Encoder.Forward(g.ws, memory, source, nil))
	g.check("mid.memory", memory)
	g.ok(m.Forward(g.ws, y, source, target))
	g.check("out.y", y)
}
