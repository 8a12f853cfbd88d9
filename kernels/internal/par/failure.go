package par

import (
	"fmt"
	"runtime"
)

// Parts that panic, or call runtime.Goexit, on a worker.

// WorkerPanic is what the caller of Run panics with where a part panicked on a worker.
type WorkerPanic struct {
	Value any    // of the part's panic
	Stack []byte // of the worker at that time
}

// Error returns the value and the worker's stack, which the caller's does not show.
func (p *WorkerPanic) Error() string { return fmt.Sprintf("%v [on a worker]\n\n%s", p.Value, p.Stack) }

// Unwrap returns the value, if it is an error.
func (p *WorkerPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// failure is how a part ended on a worker: by a panic, or by runtime.Goexit, where panicked is nil.
type failure struct{ panicked *WorkerPanic }

// onCaller ends the caller as the part ended the worker.
func (f *failure) onCaller() {
	if f.panicked != nil {
		panic(f.panicked)
	}
	runtime.Goexit()
}
