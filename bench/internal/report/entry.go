package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/workload"
)

// A Set names a set of cases and the way in which they were measured: [Listed], [Drawn], or the
// instruction set to which all libraries were limited.
type Set string

const (
	Listed Set = ""       // the cases of workload.All
	Drawn  Set = "random" // the cases of workload.Random
)

// A Key identifies an entry of a run.
type Key struct {
	Case    string
	Threads int
	Set     Set `json:",omitempty"`
}

// An Entry holds the results of every contestant for a case at a number of threads.
type Entry struct {
	Key
	Results []Result
	Repeats []float64 `json:",omitempty"` // if the case was behind at first: Ratio of each measurement
	// Transfer is the time in nanoseconds in which a cache line got from one of the threads to
	// another, before or after the case; see [peak.Transfer]. It is 0 if there is one thread, or if
	// the time is not known.
	Transfer float64 `json:",omitempty"`
	// Cores is the number of cores that the threads had before or after the case, whichever is
	// less; see [peak.Cores]. It is 0 if there is one thread, or if the number is not known.
	Cores float64 `json:",omitempty"`
}

// A Result holds the times of a contestant.
type Result struct {
	Name    string
	Version string
	Variant string  `json:",omitempty"`
	Seconds float64 // median per call
	Spread  float64 // interquartile range over the median
	Rounds  int
	Ratio   float64 `json:",omitempty"` // only for other libraries: median over the rounds of its time divided by our best tier's
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

// Own returns our fastest tier, or nil.
func (e Entry) Own() *Result {
	return e.fastest(func(r Result) bool { return strings.HasPrefix(r.Name, Ours) })
}

// Tier returns one of our tiers, or nil.
func (e Entry) Tier(isa string) *Result {
	return e.fastest(func(r Result) bool { return r.Name == Ours+isa })
}

// Peer returns the fastest of the other libraries, or nil. It compares the ratios to our best tier
// within the rounds, because disturbances of the machine change them less than the times.
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

// Ratio returns the time of the best other library divided by the time of our best tier. Above 1,
// we are faster. ok is false if there is nothing to compare.
func (e Entry) Ratio() (ratio float64, ok bool) {
	own, peer := e.Own(), e.Peer()
	if own == nil || peer == nil {
		return 0, false
	}
	return peer.Ratio, true
}

// Label returns the name of a tier of this library, or the name of another library with its version
// and, if there is a choice, the variant of the call.
func (r Result) Label() string {
	if strings.HasPrefix(r.Name, Ours) {
		return strings.TrimPrefix(r.Name, Ours)
	}
	return Label(r.Name, r.Version, r.Variant)
}

// Label returns the name of a library with its version and, if there is a choice, the variant of
// the call.
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

// mark returns the question mark of a disturbed case, the dagger of a case whose threads ran apart,
// and the double dagger of a case with fewer cores than threads.
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

// Short reports whether the threads clearly had fewer cores than threads.
func (e Entry) Short() bool { return e.Cores > 0 && e.Cores < ofCore*float64(e.Threads) }

// emphasis formats a ratio, in bold if we are slower.
func (e Entry) emphasis(ratio float64) string {
	s := fmt.Sprintf("%.2f", ratio)
	if ratio < 1-even {
		s = "**" + s + "**"
	}
	return s + e.mark()
}

// Disturbed reports whether a case should be measured again on a quieter machine.
func (e Entry) Disturbed() bool { return e.Spread()/2 > disturbed }

// Spread returns the larger of the spreads of our best tier and of the best peer.
func (e Entry) Spread() float64 {
	spread := 0.0
	for _, r := range []*Result{e.Own(), e.Peer()} {
		if r != nil {
			spread = max(spread, r.Spread)
		}
	}
	return spread
}

// attempts is the number of times that a case is measured again while the machine is disturbed, and
// the number of times to confirm that it is behind.
const attempts = 2

// Settle measures a case. If the machine is disturbed, or has fewer cores than threads, it measures
// again. The measurement with enough cores counts, and of several the quietest, no matter which
// library was faster in it. If our library is behind, it measures twice more, and the median of the
// ratios counts.
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
