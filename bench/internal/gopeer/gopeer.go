// Package gopeer wraps other Go libraries as contestants of the benchmark.
package gopeer

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// A library computes some cases in this process.
type library struct {
	name, version string
	threads       int
	// prepare returns the slice for the result and the call that fills it, or a nil call.
	prepare func(d *workload.Data, out []float32) func()
}

// All returns the libraries built into this program. Libraries that choose their number of
// goroutines run with GOMAXPROCS = threads.
func All(threads int) []workload.Contestant {
	list := []workload.Contestant{
		library{"gonum" + gonumSuffix, moduleVersion("gonum.org/v1/gonum"), threads, gonum},
		library{"gomlx", moduleVersion("github.com/gomlx/gomlx"), threads, gomlx},
	}
	if threads == 1 {
		list = append(list, library{"vek", moduleVersion("github.com/viterin/vek"), 1, vek})
		list = append(list, experimental()...)
	}
	return list
}

func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "?"
}

// Name implements [workload.Contestant].
func (l library) Name() string { return l.name }

// Version implements [workload.Contestant].
func (l library) Version() string { return l.version }

// Variants implements [workload.Contestant].
func (l library) Variants(workload.Case) []string { return []string{""} }

// Open implements [workload.Contestant].
func (l library) Open(d *workload.Data, _ string) (workload.Job, error) {
	out := make([]float32, d.OutputLen())
	if d.Int8 {
		return nil, workload.ErrUnsupported
	}
	run := l.prepare(d, out)
	if run == nil {
		return nil, workload.ErrUnsupported
	}
	return job{l.threads, &workload.Func{Out: out, Run: run}}, nil
}

type job struct {
	threads int
	*workload.Func
}

// Time implements [workload.Job].
func (j job) Time(reps int) (time.Duration, error) {
	before := runtime.GOMAXPROCS(j.threads)
	defer runtime.GOMAXPROCS(before)
	return j.Func.Time(reps)
}
