// Replicas: threads on some of the CPUs, each replica with its own workspaces.

package queue

import (
	"sync"

	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
)

// Replica is a copy of the execution. All replicas of a queue take work from it when they have free
// threads. A batch runs on threads of one replica.
type Replica struct {
	Threads int
	CPUs    []int // CPUs to which its goroutines are bound while they work; nil: not bound

	spaces sync.Pool // of *models.Workspace; their memory is on the node that first used them
	// Under the queue's lock:
	used    int // threads that are busy
	batches uint64
	tokens  uint64
}

// Work describes what a replica does at the moment, and counts what it has done.
type Work struct {
	Busy            int // threads
	Batches, Tokens uint64
}

// bind binds the calling goroutine to the replica's CPUs until release is called.
func (r *Replica) bind() (release func()) {
	if r.CPUs == nil {
		return func() {}
	}
	release, _ = machine.Bind(r.CPUs) // if the system forbids it, results are the same
	return release
}

func (r *Replica) space() *models.Workspace {
	if ws, ok := r.spaces.Get().(*models.Workspace); ok {
		return ws
	}
	return new(models.Workspace)
}
