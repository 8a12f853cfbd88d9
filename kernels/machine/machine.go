// Package machine sets how the kernels use the machine: the tier that they run on, their workers,
// and the CPUs of these. Tests and benchmarks need it, but few programs do. It changes no promise
// of a kernel.
//
// This package is settling: see doc/stability.md.
package machine

import (
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// Use makes the kernels run on another tier until restore is called. It is meant for tests and
// benchmarks, and must not be called while kernels run. It panics if the machine lacks the tier.
func Use(isa kernels.ISA) (restore func()) { return simd.Use(simd.ISA(isa)) }

// Features returns in used the extensions of the processor beyond the tier that kernels use now,
// with the names that turn them off in the environment variable AVOFORMER_CPU. Some extensions need
// the permission of the operating system: Features asks for it, for the whole process, and returns
// in refused the extensions that did not get it.
func Features() (used, refused []string) { return simd.FeaturesOn(simd.Active()) }

// FastBF16 names what multiplies weights in [kernels.FormatBF16Fast] on the tier that kernels use
// now: "tiles" of AMX, "pairs" of bfloat16 in vectors, or "" if the machine has neither and
// products are those of [kernels.FormatBF16]. Results in that format differ between the three. Like
// [Features] it asks the operating system for its permission to use tiles.
func FastBF16() (by string) {
	switch used, _ := Features(); {
	case slices.Contains(used, "amx"):
		return "tiles"
	case slices.Contains(used, "avx512bf16"):
		return "pairs"
	}
	return ""
}

// StopWorkers ends the workers of the kernels and returns when they are gone. Calls that run
// meanwhile finish, on fewer threads. The next call that wants workers starts them again. A program
// needs it only where a remaining goroutine would disturb, such as in a test that looks for leaks.
func StopWorkers() { par.Stop() }

// AllowAffinityChanges allows or forbids workers to change the CPU affinity of their threads for a
// moment, and returns the previous setting. The default is to forbid it.
//
// Linux may wake a worker on the caller's CPU and leave the two there for some 10 ms while another
// CPU idles. If changes are allowed, such a worker moves to another CPU, which helps programs that
// compute now and then on two or more CPUs; doc/measurements/threads.md has figures. On other
// systems nothing changes.
func AllowAffinityChanges(allow bool) (before bool) { return par.AllowAffinityChanges(allow) }

// Bind binds the calling goroutine to a thread, and the thread to the CPUs with the given numbers,
// until the same goroutine calls release. In the meantime its calls of kernels share their work
// with separate workers, which are bound to the same CPUs. Models that compute at the same time,
// each on the CPUs of a NUMA node, therefore do not share caches and memory. If the system does not
// permit it, nothing changes and ok is false: on systems other than Linux, and for CPUs that the
// process may not use. Results do not depend on it.
func Bind(cpus []int) (release func(), ok bool) { return par.Bind(cpus) }

// Bound returns the CPUs that Bind has bound the calling goroutine to, nil if it has not.
// Goroutines that it starts are not bound, unless they call Bind with these CPUs.
func Bound() []int { return par.Bound() }
