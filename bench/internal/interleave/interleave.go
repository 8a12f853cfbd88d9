// Package interleave times contestants in turn. In every round each contestant computes the case
// for some milliseconds, in a new random order. A disturbance of the machine then affects all
// contestants equally, and the ratio of two of them within a round is meaningful. Each result is
// checked before it is timed.
package interleave

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// Warm is the time for which a contestant computes in each round before it is timed. A process does
// not run at its usual speed right after it slept: its caches hold another process's data, and Go's
// monitor thread wakes every 20 µs for the first 50 times, mostly on the CPU that computes.
const Warm = 6 * time.Millisecond

// A contestant is timed only in the first rounds if its best time in them is at least outclassed
// times that of the fastest one. This leaves the time to contestants whose figures matter.
const outclassed, firstRounds = 3, 3

// Options say how long to measure.
type Options struct {
	Rounds int
	Block  time.Duration // time for which a contestant computes per round; at least one call
	Limit  time.Duration // stop after this time if three rounds are done; 0 for no limit
	Slow   time.Duration // a contestant that needs more time for a call is timed once, before the rounds; 0 for no limit
}

// A Result holds a contestant's times in every round.
type Result struct {
	Name    string
	Version string
	Variant string
	Seconds []float64 // per call, by round
	Error   float64   // error of its result; see [workload.Data.Error]
	Refused error     // set if its result is wrong, or if it failed: it was not timed
}

// Median returns the median time per call.
func (r Result) Median() float64 { return Median(r.Seconds) }

// Spread returns the interquartile range over the median.
func (r Result) Spread() float64 {
	s := slices.Sorted(slices.Values(r.Seconds))
	if len(s) == 0 {
		return 0
	}
	return (s[len(s)*3/4] - s[len(s)/4]) / s[len(s)/2]
}

// Ratio returns the median over the rounds of r's time divided by base's.
func (r Result) Ratio(base Result) float64 { return MedianRatio(r.Seconds, base.Seconds) }

// MedianRatio returns the median of the quotients of the rounds that both have; 0 if there are no
// such rounds.
func MedianRatio(a, b []float64) float64 {
	var q []float64
	for i := range min(len(a), len(b)) {
		q = append(q, a[i]/b[i])
	}
	return Median(q)
}

// Median returns the median of x, or 0 if x is empty. It does not change x.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

type entry struct {
	workload.Job
	reps int // 0: already timed
	warm int // number of calls before the timed ones
}

// time returns the time of a round's calls.
func (e entry) time() (time.Duration, error) {
	if e.warm > 0 {
		if _, err := e.Time(e.warm); err != nil {
			return 0, err
		}
	}
	return e.Time(e.reps)
}

// Run measures a case. It leaves out contestants that do not offer the case. Of a contestant's
// variants it measures the one that is fastest in a short first test.
func Run(d *workload.Data, contestants []workload.Contestant, o Options) []Result {
	var results []Result
	var jobs []entry
	for _, c := range contestants {
		r := Result{Name: c.Name(), Version: c.Version()}
		job, variant, perCall, off, err := choose(d, c, o)
		if errors.Is(err, workload.ErrUnsupported) {
			continue
		}
		r.Variant, r.Refused, r.Error = variant, err, off
		reps, warm := 0, 0
		switch {
		case err != nil:
		case o.Slow > 0 && perCall > o.Slow:
			r.Seconds = []float64{perCall.Seconds()}
		default:
			reps = max(1, int(o.Block/perCall))
			warm = int(min(Warm, o.Block) / perCall)
		}
		results = append(results, r)
		jobs = append(jobs, entry{Job: job, reps: reps, warm: warm})
	}
	start := time.Now()
	for round := range o.Rounds {
		if o.Limit > 0 && round >= firstRounds && time.Since(start) > o.Limit {
			break
		}
		if round == firstRounds {
			leaveOut(jobs, results)
		}
		for _, i := range rand.Perm(len(jobs)) {
			r := &results[i]
			if r.Refused != nil || jobs[i].reps == 0 {
				continue
			}
			t, err := jobs[i].time()
			if err != nil {
				r.Refused, r.Seconds = err, nil
				continue
			}
			r.Seconds = append(r.Seconds, t.Seconds()/float64(jobs[i].reps))
		}
	}
	for _, j := range jobs {
		if j.Job != nil {
			j.Close()
		}
	}
	return results
}

// leaveOut stops timing the contestants that are outclassed so far.
func leaveOut(jobs []entry, results []Result) {
	best := func(r Result) float64 {
		if len(r.Seconds) == 0 {
			return math.Inf(1)
		}
		return slices.Min(r.Seconds)
	}
	fastest := math.Inf(1)
	for _, r := range results {
		fastest = min(fastest, best(r))
	}
	for i, r := range results {
		if best(r) > outclassed*fastest {
			jobs[i].reps = 0
		}
	}
}

// choose opens the contestant's fastest variant whose result is right. The error is ErrUnsupported
// if the contestant offers no variant, and says what is wrong if all its variants are wrong.
func choose(d *workload.Data, c workload.Contestant, o Options) (best workload.Job, variant string, perCall time.Duration, off float64, err error) {
	err = workload.ErrUnsupported
	for _, v := range c.Variants(d.Case) {
		job, openErr := c.Open(d, v)
		if openErr != nil {
			if !errors.Is(openErr, workload.ErrUnsupported) && best == nil {
				variant, err = v, openErr
			}
			continue
		}
		var e float64
		t, failed := calibrate(d, job, o, &e)
		if failed != nil {
			job.Close()
			if best == nil {
				variant, err = v, failed
			}
			continue
		}
		if best != nil && t >= perCall {
			job.Close()
			continue
		}
		if best != nil {
			best.Close()
		}
		best, variant, perCall, off, err = job, v, t, e, nil
	}
	return best, variant, perCall, off, err
}

// calibrate checks the result, sets its error, and estimates the time of a call. It repeats a slow
// call in this process only once: the first call may have allocated memory.
func calibrate(d *workload.Data, job workload.Job, o Options, off *float64) (perCall time.Duration, err error) {
	start := time.Now()
	out, err := job.Output()
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	if err := d.Check(out); err != nil {
		return 0, fmt.Errorf("wrong result, not timed: %w", err)
	}
	*off = d.Error(out)
	if o.Slow > 0 && took > 2*o.Slow {
		start = time.Now()
		if _, err := job.Output(); err != nil {
			return 0, err
		}
		if again := time.Since(start); again > o.Slow {
			return min(took, again), nil
		}
	}
	for reps := 1; ; {
		t, err := job.Time(reps)
		if err != nil {
			return 0, err
		}
		perCall = max(t/time.Duration(reps), 1)
		if t >= o.Block/4 || reps >= 1<<22 {
			return perCall, nil
		}
		reps = max(reps*2, min(int(o.Block/4/perCall)+1, reps*20))
	}
}
