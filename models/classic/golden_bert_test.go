package classic_test

import (
	"fmt"
	"slices"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models/classic"
	tf "github.com/avoformer/avoformer/transformer"
)

// Cases of BERT.

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
	g.ok(classic.AttentionBackward(g.ws, self, classic.AttentionGradients{Weights: gradient}, in, ones))
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
	g.ok(classic.NormBackward(n, dSum, sum, g.tensor("in.grad_output")))
	grads := classic.AttentionGradients{
		Weights: make([]float32, len(weights)), Scores: make([]float32, len(weights)),
		Query: make([]float32, len(x)), Key: make([]float32, len(encoder)), Value: make([]float32, len(encoder)),
	}
	g.ok(classic.AttentionBackward(g.ws, a, grads, in, dSum))
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
		cache, y, from := tf.NewCache(batch), make([]float32, len(full)), 0
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
			text := *l
			text.Cross = nil
			return text.Forward(g.ws, y, tf.LayerInput{X: x, Batch: tf.Uniform(batch, length), Mask: mask}, nil)
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
