package interleave

import (
	"testing"
	"time"

	"github.com/avoformer/avoformer/bench/internal/ours"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

// pretender computes a case and reports given times for its calls, with other times for the first
// ones.
type pretender struct {
	ours.Tier
	name        string
	first, call time.Duration
}

func (p pretender) Name() string { return p.name }

func (p pretender) Open(d *workload.Data, variant string) (workload.Job, error) {
	j, err := p.Tier.Open(d, variant)
	return &claim{j, p.first, p.call}, err
}

type claim struct {
	workload.Job
	next, call time.Duration
}

func (c *claim) Time(reps int) (time.Duration, error) {
	t := c.next
	c.next = c.call
	return time.Duration(reps) * t, nil
}

// TestOutclassed: contestants that are far behind take part only in the first rounds, and their
// ratio uses these rounds. A contestant that is slow only in the first test takes part in all
// rounds.
func TestOutclassed(t *testing.T) {
	tier := ours.Tier{ISA: kernels.Generic, Threads: 1}
	list := []workload.Contestant{
		pretender{tier, "slow", time.Microsecond, 31 * time.Microsecond}, pretender{tier, "fast", 10 * time.Microsecond, 10 * time.Microsecond},
		pretender{tier, "even", 29 * time.Microsecond, 29 * time.Microsecond}, pretender{tier, "late", time.Millisecond, 12 * time.Microsecond},
	}
	results := Run(workload.NewData(workload.MustParse("relu 2x8")), list, Options{Rounds: 8, Block: time.Millisecond})
	if len(results) != len(list) {
		t.Fatalf("%d results", len(results))
	}
	for i, want := range []int{firstRounds, 8, 8, 8} {
		if r := results[i]; r.Refused != nil || len(r.Seconds) != want {
			t.Errorf("%s: %d rounds, want %d (%v)", r.Name, len(r.Seconds), want, r.Refused)
		}
	}
	if q := results[0].Ratio(results[1]); q < 3.09 || q > 3.11 {
		t.Errorf("ratio %g, want 3.1", q)
	}
}
