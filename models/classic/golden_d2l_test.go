package classic_test

import (
	"fmt"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// Cases of d2l's and of vision transformers.

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
		"query": tf.ValidLengthsPerQuery(g.ints("in.valid_lens_query"), lenQ).WithEmpty(kernels.EmptyUniform),
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
	d := generation.StartLM(g.ws, m.Decoder(), &memory, batch)
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
		d := &recorder{Decoder: generation.StartLM(g.ws, m.Decoder(), &first, 1)}
		tokens, err := generation.Collect(generation.Generate(g.Context(), d, []int{g.num("bos")}, generation.SamplerConfig{}, generation.Limits{MaxTokens: g.num("greedy_steps")}))
		g.ok(err)
		g.checkInts("greedy."+name+".tokens", tokens)
		g.check("greedy."+name+".logits", d.logits)
	}
}

// recorder keeps the logits that a decoder returns.
type recorder struct {
	generation.Decoder
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
