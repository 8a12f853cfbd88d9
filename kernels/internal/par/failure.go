package par

import (
	"fmt"
	"runtime"
)

// This file handles parts that panic, or that call runtime.Goexit, on a worker.

// WorkerPanic is the value with which the caller of Run panics if a part panicked on a worker.
type WorkerPanic struct {
	Value any    // the value of the part's panic
	Stack []byte // the worker's stack at that time
}

// Error returns the value and the worker's stack, which the caller's stack does not show.
func (p *WorkerPanic) Error() string { return fmt.Sprintf("%v [on a worker]\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value, if it is an error.
func (p *WorkerPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// failure describes how a part ended on a worker: by a panic, or, if panicked is nil, by
// runtime.Goexit.
type failure struct{ panicked *WorkerPanic }

// onCaller ends the caller in the way in which the part ended the worker.
func (f *failure) onCaller() {
	if f.panicked != nil {
		panic(f.panicked)
	}
	runtime.Goexit()
}
