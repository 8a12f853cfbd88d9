package sweep

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// fake computes nothing: its times are made up, and its results are the inputs.
type fake struct {
	seconds func(size int) float64
	wrong   bool
	opened  map[int]int // number of calls of Open, by size
	slow    int         // the size whose first job takes longer than its second
}

func (fake) Name() string                    { return "fake" }
func (fake) Version() string                 { return "" }
func (fake) Variants(workload.Case) []string { return []string{""} }

func (f fake) Open(d *workload.Data, _ string) (workload.Job, error) {
	n := d.Dims[1]
	j := &fakeJob{f, d, 1}
	if n == f.slow && f.opened[n] == 0 {
		j.times = 2
	}
	if f.opened != nil {
		f.opened[n]++
	}
	return j, nil
}

type fakeJob struct {
	fake
	d     *workload.Data
	times float64 // factor for the first job of the slow size
}

func (j *fakeJob) Output() ([]float32, error) {
	out := slices.Clone(j.d.In[0])
	for i, x := range out {
		out[i] = max(x, 0)
	}
	if j.wrong {
		out[0]++
	}
	return out, nil
}

func (j *fakeJob) Time(reps int) (time.Duration, error) {
	return time.Duration(float64(reps) * j.times * j.seconds(j.d.Dims[1]) * 1e9), nil
}

func (*fakeJob) Close() error { return nil }

func TestRun(t *testing.T) {
	s := Sweep{Fall: 0.1, From: func(c workload.Case) bool { return c.Dims[1] > 4 }}
	series := Series{Sizes: around(8, 20), Case: func(n int) workload.Case { return workload.Case{Op: workload.ReLU, Dims: []int{1, n}} }}
	o := Options{Rounds: 3, Block: time.Microsecond}

	flat := fake{seconds: func(n int) float64 { return 1e-6 * float64(n) }}
	line, err := Run(s, series, flat, o)
	if err != nil || len(line.Cliffs) != 0 || len(line.Points) != 11 {
		t.Errorf("a time that grows with the size: %d points, cliffs %v, error %v, want 11, none and nil", len(line.Points), line.Cliffs, err)
	}

	// A time larger by a third at 20 is a cliff. At 3 it is not, because From excludes it.
	steep := fake{seconds: func(n int) float64 {
		if n == 20 || n == 3 {
			return 1.5e-6 * float64(n)
		}
		return 1e-6 * float64(n)
	}}
	line, err = Run(s, series, steep, o)
	if err != nil || len(line.Cliffs) != 1 || line.Cliffs[0].From != 19 || line.Cliffs[0].To != 20 {
		t.Errorf("cliffs %v, error %v, want one from 19 to 20", line.Cliffs, err)
	}

	placed := fake{seconds: flat.seconds, opened: map[int]int{}, slow: 20}
	line, err = Run(s, series, placed, o)
	if err != nil || len(line.Cliffs) != 0 || placed.opened[20] != 2 || line.Points[9].Size != 20 {
		t.Errorf("a size that is slow only in its first memory: cliffs %v, opened %d times, error %v", line.Cliffs, placed.opened[20], err)
	}

	if _, err := Run(s, series, fake{seconds: flat.seconds, wrong: true}, o); err == nil || errors.Is(err, workload.ErrUnsupported) {
		t.Errorf("a wrong result: error %v, want one that says so", err)
	}
}
