package generation_test

import (
	"context"
	"fmt"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// llama returns a language model of today's kind, with made-up weights.
func llama() *models.Model {
	m, err := models.New([]byte(`{"model_type": "llama", "vocab_size": 50, "hidden_size": 64, "num_hidden_layers": 2,
		"num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 128,
		"architectures": ["LlamaForCausalLM"]}`), transformer.Random(1), models.Options{}) // models.Open(folder) for a real one
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
	sampling := generation.SamplerConfig{Sampling: generation.Sampling{Temperature: 0.8, TopK: 40, TopP: 0.95, Seed: 42}}
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

// Two texts at a time, each with a sampler and limits of its own.
func ExampleGenerateBatch() {
	d := generation.Start(new(transformer.Workspace), llama(), 2)
	sampler, err := generation.NewSampler(generation.SamplerConfig{Vocab: d.Vocab(), Sampling: generation.Sampling{Temperature: 1, Seed: 1}})
	check(err)
	tokens, err := generation.CollectBatch(2, generation.GenerateBatch(context.Background(), d, []generation.Request{
		{Prompt: []int{3, 14, 15}, Limits: generation.Limits{MaxTokens: 4}}, // greedily
		{Prompt: []int{9}, Sampler: sampler, Limits: generation.Limits{MaxTokens: 2}},
	}))
	check(err)
	fmt.Println(len(tokens[0]), len(tokens[1]))
	// Output: 4 2
}

// The greedy text is the same whether a model or its language model begins it.
func ExampleCollect() {
	m, limits := llama(), generation.Limits{MaxTokens: 5}
	generate := func(d generation.Decoder) []int {
		tokens, err := generation.Collect(generation.Generate(context.Background(), d, []int{7}, generation.SamplerConfig{}, limits))
		check(err)
		return tokens
	}
	one := generate(generation.Start(new(transformer.Workspace), m, 1))
	two := generate(generation.StartLM(new(transformer.Workspace), m.LM, nil, 1))
	fmt.Println(len(one), fmt.Sprint(one) == fmt.Sprint(two))
	// Output: 5 true
}

// Many texts with one model: goroutines ask, and share its passes.
func ExampleNewScheduler() {
	s, err := generation.NewScheduler(generation.SchedulerConfig{Model: llama().LM})
	check(err)
	defer s.Close(context.Background())
	lengths := make(chan int)
	for i := range 3 {
		go func() {
			n := 0
			for next, err := range s.Generate(context.Background(), generation.Request{Prompt: []int{1, 2, i}, Limits: generation.Limits{MaxTokens: 4}}) {
				check(err)
				if next.Finish == generation.FinishNone {
					n++
				}
			}
			lengths <- n
		}()
	}
	fmt.Println(<-lengths, <-lengths, <-lengths)
	// Output: 4 4 4
}
