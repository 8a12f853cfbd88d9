// Copies of a model's execution on one machine.

package text

// ReplicaInfo is what a replica of a pipeline is and does.
type ReplicaInfo struct {
	CPUs    []int // that its threads are bound to; nil: none
	Node    int   // of NUMA, counted from 0 among those that the process may use
	Threads int
	Busy    int    // threads, or of a generator texts
	Batches uint64 // so far; of a generator steps
	Tokens  uint64 // so far
}
