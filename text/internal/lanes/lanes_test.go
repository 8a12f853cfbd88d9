package lanes

import (
	"testing"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// two are two lanes of a small model.
func two(t *testing.T) Lanes {
	t.Helper()
	const config = `{"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 8, "n_embd": 4, "n_layer": 1, "n_head": 2, "n_positions": 16}`
	m, err := models.New([]byte(config), transformer.Random(1), models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all Lanes
	for range 2 {
		s, err := generation.NewScheduler(generation.SchedulerConfig{Model: m.LM})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &Lane{Scheduler: s})
	}
	return all
}

// TestFor: a prompt goes to the replica with the fewest texts, or to the one that has its
// beginning.
func TestFor(t *testing.T) {
	all := two(t)
	a, b := all[0], all[1]
	b.remember([]int{1, 2, 3})
	for i, c := range []struct {
		prompt []int
		want   *Lane
	}{{[]int{7, 2, 3}, a}, {[]int{1, 2, 3, 4}, b}, {[]int{1, 2, 9, 9}, a}, {[]int{7, 2, 3, 4, 5}, a}, {[]int{8}, b}, {nil, a}, {[]int{1, 2, 3, 4, 5}, b}, {nil, a}} {
		if got := all.For(c.prompt); got != c.want {
			t.Errorf("prompt %d, %v, does not go where it should", i, c.prompt)
		}
	}
	for i := range 100 { // older prompts are forgotten
		a.remember([]int{100 + i})
		b.remember([]int{200 + i})
	}
	if n := b.common([]int{1, 2, 3}); n != 0 {
		t.Errorf("%d tokens of a forgotten prompt", n)
	}
}
