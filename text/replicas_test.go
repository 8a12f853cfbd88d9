package text

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/topology"
	"github.com/avoformer/avoformer/models"
)

// twoNodes is a machine of two nodes of two cores. CPUs that the machine of the test does not have
// bind nothing.
var twoNodes = &topology.Machine{CPUs: topology.Set{0, 1, 2, 3}, Cores: []topology.Set{{0}, {1}, {2}, {3}}, Nodes: []topology.Set{{0, 1}, {2, 3}}}

// TestReplicas wants the same vectors however many replicas there are, replicas that lie as the
// machine does, and counts that add up.
func TestReplicas(t *testing.T) {
	t.Parallel()
	texts := repeat(80, func(i int) int { return 1 + i%40 })
	var want [][]float32
	for _, c := range []struct {
		name  string
		opts  Options
		cpus  []string
		nodes []int
	}{
		{"none", Options{}, []string{""}, []int{0}},
		{"one", Options{Replicas: 1}, []string{"0-3"}, []int{0}},
		{"node", Options{ReplicaPerNode: true}, []string{"0-1", "2-3"}, []int{0, 1}},
		{"four", Options{Replicas: 4}, []string{"0", "1", "2", "3"}, []int{0, 0, 1, 1}},
	} {
		c.opts.Threads, c.opts.machine = 4, twoNodes
		e, err := OpenEmbedder("testdata/embed", c.opts)
		if err != nil {
			t.Fatal(err)
		}
		all, err := e.Embed(t.Context(), Texts(texts...), EmbedOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := all.Outputs
		if want == nil {
			want = got
		}
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: text %d is %v, without replicas %v", c.name, i, got[i], want[i])
			}
		}
		var cpus []string
		var nodes []int
		threads, tokens := 0, uint64(0)
		for _, r := range e.Replicas() {
			cpus, nodes = append(cpus, topology.Set(r.CPUs).String()), append(nodes, r.Node)
			threads, tokens = threads+r.Threads, tokens+r.Tokens
		}
		if !slices.Equal(cpus, c.cpus) || !slices.Equal(nodes, c.nodes) || threads != 4 || tokens != e.Totals().Tokens {
			t.Errorf("%s: CPUs %q on nodes %v, %d threads, %d tokens of %d", c.name, cpus, nodes, threads, tokens, e.Totals().Tokens)
		}
	}
	for name, opts := range map[string]Options{"more than cores": {Replicas: 5, machine: twoNodes}, "less than none": {Replicas: -1}, "two ways": {Replicas: 2, ReplicaPerNode: true}, "of an embedder": {CopyWeights: true}} {
		if _, err := OpenEmbedder("testdata/embed", opts); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGeneratorReplicas wants the same texts from every replica, those that come together on both,
// one that goes on where it began, and a copy of the weights for each node.
func TestGeneratorReplicas(t *testing.T) {
	t.Parallel()
	plain, err := OpenGenerator("testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := func(g *Generator, i int) string {
		p, err := Collect(g.Generate(t.Context(), fmt.Sprintf("%d words", 11*i), GenerateOptions{MaxTokens: 8}))
		if err != nil {
			t.Error(err)
		}
		return p.Text
	}
	for _, c := range []struct {
		opts   Options
		lanes  int
		copies int64
	}{{Options{ReplicaPerNode: true}, 2, 1}, {Options{ReplicaPerNode: true, CopyWeights: true}, 2, 2}, {Options{Replicas: 4, CopyWeights: true, CacheMemory: 1 << 20}, 4, 2}} {
		c.opts.Threads, c.opts.machine, c.opts.Model.Ready = 4, twoNodes, t.TempDir()
		g, err := OpenGenerator("testdata/generate", c.opts)
		if err != nil {
			t.Fatal(err)
		}
		if r := g.model.Ready; r == nil || r.Err != nil || r.Copied != c.opts.CopyWeights {
			t.Errorf("%d replicas: packed weights %+v, want copies: %t", c.lanes, r, c.opts.CopyWeights)
		}
		if got, want := g.Footprint().Weights, c.copies*plain.Footprint().Weights; got != want {
			t.Errorf("%d replicas: %d bytes of weights, want %d", c.lanes, got, want)
		}
		told, err := FootprintOf(KindGenerator, "testdata/generate", c.opts)
		if err != nil || told != g.Footprint() {
			t.Errorf("%+v, %v by the headers, want %+v", told, err, g.Footprint())
		}
		held := map[models.LanguageModel]bool{}
		of, err := g.copies()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range of {
			held[m] = true
		}
		if len(of) != c.lanes || int64(len(held)) != c.copies {
			t.Errorf("%d replicas of %d models, want %d of %d", len(of), len(held), c.lanes, c.copies)
		}
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				if got, want := said(g, i), said(plain, i); got != want {
					t.Errorf("text %d: %q, without replicas %q", i, got, want)
				}
			})
		}
		all.Wait()
		tokens := uint64(0)
		for i, r := range g.Replicas() {
			if tokens += r.Tokens; r.Tokens == 0 || len(r.CPUs) == 0 {
				t.Errorf("replica %d: %+v", i, r)
			}
		}
		if s := g.Stats(); tokens != s.Tokens+s.PromptTokens || s.Running != 0 {
			t.Errorf("%d tokens, and %+v", tokens, s)
		}
	}
}

// TestMemoryLimitOfReplicas counts the batches or steps of all threads, and every copy of the
// weights.
func TestMemoryLimitOfReplicas(t *testing.T) {
	t.Parallel()
	f, err := FootprintOf(KindEmbedder, "testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := OpenEmbedder("testdata/embed", Options{})
	if err != nil {
		t.Fatal(err)
	}
	batches := func(tokens int) int64 { return int64(tokens * e.model.Encoder.Dim() * 140) }
	for _, c := range []struct {
		threads, tokens int // of all batches
		opts            Options
	}{{1, 512, Options{BatchTokens: 2048}}, {2, 1024, Options{BatchTokens: 2048}}, {16, 4096, Options{BatchTokens: 2048}}, {64, 16384, Options{BatchTokens: 2048}},
		{4, 2048, Options{BatchTokens: 2048, Replicas: 4, machine: twoNodes}}, {64, 64 * 64, Options{}}, {2, 200, Options{BatchTokens: 100}}} {
		c.opts.Threads = c.threads
		for more, fits := range map[int64]bool{0: true, -1: false} {
			limit := f.Weights + batches(c.tokens) + more
			if limit < f.Loading {
				t.Fatal("loading takes more")
			}
			c.opts.Model.MemoryLimit = limit
			if _, err := OpenEmbedder("testdata/embed", c.opts); errors.Is(err, fault.ErrMemory) == fits || fits && err != nil {
				t.Errorf("%d threads, a limit of %d and %d for %d tokens: %v", c.threads, f.Weights, limit-f.Weights, c.tokens, err)
			}
		}
	}
	g, err := FootprintOf(KindGenerator, "testdata/generate", Options{})
	if err != nil {
		t.Fatal(err)
	}
	nodes := int(g.Loading/g.Weights) + 1 // whose copies take more than loading one does
	m := new(topology.Machine)
	for cpu := range nodes {
		one := topology.Set{cpu}
		m.CPUs, m.Cores, m.Nodes = append(m.CPUs, cpu), append(m.Cores, one), append(m.Nodes, one)
	}
	o := Options{ReplicaPerNode: true, machine: m, Model: models.Options{MemoryLimit: g.Loading + int64(nodes)*g.Working}}
	if _, err := OpenGenerator("testdata/generate", o); err != nil {
		t.Error(err)
	}
	o.CopyWeights = true
	if _, err := OpenGenerator("testdata/generate", o); !errors.Is(err, fault.ErrMemory) {
		t.Errorf("%d copies of the weights: %v", nodes, err)
	}
}
