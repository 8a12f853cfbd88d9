// This file has this library's side: steps with one token of each text.

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// model is an open file, and the minimal work of its steps.
type model struct {
	lm     models.LanguageModel
	filler models.LanguageModel // see [shape.filler]
	small  int                  // number of weights of 8 bits and fewer that each token is multiplied with
	large  int                  // number of weights of more bits
	bytes  int                  // size of all weights
	row    int                  // number of elements of a token's keys and values
}

// opened holds the models by their files, since reading them again in each round would dominate the
// time.
var opened = map[string]*model{}

func (s *settings) open(file string) (*model, error) {
	if m := opened[file]; m != nil {
		return m, nil
	}
	o := models.Options{CacheFormat: s.cache}
	m, err := models.Open(file, o)
	if err != nil {
		return nil, err
	}
	if m.LM == nil {
		return nil, fmt.Errorf("no language model")
	}
	made, err := read(file)
	if err != nil {
		return nil, err
	}
	made.lm = m.LM
	opened[file] = made
	return made, nil
}

// read returns the model of the file, and its filler: another model whose keys and values have the
// same shape and take less time to compute. The time of attention depends only on their number.
func read(file string) (*model, error) {
	f, err := gguf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	arch, err := f.Text("general.architecture")
	if err != nil {
		return nil, err
	}
	var sizes [3]int64
	for i, key := range []string{"block_count", "attention.head_count_kv", "attention.key_length"} {
		if sizes[i], err = f.Int(arch + "." + key); err != nil {
			return nil, err
		}
	}
	layers, heads, head := sizes[0], sizes[1], sizes[2]
	m := &model{row: int(2 * layers * heads * head)}
	config := fmt.Sprintf(`{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 64, "hidden_size": 64, "intermediate_size": 64,
		"num_hidden_layers": %d, "num_attention_heads": %d, "num_key_value_heads": %d, "head_dim": %d}`, layers, heads, heads, head)
	filler, err := models.New([]byte(config), transformer.Random(1), models.Options{})
	if err != nil {
		return nil, err
	}
	m.filler = filler.LM
	_, untied := f.Info("output.weight")
	for _, name := range f.Names() {
		if name == "token_embd.weight" && untied {
			continue // a token needs only a row of it
		}
		info, _ := f.Info(name)
		data, err := f.Bytes(name)
		if err != nil {
			return nil, err
		}
		if len(info.Shape) == 2 && len(data) < 2*info.Len() {
			m.small += info.Len()
		} else {
			m.large += info.Len()
		}
		m.bytes += len(data)
	}
	return m, nil
}

// ours generates each number of texts.
func (s *settings) ours(file string) (round, error) {
	r := round{File: strings.TrimSuffix(filepath.Base(file), ".gguf"), By: oursName, Speed: map[int]float64{}, Limit: map[int]float64{}}
	m, err := s.open(file)
	if err != nil {
		return r, err
	}
	for _, n := range s.streams {
		if r.Speed[n], err = s.generate(m, n); err != nil {
			return r, err
		}
		r.Limit[n] = s.limit(m, n)
	}
	return r, nil
}

// generate returns the tokens per second of n texts.
func (s *settings) generate(m *model, n int) (float64, error) {
	ws := &transformer.Workspace{Threads: kernels.Threads(s.threads)}
	fill := generation.Stepper{Model: m.filler, Workspace: ws}
	pages := m.lm.NewPages(0)
	step := generation.Step{Batch: transformer.Uniform(n, 1)}
	for i := range n {
		h := pages.New()
		if _, err := fill.Run(generation.Step{Tokens: make([]int, s.depth), Batch: transformer.Uniform(1, s.depth), Past: []*transformer.History{h}}); err != nil {
			return 0, err
		}
		step.Past, step.Tokens, step.Want = append(step.Past, h), append(step.Tokens, i), append(step.Want, i)
	}
	stepper := generation.Stepper{Model: m.lm, Workspace: ws}
	run := func(tokens int) error {
		for range tokens {
			if _, err := stepper.Run(step); err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(1); err != nil { // allocates memory
		return 0, err
	}
	begin := time.Now()
	err := run(s.tokens)
	return float64(n*s.tokens) / time.Since(begin).Seconds(), err
}

// machine holds the speed of this machine with the threads in units of 10^9 per second, measured
// once: bytes read, and operations in float32 and in int8.
var machine = sync.OnceValue(func() (m struct{ read, multiply, int8 float64 }) {
	const each = 20 * time.Millisecond
	for _, isa := range kernels.Supported() {
		m.multiply = max(m.multiply, peak.FMA(isa, threads, each))
		m.int8 = max(m.int8, peak.Int8(isa, threads, each))
		m.read = max(m.read, peak.Bandwidth(isa, threads, peak.Levels[len(peak.Levels)-1], false, each))
	}
	return m
})

// threads is the number of threads for machine.
var threads int

// limit returns the tokens per second of n texts if a step took exactly as long as the longer of
// two things: reading the weights, keys and values once, or the multiplications. Multiplications
// are in int8 for weights of 8 bits and fewer, and in float32 for all other formats.
func (s *settings) limit(m *model, n int) float64 {
	threads = s.threads
	can := machine()
	size := 2 // the size of an element of keys and values
	if s.cache == kernels.FormatF32 {
		size = 4
	}
	seconds := float64(m.bytes+n*s.depth*m.row*size) / (can.read * 1e9)
	small := can.multiply
	if can.int8 > 0 {
		small = can.int8
	}
	multiplying := 2 * float64(n) * (float64(m.small)/(small*1e9) + float64(m.large)/(can.multiply*1e9))
	return float64(n) / max(seconds, multiplying)
}
