package queue

import (
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/windows"
)

// TestReplicas has a call computed on two replicas, each bound to a CPU: both work, on their CPU,
// with workspaces that the other one never uses, and the sum of their counts is the call's. The
// caller's goroutine is not bound.
func TestReplicas(t *testing.T) { synctest.Test(t, replicas) }

func replicas(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil || allowed.Count() < 2 {
		t.Skip("one CPU", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < 2; cpu++ {
		if allowed.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	g := newGate(t, 1, 100)
	g.Replicas = []*Replica{{Threads: 2, CPUs: cpus[:1]}, {Threads: 2, CPUs: cpus[1:]}}
	var mu sync.Mutex
	at := map[*models.Workspace]int{} // the CPU of each workspace
	both := sync.NewCond(&mu)
	seen := map[int]bool{}
	words := 0
	call := &Call{
		Size: 60, Text: func(int) windows.Text { return windows.Text{First: wordText(20)} }, Splitter: g.splitter,
		Compute: func(ws *models.Workspace, in models.Tokens, result func(int, []float32)) error {
			var mask unix.CPUSet
			if err := unix.SchedGetaffinity(0, &mask); err != nil || mask.Count() != 1 {
				t.Errorf("a batch may run on %d CPUs, %v", mask.Count(), err)
			}
			cpu := cpus[0]
			if !mask.IsSet(cpu) {
				cpu = cpus[1]
			}
			mu.Lock()
			defer mu.Unlock()
			if before, ok := at[ws]; ok && before != cpu {
				t.Errorf("a workspace of CPU %d on CPU %d", before, cpu)
			}
			at[ws], seen[cpu] = cpu, true
			words += len(in.IDs)
			for both.Broadcast(); len(seen) < 2; {
				both.Wait() // until the other replica has begun
			}
			for i := range in.Batch.Len() {
				result(i, nil)
			}
			return nil
		},
		Finish: func(*Input, [][]float32) {},
	}
	if err := g.Do(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	g.idle(t)
	tokens := uint64(0)
	for i, w := range g.Work() {
		if tokens += w.Tokens; w.Batches == 0 || w.Tokens == 0 || w.Busy != 0 {
			t.Errorf("replica %d: %+v", i, w)
		}
	}
	if tokens != uint64(words) {
		t.Errorf("the replicas have computed %d tokens, want %d", tokens, words)
	}
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil || mask != allowed {
		t.Error("the caller's thread is bound")
	}
}
