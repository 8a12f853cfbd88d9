package checkpoint

import (
	"cmp"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/kernels/machine"
)

// This file has what loading does on all threads: reading and packing weights.

// A job is a piece of work that touches nothing of other jobs.
type job struct {
	size int // elements that it reads
	do   func(buf *jobBuffers)
}

// jobBuffers is scratch memory of a goroutine that runs jobs.
type jobBuffers struct {
	ahead []float32
	raw   []byte
}

func (b *jobBuffers) floats(n int) []float32 {
	if n > len(b.ahead) {
		b.ahead = make([]float32, n)
	}
	return b.ahead
}

func (b *jobBuffers) bytes(n int) []byte {
	if n > len(b.raw) {
		b.raw = make([]byte, n)
	}
	return b.raw
}

// runJobs runs jobs, the largest first, on as many goroutines as run at a time. It panics if one of
// them does.
func runJobs(jobs []job) {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(b.size, a.size) })
	var next atomic.Int64
	var panicked atomic.Value
	work := func() {
		defer func() {
			if p := recover(); p != nil {
				panicked.CompareAndSwap(nil, any(&p))
				next.Store(int64(len(jobs)))
			}
		}()
		buf := new(jobBuffers)
		for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
			jobs[i].do(buf)
		}
	}
	var others sync.WaitGroup
	cpus := machine.Bound() // the memory of weights is on the node of the CPU that writes it first
	for range min(runtime.GOMAXPROCS(0), len(jobs)) - 1 {
		others.Go(func() {
			if cpus != nil {
				release, _ := machine.Bind(cpus)
				defer release()
			}
			work()
		})
	}
	work()
	others.Wait()
	if p, ok := panicked.Load().(*any); ok {
		panic(*p)
	}
}

// piece is some rows of a matrix.
type piece struct{ from, rows int }

// pieces cuts a matrix of rows of some elements for jobs: into pieces that are large enough for
// reading and packing them, and many enough for all threads. They begin at multiples of 64 rows,
// more than a panel has.
func pieces(rows, elements int) iter.Seq[piece] {
	step := max(1<<20/elements, 1)
	step = (step + 63) / 64 * 64
	return func(yield func(piece) bool) {
		for from := 0; from < rows; from += step {
			if !yield(piece{from, min(step, rows-from)}) {
				return
			}
		}
	}
}
