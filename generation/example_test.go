package generation_test

import (
	"context"
	"fmt"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// llama is a language model of today's kind, with made-up weights.
func llama() *models.Model {
	m, err := models.New([]byte(`{"model_type": "llama", "vocab_size": 50, "hidden_size": 64, "num_hidden_layers": 2,
		"num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 128,
		"architectures": ["LlamaForCausalLM"]}`), transformer.Random(1)) // models.Open(folder) for a real one
	check(err)
	return m
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Fed token by token, with a cache, a model gives what it gives at once.
func ExampleStart() {
	m, ws := llama(), new(transformer.Workspace)
	tokens := []int{3, 14, 15, 9, 26}
	full := make([]float32, len(tokens)*m.Config.Vocab)
	check(m.Logits(ws, full, tokens, transformer.Uniform(1, len(tokens)), nil, nil))

	worst := float32(0)
	c := generation.Start(ws, m, 1)
	for i := range tokens {
		logits, err := c.Feed([][]int{tokens[i : i+1]})
		check(err)
		for j, l := range logits {
			worst = max(worst, l-full[i*m.Config.Vocab+j], full[i*m.Config.Vocab+j]-l)
		}
	}
	fmt.Println("largest difference below 1e-5:", worst < 1e-5)
	// Output:
	// largest difference below 1e-5: true
}

// Tokens stream as they are sampled. The same seed gives the same tokens.
func ExampleGenerate() {
	m := llama()
	sampling := generation.SamplerConfig{Temperature: 0.8, TopK: 40, TopP: 0.95, Seed: 42}
	run := func() (tokens []int) {
		c := generation.Start(new(transformer.Workspace), m, 1)
		for token, err := range generation.Generate(context.Background(), c, []int{3, 14}, sampling, generation.Limits{MaxTokens: 8}) {
			check(err)
			tokens = append(tokens, token) // print it, say
		}
		return tokens
	}
	first, second := run(), run()
	fmt.Println(len(first), "tokens, the same again:", fmt.Sprint(first) == fmt.Sprint(second))
	// Output:
	// 8 tokens, the same again: true
}

// Beam search finds continuations that are more likely than the greedy one.
func ExampleBeam() {
	m := llama()
	search := func(width int) generation.Hypothesis {
		h, err := generation.Beam(context.Background(), generation.Start(new(transformer.Workspace), m, width), []int{3, 14},
			generation.BeamConfig{Width: width, MaxTokens: 6})
		check(err)
		return h[0]
	}
	greedy, wide := search(1), search(8)
	fmt.Println("as likely or more:", wide.LogProb >= greedy.LogProb)
	// Output:
	// as likely or more: true
}
