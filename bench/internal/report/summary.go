package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// even is the relative difference up to which two libraries count as equally fast.
const even = 0.03

// disturbed is the spread (half the interquartile range divided by the median) above which other
// work disturbed the machine too often for a meaningful figure.
const disturbed = 0.1

// apart is the time in nanoseconds above which a cache line that passes between two threads passes
// between two last-level caches.
const apart = 80

// ofCore is the share of a core that each thread has at least if no cores were taken away.
const ofCore = 0.9

// These are the smallest ratios that every case should reach: on one thread, on several, and with
// all libraries limited to an instruction set.
const least, leastOnSeveral, leastHeld = 0.95, 0.93, 0.93

// enough returns the share of the FMA peak that is sufficient for a case, regardless of other
// libraries.
func enough(op workload.Op) float64 {
	switch op {
	case workload.GemmNN, workload.GemmNT, workload.GemmPacked, workload.LinearBiasGELU, workload.BatchGemmNN, workload.BatchGemmNT:
		return 0.92
	case workload.EncoderLayer, workload.DecoderLayer, workload.SelfAttention, workload.FeedForward:
		return 0.88
	case workload.SDPA:
		return 0.83
	}
	return math.Inf(1)
}

// Behind reports whether a case reaches neither the smallest ratio nor enough of the peak.
func (r *Run) Behind(e Entry) bool {
	q, ok := e.Ratio()
	return ok && e.below(q) && r.share(e) < enough(e.Parsed().Op)
}

// below reports whether a ratio is less than the smallest one for the entry's set and threads.
func (e Entry) below(ratio float64) bool {
	switch {
	case e.Set != Listed && e.Set != Drawn:
		return ratio < leastHeld
	case e.Threads > 1:
		return ratio < leastOnSeveral
	}
	return ratio < least
}

// confirmed reports whether a case was behind in each of its measurements.
func (r *Run) confirmed(e Entry) bool {
	return r.Behind(e) && !slices.ContainsFunc(e.Repeats, func(q float64) bool { return !e.below(q) })
}

// share returns the share of its peak that our best tier reaches.
func (r *Run) share(e Entry) float64 {
	own, c := e.Own(), e.Parsed()
	of := r.peak(e.Threads).Of(c, strings.TrimPrefix(own.Name, Ours))
	if of == 0 {
		return 0
	}
	return c.Rate(own.Seconds) / of
}

func compareRatios(a, b Entry) int {
	x, _ := a.Ratio()
	y, _ := b.Ratio()
	return cmp.Compare(x, y)
}

// mean returns the geometric mean of the ratios, without entries with fewer cores than threads. It
// is 0 if there are no ratios.
func mean(entries []Entry) float64 {
	sum, n := 0.0, 0
	for _, e := range entries {
		if q, ok := e.Ratio(); ok && !e.Short() {
			sum += math.Log(q)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return math.Exp(sum / float64(n))
}

// summary counts the cases of a set in which we are faster or slower, and lists the slower ones,
// worst first.
func (r *Run) summary(s Set) string {
	var b strings.Builder
	for _, t := range r.threads() {
		var faster, alike, noisy int
		var losses, behind []Entry
		entries := r.entries(s, t)
		for _, e := range entries {
			q, ok := e.Ratio()
			if !ok {
				continue
			}
			if e.Disturbed() {
				noisy++
			}
			if r.confirmed(e) {
				behind = append(behind, e)
			}
			switch {
			case q > 1+even:
				faster++
			case q >= 1-even:
				alike++
			default:
				losses = append(losses, e)
			}
		}
		n := faster + alike + len(losses)
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: of %d cases, avoformer is faster than the best of the others in %d, within %.0f%% of it in %d, slower in %d; geometric mean of best/ours %.2f.\n\n",
			plural(t), n, faster, even*100, alike, len(losses), mean(entries))
		if left := r.lacking(s, t); left > 0 {
			fmt.Fprintf(&b, "**Incomplete**: %d further cases were not measured.\n\n", left)
		}
		if noisy > 0 {
			fmt.Fprintf(&b, "In %d of them, marked with a question mark, the spread is over %.0f%%: the machine was busy with other work, and the figures say little.\n\n", noisy, disturbed*100)
		}
		b.WriteString(between(entries))
		b.WriteString(short(entries))
		r.enumerate(&b, "Slower", losses)
		r.enumerate(&b, "Behind", behind)
	}
	return b.String()
}

// between describes where the threads of the entries ran, as far as it is known.
func between(entries []Entry) string {
	var near, far []float64
	for _, e := range entries {
		switch {
		case e.Apart():
			far = append(far, e.Transfer)
		case e.Transfer > 0:
			near = append(near, e.Transfer)
		}
	}
	if len(far) == 0 {
		return ""
	}
	s := fmt.Sprintf("In %d of %d, marked with a dagger, two threads ran beside different last-level caches: a cache line took %.0f ns from one to the other", len(far), len(near)+len(far), middle(far))
	if len(near) > 0 {
		s += fmt.Sprintf(", and %.0f ns in the rest", middle(near))
	}
	return s + ". Where the processors are virtual, the host decides that.\n\n"
}

// short names the entries that had fewer cores than threads.
func short(entries []Entry) string {
	n, known := 0, 0
	least := math.Inf(1)
	for _, e := range entries {
		if e.Cores > 0 {
			known++
		}
		if e.Short() {
			n++
			least = min(least, e.Cores)
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("In %d of %d, marked with a double dagger, the threads had fewer cores than there were of them, by loops that share nothing right before and after: %.1f at the least. Their figures say nothing about threads, and the mean leaves them out.\n\n", n, known, least)
}

// middle returns the median.
func middle(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}

// enumerate lists cases, worst first, with the peak share of products.
func (r *Run) enumerate(b *strings.Builder, what string, list []Entry) {
	if len(list) == 0 {
		return
	}
	slices.SortFunc(list, compareRatios)
	fmt.Fprintf(b, "%s: ", what)
	for i, e := range list {
		q, _ := e.Ratio()
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(b, "%s %.2f%s (%s)", e.Case, q, e.mark(), e.Peer().Label())
	}
	b.WriteString(".\n\n")
}
