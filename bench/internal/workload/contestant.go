package workload

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnsupported is the error of Open for a case or variant that a contestant does not offer.
var ErrUnsupported = errors.New("not offered")

// A Contestant is a library, or a tier of this one, that computes cases.
type Contestant interface {
	Name() string    // such as "openblas"
	Version() string // such as "0.3.34 Zen"
	// Variants returns the ways of computing the case, such as gemm and gemv for one row.
	Variants(c Case) []string
	// Open prepares a case. It does all work that may be done before the call, such as packing a
	// constant B or building a graph. The result stays valid until Close.
	Open(d *Data, variant string) (Job, error)
}

// A Job is a prepared case.
type Job interface {
	// Output returns the result of a call.
	Output() ([]float32, error)
	// Time makes one call, then reps more, and returns the time of the latter.
	Time(reps int) (time.Duration, error)
	Close() error
}

// A Func is a job that runs in this process.
type Func struct {
	Out []float32
	Run func()
	End func() // may be nil
}

// Output implements [Job]. A panic of the call is its error.
func (f *Func) Output() (out []float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	f.Run()
	return f.Out, nil
}

// Time implements [Job].
func (f *Func) Time(reps int) (time.Duration, error) {
	f.Run()
	start := time.Now()
	for range reps {
		f.Run()
	}
	return time.Since(start), nil
}

// Close implements [Job].
func (f *Func) Close() error {
	if f.End != nil {
		f.End()
	}
	return nil
}
