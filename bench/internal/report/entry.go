package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/workload"
)

// A Set is which cases were measured and how: [Listed], [Drawn], or the instruction set that all
// libraries were held to.
type Set string

const (
	Listed Set = ""       // those of workload.All
	Drawn  Set = "random" // those of workload.Random
)

// A Key identifies an entry of a run.
type Key struct {
	Case    string
	Threads int
	Set     Set `json:",omitempty"`
}

// An Entry is a case at a number of threads, by every contestant.
type Entry struct {
	Key
	Results []Result
	Repeats []float64 `json:",omitempty"` // where the case was behind at first: Ratio of each of its measurements
	// Transfer is the nanoseconds that a cache line took between two of the threads, around the
	// case; see [peak.Transfer]. 0 where there is one thread, or it is not known.
	Transfer float64 `json:",omitempty"`
	// Cores is how many cores the threads had before or after the case, whichever is less; see
	// [peak.Cores]. 0 where there is one thread, or it is not known.
	Cores float64 `json:",omitempty"`
}

// A Result is what a contestant took.
type Result struct {
	Name    string
	Version string
	Variant string  `json:",omitempty"`
	Seconds float64 // median per call
	Spread  float64 // interquartile range over the median
	Rounds  int
	Ratio   float64 `json:",omitempty"` // of another library: median over the rounds of its time over our best tier's
	Refused string  `json:",omitempty"`
}

// NewEntry condenses the rounds of a case.
func NewEntry(s Set, c workload.Case, threads int, rounds []interleave.Result) Entry {
	e := Entry{Key: Key{c.String(), threads, s}}
	var own interleave.Result
	for _, r := range rounds {
		if strings.HasPrefix(r.Name, Ours) && r.Refused == nil && (own.Name == "" || r.Median() < own.Median()) {
			own = r
		}
	}
	for _, r := range rounds {
		x := Result{Name: r.Name, Version: r.Version, Variant: r.Variant, Seconds: r.Median(), Spread: r.Spread(), Rounds: len(r.Seconds)}
		if r.Refused != nil {
			x.Refused = r.Refused.Error()
		} else if own.Name != "" {
			x.Ratio = r.Ratio(own)
		}
		e.Results = append(e.Results, x)
	}
	return e
}

// Parsed returns the entry's case.
func (e Entry) Parsed() workload.Case { return workload.MustParse(e.Case) }

// Own is our fastest tier, or nil.
func (e Entry) Own() *Result {
	return e.fastest(func(r Result) bool { return strings.HasPrefix(r.Name, Ours) })
}

// Tier is one of our tiers, or nil.
func (e Entry) Tier(isa string) *Result {
	return e.fastest(func(r Result) bool { return r.Name == Ours+isa })
}

// Peer returns the fastest of the other libraries, or nil. It compares the ratios to our best tier
// within the rounds, which a disturbed machine changes less than the times.
func (e Entry) Peer() *Result {
	var best *Result
	for i, r := range e.Results {
		if !strings.HasPrefix(r.Name, Ours) && r.Refused == "" && r.Rounds > 0 && (best == nil || r.Ratio < best.Ratio) {
			best = &e.Results[i]
		}
	}
	return best
}

func (e Entry) fastest(which func(Result) bool) *Result {
	var best *Result
	for i, r := range e.Results {
		if which(r) && r.Refused == "" && r.Rounds > 0 && (best == nil || r.Seconds < best.Seconds) {
			best = &e.Results[i]
		}
	}
	return best
}

// Ratio returns the time of the best other library divided by that of our best tier: over 1, we are
// faster. ok is false if there is nothing to compare.
func (e Entry) Ratio() (ratio float64, ok bool) {
	own, peer := e.Own(), e.Peer()
	if own == nil || peer == nil {
		return 0, false
	}
	return peer.Ratio, true
}

// Label names a tier of this library, or another library's result: with its version, and the way it
// was called where there is a choice.
func (r Result) Label() string {
	if strings.HasPrefix(r.Name, Ours) {
		return strings.TrimPrefix(r.Name, Ours)
	}
	return Label(r.Name, r.Version, r.Variant)
}

// Label names a library, its version, and the way it was called where there is a choice.
func Label(name, version, variant string) string {
	s := name + " " + shortVersion(version)
	switch variant {
	case "", "sgemm", "primitive", "model", "eager":
		return s
	}
	return s + " (" + variant + ")"
}

func shortVersion(v string) string {
	v, _, _ = strings.Cut(v, " ")
	v, _, _ = strings.Cut(v, "+")
	v, _, _ = strings.Cut(v, "-")
	return v
}

func micros(s float64) string {
	us := s * 1e6
	switch {
	case us < 10:
		return fmt.Sprintf("%.2f", us)
	case us < 100:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

// mark returns the question mark of a disturbed case, the dagger of one with its threads apart, and
// the double dagger of one with fewer cores than threads.
func (e Entry) mark() string {
	mark := ""
	if e.Disturbed() {
		mark = "?"
	}
	if e.Apart() {
		mark += "†"
	}
	if e.Short() {
		mark += "‡"
	}
	return mark
}

// Apart reports whether the threads ran on processors with different last-level caches.
func (e Entry) Apart() bool { return e.Transfer > apart }

// Short reports whether the threads had clearly fewer cores than there were of them.
func (e Entry) Short() bool { return e.Cores > 0 && e.Cores < ofCore*float64(e.Threads) }

// emphasis writes a ratio, bold where we are slower.
func (e Entry) emphasis(ratio float64) string {
	s := fmt.Sprintf("%.2f", ratio)
	if ratio < 1-even {
		s = "**" + s + "**"
	}
	return s + e.mark()
}

// Disturbed reports whether a case should be measured again on a quieter machine.
func (e Entry) Disturbed() bool { return e.Spread()/2 > disturbed }

// Spread returns the larger of those of our best tier and the best peer.
func (e Entry) Spread() float64 {
	spread := 0.0
	for _, r := range []*Result{e.Own(), e.Peer()} {
		if r != nil {
			spread = max(spread, r.Spread)
		}
	}
	return spread
}

// attempts is how often a case is measured again while the machine disturbs it, and to confirm that
// it is behind.
const attempts = 2

// Settle measures a case. While the machine disturbs it, or has fewer cores for it than threads, it
// is measured again, and the time with enough cores, then the quietest, counts, whoever was faster
// in it. One that is behind is measured twice more, and the median of the ratios counts.
func Settle(measure func() Entry, behind func(Entry) bool) Entry {
	e := measure()
	for range attempts {
		if !e.Disturbed() && !e.Short() {
			break
		}
		again := measure()
		if again.Short() == e.Short() && again.Spread() < e.Spread() || e.Short() && !again.Short() {
			e = again
		}
	}
	if !behind(e) {
		return e
	}
	all := []Entry{e}
	for range attempts {
		all = append(all, measure())
	}
	var repeats []float64
	for _, x := range all {
		q, _ := x.Ratio()
		repeats = append(repeats, q)
	}
	slices.SortFunc(all, func(a, b Entry) int { return compareRatios(a, b) })
	e = all[len(all)/2]
	e.Repeats = repeats
	return e
}
