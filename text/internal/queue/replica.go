// Replicas: threads on some of the CPUs each, with workspaces of their own.

package queue

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
)

// Replica is a copy of the execution. All replicas of a queue take from it whatever they have free threads for, a batch
// with some threads of one replica.
type Replica struct {
	Threads int
	CPUs    []int // that its goroutines are bound to while they work; nil: none

	spaces sync.Pool // of *models.Workspace, whose memory is that of the node that used them first
	// Under the queue's lock:
	used    int // threads that are busy
	batches uint64
	tokens  uint64
}

// Work is what a replica does, and has done.
type Work struct {
	Busy            int // threads
	Batches, Tokens uint64
}

// bind binds the calling goroutine to the replica's CPUs until release is called.
func (r *Replica) bind() (release func()) {
	if r.CPUs == nil {
		return func() {}
	}
	release, _ = machine.Bind(r.CPUs) // where the system forbids it, results are the same
	return release
}

func (r *Replica) space() *models.Workspace {
	if ws, ok := r.spaces.Get().(*models.Workspace); ok {
		return ws
	}
	return new(models.Workspace)
}
