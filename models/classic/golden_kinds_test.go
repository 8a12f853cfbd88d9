package classic_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
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

// attentionOf runs a multi-head attention on queries, keys and values of
// batches of equal lengths and returns its output and weights.
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
		"fullmask_nan": full.WithEmpty(tf.EmptyNaN), "fullmask_zero": full,
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
	padding := g.paddingMask("in.key_padding_mask").WithEmpty(tf.EmptyNaN)
	blocked := g.blockMask("in.attn_mask").WithEmpty(tf.EmptyNaN)
	for name, mask := range map[string]*tf.Mask{
		"nomask": nil, "padding": padding, "attnmask": blocked, "both": padding.And(blocked),
		"bias3d": tf.AdditiveMask(g.tensor("in.attn_bias"), batch, heads, lenQ, lenK),
		"nanrow": g.blockMask("in.attn_mask_nanrow").WithEmpty(tf.EmptyNaN),
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

func d2lFeedForward(g *golden) {
	dim, hidden, out, length := g.num("d"), g.num("ffn_hidden"), g.num("ffn_out"), g.num("len")
	x, y := g.tensor("in.x"), g.tensor("in.y")
	rows := len(x) / dim
	f, err := tf.NewFeedForward(tf.FeedForwardConfig{Dim: dim, Hidden: hidden, OutDim: out, Activation: kernels.ActReLU, Bias: true}, classic.D2LEncoder().Layer.Feed, g.weights("w."), "")
	if err != nil { // the file also holds the weights of the normalizations
		f, err = tf.NewFeedForward(tf.FeedForwardConfig{Dim: dim, Hidden: hidden, OutDim: out, Activation: kernels.ActReLU, Bias: true}, classic.D2LEncoder().Layer.Feed, tf.Hide(g.weights("w."), "addnorm*"), "")
	}
	g.ok(err)
	h, z := make([]float32, rows*hidden), make([]float32, rows*out)
	g.ok(f.Up.Forward(g.ws, h, x))
	kernels.ReLU(h, h)
	g.check("mid.ffn_hidden", h)
	g.ok(f.Forward(g.ws, z, x, nil))
	g.check("out.ffn", z)
	for name, shape := range map[string][]int{"addnorm_d": {dim}, "addnorm_ld": {length, dim}} {
		n, err := tf.NewNorm(tf.NormConfig{Shape: shape, Eps: float32(g.real("eps"))}, g.weights("w."), name+".ln.")
		g.ok(err)
		z := tftest.AddSlices(x, y)
		g.ok(n.Forward(g.ws, z, z))
		g.check("out."+name, z)
	}
}

func d2lPositions(g *golden) {
	dim, length := g.num("num_hiddens"), g.num("len")
	table := tf.Sinusoidal(g.num("max_len"), dim)
	var rows []float32
	for _, r := range g.ints("in.rows") {
		rows = append(rows, table[r*dim:(r+1)*dim]...)
	}
	g.check("out.P", rows)
	x := g.tensor("in.x")
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = v + table[i%(length*dim)]
	}
	g.check("out.y", y)
	if odd := g.num("odd_num_hiddens"); odd > 0 {
		g.check("out.P_odd", tf.Sinusoidal(g.shape("out.P_odd")[0], odd))
	}
}

func d2lAttention(g *golden) {
	batch, lenQ, lenK, hidden, heads := g.num("batch"), g.num("len_q"), g.num("len_kv"), g.num("num_hiddens"), g.num("num_heads")
	a := g.multiHead(tf.AttentionConfig{
		Dim: g.num("query_size"), KeyWidth: g.num("key_size"), ValueWidth: g.num("value_size"), OutDim: hidden,
		Heads: heads, HeadDim: hidden / heads, Bias: g.flag("bias"), OutBias: g.flag("bias"), CrossOnly: true,
	}, classic.D2LAttention(), "w.")
	for name, mask := range map[string]*tf.Mask{
		"none": nil, "batch": classic.D2LMask(g.ints("in.valid_lens_batch")...), "zero": classic.D2LMask(g.ints("in.valid_lens_zero")...),
		"query": tf.ValidLengthsPerQuery(g.ints("in.valid_lens_query"), lenQ).WithEmpty(tf.EmptyUniform),
	} {
		y, weights := g.attentionOf(a, g.tensor("in.queries"), g.tensor("in.keys"), g.tensor("in.values"), batch, lenQ, lenK, mask)
		g.check("out."+name+".output", y)
		g.check("out."+name+".weights", weights)
	}
}

func d2lEncoderBlock(g *golden) {
	batch, length, dim := g.num("batch"), g.num("len"), g.num("num_hiddens")
	c := classic.D2LConfig{Dim: dim, Heads: g.num("num_heads"), Layers: 1, FeedForward: g.num("ffn_hiddens"), Bias: g.flag("use_bias")}.Transformer().Encoder.Layer
	c.Norm.Shape = g.nums("norm_shape")
	l, err := tf.NewLayer(c, classic.D2LEncoder().Layer, g.weights("w."), "")
	g.ok(err)
	x, mask := g.tensor("in.x"), classic.D2LMask(g.ints("in.valid_lens")...)
	attention, _ := g.attentionOf(l.Self, x, nil, nil, batch, length, length, mask)
	g.check("mid.attention", attention)
	y := make([]float32, batch*length*dim)
	seen := g.traced(func() error {
		return l.Forward(g.ws, y, tf.LayerInput{X: x, Batch: tf.Uniform(batch, length), Mask: mask}, nil)
	})
	g.check("mid.addnorm1", g.get(seen, "after_self"))
	g.check("out.y", y)
}

func d2lSeq2Seq(g *golden) {
	batch, lenS, lenT, dim, layers := g.num("batch"), g.num("len_src"), g.num("len_tgt"), g.num("num_hiddens"), g.num("layers")
	vocab := g.num("vocab_tgt")
	model := func(restart bool) *classic.Seq2Seq {
		c := classic.Seq2SeqConfig{
			TransformerConfig: classic.D2LConfig{Dim: dim, Heads: g.num("num_heads"), Layers: layers, FeedForward: g.num("ffn_hiddens"), Bias: g.flag("use_bias")}.Transformer(),
			SourceVocab:       g.num("vocab_src"), TargetVocab: vocab, MaxLen: 1000, RestartPositions: restart,
		}
		c.Encoder.Layer.Norm.Shape = g.nums("norm_shape")
		c.Decoder.Layer.Norm.Shape = g.nums("norm_shape")
		m, err := classic.NewSeq2Seq(c, classic.D2LSeq2Seq(), g.weights("w."), "")
		g.ok(err)
		return m
	}
	m := model(false)
	mask := classic.D2LMask(g.ints("in.src_valid_lens")...)
	memory := models.Memory{X: make([]float32, batch*lenS*dim), Batch: tf.Uniform(batch, lenS), Mask: mask}
	seen := g.traced(func() error {
		return m.Encode(g.ws, memory.X, g.ints("in.src_tokens"), memory.Batch, mask)
	})
	g.check("mid.encoder.embedded", g.get(seen, "encoder.embedded"))
	for i := range layers {
		g.check(fmt.Sprintf("mid.encoder.block%d", i), g.get(seen, fmt.Sprintf("encoder.blks.block%d", i)))
		g.check(fmt.Sprintf("mid.encoder.block%d.attention_weights", i), g.get(seen, fmt.Sprintf("encoder.blks.block%d.attention.weights", i)))
	}
	g.check("out.encoder", memory.X)

	target := g.ints("in.tgt_tokens")
	logits := make([]float32, batch*lenT*vocab)
	g.ok(m.Logits(g.ws, logits, target, tf.Uniform(batch, lenT), memory))
	g.check("out.decoder.teacher_logits", logits)

	// Token by token: the same logits. What d2l caches is the blocks' inputs.
	inputs := make([][]float32, layers)
	for i := range inputs {
		inputs[i] = make([]float32, batch*lenT*dim)
	}
	d := m.Decode(g.ws, memory, batch)
	for step := range lenT {
		var feed [][]int
		for b := range batch {
			feed = append(feed, target[b*lenT+step:b*lenT+step+1])
		}
		var last []float32
		seen := g.traced(func() (err error) { last, err = d.Feed(feed); return err })
		putSteps(logits, last, batch, lenT, step, 1)
		for i := range inputs {
			x := g.get(seen, "decoder.embedded")
			if i > 0 {
				x = g.get(seen, fmt.Sprintf("decoder.blks.block%d", i-1))
			}
			putSteps(inputs[i], x, batch, lenT, step, 1)
		}
	}
	g.check("out.decoder.teacher_logits", logits)
	for i := range inputs {
		g.check(fmt.Sprintf("mid.decoder.block%d.cache", i), inputs[i])
	}

	// Greedy decoding of batch row 0.
	first := models.Memory{X: memory.X[:lenS*dim], Batch: tf.Uniform(1, lenS), Mask: classic.D2LMask(g.ints("in.src_valid_lens")[0])}
	for name, m := range map[string]*classic.Seq2Seq{"offset": m, "d2l": model(true)} {
		d := &recorder{Decoder: m.Decode(g.ws, first, 1)}
		tokens, err := models.Collect(models.Generate(g.Context(), d, []int{g.num("bos")}, models.Sampling{}, models.Limits{MaxTokens: g.num("greedy_steps")}))
		g.ok(err)
		g.checkInts("greedy."+name+".tokens", tokens)
		g.check("greedy."+name+".logits", d.logits)
	}
}

// recorder keeps the logits that a decoder returns.
type recorder struct {
	models.Decoder
	logits []float32
}

func (r *recorder) Feed(tokens [][]int) ([]float32, error) {
	logits, err := r.Decoder.Feed(tokens)
	r.logits = append(r.logits, logits...)
	return logits, err
}

func vitBlock(g *golden) {
	batch, tokens, dim := g.num("batch"), g.num("tokens"), g.num("dim")
	x := g.tensor("in.x")
	for suffix, activation := range map[string]kernels.Activation{"": kernels.ActGELU, "_tanh": kernels.ActGELUTanh} {
		c := classic.ViTConfig{
			Dim: dim, Heads: g.num("num_heads"), FeedForward: int(float64(dim) * g.real("mlp_ratio")),
			Activation: activation, Eps: float32(g.real("norm_eps")), QKVBias: g.flag("qkv_bias"),
		}
		b, err := tf.NewLayer(c.BlockConfig(), classic.TimmBlocks().Layer, g.weights("w."), "")
		g.ok(err)
		if suffix == "" {
			y, weights := g.attentionOf(b.Self, x, nil, nil, batch, tokens, tokens, nil)
			g.check("out.attn", y)
			g.check("mid.attn_probs", weights)
		}
		y := make([]float32, len(x))
		g.ok(b.Feed.Forward(g.ws, y, x, nil))
		g.check("out.mlp"+suffix, y)
		g.ok(b.Forward(g.ws, y, tf.LayerInput{X: x, Batch: tf.Uniform(batch, tokens)}, nil))
		g.check("out.block"+suffix, y)
	}
}

func vit(g *golden) {
	image, patch, batch := g.nums("image"), g.nums("patch"), g.num("batch")
	c := classic.ViTConfig{
		Height: image[0], Width: image[1], PatchHeight: patch[0], PatchWidth: patch[1], Channels: g.num("channels"),
		Dim: g.num("dim"), Heads: g.num("num_heads"), Layers: g.num("layers"), FeedForward: int(float64(g.num("dim")) * g.real("mlp_ratio")),
		Activation: g.activation(g.config["gelu"]), Eps: float32(g.real("norm_eps")), QKVBias: g.flag("qkv_bias"), Classes: g.num("classes"),
	}
	m, err := classic.NewViT(c, g.weights("w."), "")
	g.ok(err)
	images := g.tensor("in.image")
	tokens, logits := make([]float32, m.Batch(batch).Rows()*c.Dim), make([]float32, batch*c.Classes)
	seen := g.traced(func() error { return m.Forward(g.ws, tokens, images) })
	g.check("mid.patches", g.get(seen, "patch_embed"))
	g.check("mid.embedded", g.get(seen, "embedded"))
	for i := range c.Layers {
		g.check(fmt.Sprintf("mid.block%d", i), g.get(seen, fmt.Sprintf("blocks.%d", i)))
	}
	g.check("out.tokens", tokens)
	g.ok(m.Classify(g.ws, logits, images))
	g.check("out.logits", logits)
}

var relativeKinds = map[string]tf.RelativeKind{
	"absolute": tf.NoRelative, "relative_key": tf.RelativeKey, "relative_key_query": tf.RelativeKeyQuery,
}

func bertSelfAttention(g *golden) {
	batch, length, heads := g.num("batch"), g.num("len"), g.num("num_attention_heads")
	x, mask := g.tensor("in.hidden_states"), g.additiveMask("in.attention_mask")
	c := tf.AttentionConfig{Dim: g.num("hidden_size"), Heads: heads, Bias: true, MaxPositions: g.num("max_position_embeddings")}
	for name, kind := range relativeKinds {
		c.Relative = kind
		w := g.weights("w.")
		if kind == tf.NoRelative {
			w = tf.Hide(w, "distance_embedding.*")
		}
		a, err := tf.NewMultiHeadAttention(c, classic.BERTSelfAttention(), w, "")
		g.ok(err)
		var y, weights []float32
		seen := g.traced(func() error {
			y, weights = g.attentionOf(a, x, nil, nil, batch, length, length, mask)
			return nil
		})
		g.check("out."+name+".context", y)
		g.check("out."+name+".probs", weights)
		if kind != tf.NoRelative {
			continue
		}
		g.check("out.absolute.key_layer", byHead(g.get(seen, "key"), batch, length, heads))
		g.check("out.absolute.value_layer", byHead(g.get(seen, "value"), batch, length, heads))
		y, _ = g.attentionOf(a, x, nil, nil, batch, length, length, nil)
		g.check("out.nomask.context", y)
		y, _ = g.attentionOf(a, x, nil, nil, batch, length, length, g.additiveMask("in.full_mask"))
		g.check("out.fullmask.context", y)
		g.ok(a.Forward(g.ws, y, tf.AttentionInput{
			Query: x, Batch: tf.Uniform(batch, length), Mask: mask, HeadMask: g.tensor("in.head_mask"),
		}, nil))
		g.check("out.headmask.context", y)
	}
}

func bertCrossAttention(g *golden) {
	batch, lenQ, lenK, heads, dim := g.num("batch"), g.num("len_q"), g.num("len_kv"), g.num("num_attention_heads"), g.num("hidden_size")
	c := tf.AttentionConfig{Dim: dim, KeyWidth: g.num("encoder_width"), Heads: heads, Bias: true, OutBias: true}
	x, encoder, mask := g.tensor("in.hidden_states"), g.tensor("in.encoder_hidden_states"), g.additiveMask("in.encoder_attention_mask")
	in := tf.AttentionInput{Query: x, Batch: tf.Uniform(batch, lenQ), Key: encoder, KeyBatch: tf.Uniform(batch, lenK), Mask: mask}

	// The module up to the concatenation of the heads, and its gradient.
	self, err := tf.NewMultiHeadAttention(c, classic.BERTSelfAttention(), g.weights("w.self."), "")
	g.ok(err)
	context, weights := g.attentionOf(self, x, encoder, encoder, batch, lenQ, lenK, mask)
	g.check("out.context", context)
	g.check("out.probs", weights)
	ones := make([]float32, len(context))
	for i := range ones {
		ones[i] = 1
	}
	gradient := make([]float32, batch*heads*lenQ*lenK)
	g.ok(self.Backward(g.ws, tf.AttentionGradients{Weights: gradient}, in, ones))
	g.check("grad.sum_context.probs", gradient)

	// With output projection, residual connection and normalization.
	a, err := tf.NewMultiHeadAttention(c, classic.BERTAttention(), tf.Hide(g.weights("w."), "output.LayerNorm.*"), "")
	g.ok(err)
	n, err := tf.NewNorm(tf.NormConfig{Shape: []int{dim}, Eps: float32(g.real("layer_norm_eps"))}, g.weights("w."), "output.LayerNorm.")
	g.ok(err)
	y, _ := g.attentionOf(a, x, encoder, encoder, batch, lenQ, lenK, mask)
	sum := tftest.AddSlices(y, x)
	g.ok(n.Forward(g.ws, y, sum))
	g.check("out.attention_output", y)

	dSum := make([]float32, len(sum))
	g.ok(n.Backward(dSum, sum, g.tensor("in.grad_output")))
	grads := tf.AttentionGradients{
		Weights: make([]float32, len(weights)), Scores: make([]float32, len(weights)),
		Query: make([]float32, len(x)), Key: make([]float32, len(encoder)), Value: make([]float32, len(encoder)),
	}
	g.ok(a.Backward(g.ws, grads, in, dSum))
	g.check("grad.weighted_attention.probs", grads.Weights)
	g.check("grad.weighted_attention.scores", grads.Scores)
	g.check("grad.weighted_attention.hidden_states", tftest.AddSlices(grads.Query, dSum))
	g.check("grad.weighted_attention.encoder_hidden_states", tftest.AddSlices(grads.Key, grads.Value))
}

func bertCache(g *golden) {
	batch, heads, dim := g.num("batch"), g.num("num_attention_heads"), g.num("hidden_size")
	pieces := g.nums("steps")
	x := g.tensor("in.hidden_states")
	length := len(x) / (batch * dim)
	for name, kind := range relativeKinds {
		w := g.weights("w.")
		if kind == tf.NoRelative {
			w = tf.Hide(w, "distance_embedding.*")
		}
		a, err := tf.NewMultiHeadAttention(tf.AttentionConfig{
			Dim: dim, Heads: heads, Bias: true, Relative: kind, MaxPositions: g.num("max_position_embeddings"),
		}, classic.BERTSelfAttention(), w, "")
		g.ok(err)
		full, weights := g.attentionOf(a, x, nil, nil, batch, length, length, tf.Causal())
		g.check("out."+name+".context", full)
		if kind == tf.NoRelative {
			g.check("out.absolute.probs", weights)
		}
		// In pieces, through the cache.
		cache, y, from := tf.NewCache(batch, 0), make([]float32, len(full)), 0
		for _, n := range pieces {
			rows := make([]float32, batch*n*dim)
			g.ok(cache.Begin(tf.Uniform(batch, n), 1))
			g.ok(a.Forward(g.ws, rows, tf.AttentionInput{
				Query: steps(x, batch, length, from, n), Batch: tf.Uniform(batch, n), Mask: tf.Causal(),
			}, cache.Layer(0)))
			cache.End(tf.Uniform(batch, n))
			putSteps(y, rows, batch, length, from, n)
			from += n
		}
		g.check("out."+name+".context", y)
		var keys, values []float32
		for b := range batch {
			keys, values = append(keys, cache.Keys(0, b)...), append(values, cache.Values(0, b)...)
		}
		g.check("out.cache.key", keys)
		g.check("out.cache.value", values)
	}
}

func bertLayer(g *golden) {
	batch, length, lenEnc, dim, heads := g.num("batch"), g.num("len"), g.num("len_enc"), g.num("hidden_size"), g.num("num_attention_heads")
	c := classic.BERTConfig{
		Dim: dim, Heads: heads, FeedForward: g.num("intermediate_size"), Activation: g.activation(g.config["hidden_act"]),
		Eps: float32(g.real("layer_norm_eps")), MemoryDim: g.num("encoder_width"),
	}
	x, mask := g.tensor("in.hidden_states"), g.additiveMask("in.attention_mask")
	y := make([]float32, len(x))
	var l *tf.Layer
	for _, chunk := range append(g.nums("chunk_sizes"), 0) {
		c.Chunk = chunk
		var err error
		l, err = tf.NewLayer(c.LayerConfig(), classic.BERTEncoder().Layer, g.weights("w."), "")
		g.ok(err)
		seen := g.traced(func() error {
			return l.Forward(g.ws, y, tf.LayerInput{X: x, Batch: tf.Uniform(batch, length), Mask: mask, SkipCross: true}, nil)
		})
		g.check("out.text.y", y)
		g.check("mid.text.attention_output", g.get(seen, "after_self"))
		g.check("out.text.probs", g.get(seen, "attention.weights"))
	}
	seen := g.traced(func() error {
		return l.Forward(g.ws, y, tf.LayerInput{
			X: x, Batch: tf.Uniform(batch, length), Mask: mask,
			Memory: g.tensor("in.vision_features"), MemoryBatch: tf.Uniform(batch, lenEnc), MemoryMask: g.additiveMask("in.encoder_attention_mask"),
		}, nil)
	})
	g.check("out.multimodal.y", y)
	g.check("mid.multimodal.attention_output", g.get(seen, "after_cross"))
	g.check("out.multimodal.self_probs", g.get(seen, "attention.weights"))
	g.check("out.multimodal.cross_probs", g.get(seen, "crossattention.weights"))
	g.ok(l.FeedNorm.Forward(g.ws, y, g.tensor("in.small")))
	g.check("out.small.y", y)

	// The same attention without its pruned heads, which are narrower.
	pruned := g.nums("pruned_heads")
	a, err := tf.NewMultiHeadAttention(tf.AttentionConfig{
		Dim: dim, Heads: heads - len(pruned), HeadDim: dim / heads, Bias: true, OutBias: true,
	}, classic.BERTAttention(), prunedWeights{g.weights("pruned.attention."), g.weights("w.attention.")}, "")
	g.ok(err)
	z, _ := g.attentionOf(a, x, nil, nil, batch, length, length, mask)
	sum := tftest.AddSlices(z, x)
	g.ok(l.SelfNorm.Forward(g.ws, z, sum))
	g.check("out.pruned.attention_output", z)
	// Which equals masking those heads.
	headMask := make([]float32, heads)
	for h := range headMask {
		if !slices.Contains(pruned, h) {
			headMask[h] = 1
		}
	}
	g.ok(l.Self.Forward(g.ws, z, tf.AttentionInput{Query: x, Batch: tf.Uniform(batch, length), Mask: mask, HeadMask: headMask}, nil))
	sum = tftest.AddSlices(z, x)
	g.ok(l.SelfNorm.Forward(g.ws, z, sum))
	g.check("out.pruned.attention_output", z)
}

// prunedWeights is the weights that pruning leaves, and those it does not touch.
type prunedWeights struct{ pruned, all tf.Weights }

func (w prunedWeights) Names() []string { return w.pruned.Names() }

func (w prunedWeights) Tensor(name string, shape ...int) ([]float32, error) {
	if slices.Contains(w.pruned.Names(), name) {
		return w.pruned.Tensor(name, shape...)
	}
	return w.all.Tensor(name, shape...)
}

func bert(g *golden) {
	batch, length := g.num("batch"), g.num("len")
	c := classic.BERTConfig{
		Vocab: g.num("vocab_size"), Types: g.num("type_vocab_size"), MaxPositions: g.num("max_position_embeddings"),
		Dim: g.num("hidden_size"), Heads: g.num("num_attention_heads"), Layers: g.num("num_hidden_layers"), FeedForward: g.num("intermediate_size"),
		Activation: g.activation(g.config["hidden_act"]), Eps: float32(g.real("layer_norm_eps")), Pooler: true,
		Relative: relativeKinds[g.config["position_embedding_type"].(string)],
	}
	m, err := classic.NewBERT(c, g.weights("w."), "")
	g.ok(err)
	in := classic.BERTInput{Tokens: g.ints("in.input_ids"), Types: g.ints("in.token_type_ids")}
	in.Batch = tf.Uniform(batch, length)
	in.Mask = classic.BERTMask(g.bools("in.attention_mask"), batch, length)
	y, pooled := make([]float32, batch*length*c.Dim), make([]float32, batch*c.Dim)
	seen := g.traced(func() error { return m.Forward(g.ws, y, in, nil) })
	g.check("mid.embeddings", g.get(seen, "embeddings"))
	for i := range c.Layers {
		g.check(fmt.Sprintf("mid.layer%d", i), g.get(seen, fmt.Sprintf("encoder.layer.%d", i)))
	}
	g.check("mid.layer0.probs", g.get(seen, "encoder.layer.0.attention.weights"))
	g.check("mid.last_layer.probs", g.get(seen, fmt.Sprintf("encoder.layer.%d.attention.weights", c.Layers-1)))
	g.check("out.sequence_output", y)
	g.ok(m.Pool(g.ws, pooled, y, in.Batch))
	g.check("out.pooled_output", pooled)

	in.Mask = in.Mask.And(tf.Causal())
	g.ok(m.Forward(g.ws, y, in, nil))
	g.check("out.decoder.sequence_output", y)
}

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
		cache, from := tf.NewCache(batch, 0), 0
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

// kernelExp allows 2 ulp of the exact result, and where that is denormal, what
// the file allows in absolute terms.
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
		kernels.GemmPacked(m, alpha, a2(a, transA, m, k), max(k, 1), kernels.PackB(transB, k, n, b, max(ldb, 1)), beta, y, n, kernels.Epilogue{})
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
