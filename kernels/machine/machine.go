// Package machine sets how the kernels use the machine: the tier that they run on, their workers,
// and where the system puts these. Tests and benchmarks need it, and few programs; none of it changes
// what a kernel promises.
package machine

import (
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Use makes the kernels run on another tier until restore is called. It is
// meant for tests and benchmarks, and must not be called while kernels run.
// It panics if the machine lacks the tier.
func Use(isa kernels.ISA) (restore func()) { return simd.Use(simd.ISA(isa)) }

// StopWorkers ends the workers of the kernels and returns when they are gone. Calls
// that run meanwhile finish, on fewer threads. The next call that wants workers
// starts them again. A program needs it only where a goroutine that stays would
// be in the way, such as a test that looks for leaks.
func StopWorkers() { par.Stop() }

// AllowAffinityChanges lets workers change the CPU affinity of their threads for a
// moment, or forbids it, and returns what it was before. At first it is forbidden.
//
// Linux may wake a worker on the caller's CPU and leave the two there for some 10 ms
// while another CPU idles. Where it is allowed, a worker that finds itself there
// goes elsewhere, which helps programs that compute now and then on two or more
// CPUs; doc/measurements/threads.md has figures. On other systems nothing changes.
func AllowAffinityChanges(allow bool) (before bool) { return par.AllowAffinityChanges(allow) }

// Bind binds the calling goroutine to a thread, and that to CPUs, by their numbers, until release is called by the same
// goroutine. Calls of kernels that it makes meanwhile share their work with workers of their own that are bound to the
// same CPUs. So models that compute side by side, each on the CPUs of a NUMA node, stay out of each other's caches and memory. ok is
// false, and nothing changes, where the system does not permit it: on systems other than Linux, and for CPUs that the
// process may not use. Results do not depend on it.
func Bind(cpus []int) (release func(), ok bool) { return par.Bind(cpus) }

// Bound returns the CPUs that Bind has bound the calling goroutine to, nil if it has not. Goroutines that it starts are not bound,
// unless they call Bind with them.
func Bound() []int { return par.Bound() }
