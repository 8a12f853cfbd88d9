package generation

import (
	"fmt"
	"runtime/debug"
)

// A PanicError is a panic in code of a request: its Hook, its Constraint or its StopWhen. The
// request ends with this error; the other requests of the Scheduler continue.
type PanicError struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine when it was, as debug.Stack formats it
}

// Error has the panic's value.
func (e *PanicError) Error() string {
	return fmt.Sprintf("generation: a request's hook, constraint or StopWhen panicked: %v", e.Value)
}

// Unwrap returns the panic's value if that is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// guarded calls f, which may call code of the request. It returns a panic as a PanicError.
func guarded(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}
