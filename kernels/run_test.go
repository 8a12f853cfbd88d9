package kernels_test

import (
	"sync/atomic"
	"testing"

	"github.com/avoformer/avoformer/kernels"
)

// marks counts how often each part was done.
type marks []atomic.Int32

func (m marks) Do(from, to int) {
	for i := from; i < to; i++ {
		m[i].Add(1)
	}
}

// TestRun does every part once, with little or much work.
func TestRun(t *testing.T) {
	for _, threads := range []kernels.Threads{0, 1, 2, 5} {
		for _, nanoseconds := range []int{0, 1 << 12, 1 << 30} {
			for _, n := range []int{0, 1, 2, 33} {
				m := make(marks, n)
				threads.Run(n, nanoseconds, m)
				for i := range m {
					if got := m[i].Load(); got != 1 {
						t.Fatalf("%d threads, %d ns: part %d of %d was done %d times", threads, nanoseconds, i, n, got)
					}
				}
			}
		}
	}
}
