package kernels

import "github.com/avoformer/avoformer/kernels/internal/par"

// Threads is the number of threads that a kernel call may use, the calling goroutine included. 0
// and 1 mean serial. Its methods are the package's functions; results do not depend on the number.
//
// All calls share one pool of workers, which starts with the first call that needs one and grows to
// what all running calls need together. The number of workers is at most GOMAXPROCS-1, or one less
// than the number of processors that the program may use, if that is smaller. A call never waits
// for a worker: the caller computes the parts that no worker has begun. At most GOMAXPROCS
// goroutines compute, however many calls run and on however many threads. An idle worker looks for
// work for some 50 microseconds and then sleeps at no cost. If GOMAXPROCS becomes smaller, surplus
// workers end during the next calls. StopWorkers of package machine ends all workers.
//
// A panic on any thread of a call reaches the caller. When it does, no worker uses the memory of
// that call any longer.
type Threads int

// Run calls task.Do on up to t threads until n parts of the task are done, in any order and at the
// same time; Do does the parts [from, to). nanoseconds is roughly the time that one thread takes
// for all parts: a small task runs on fewer threads, because passing work to a thread takes time
// too. Neighbouring parts mostly go to one thread, the same one in each call with the same number
// of threads. A task that is a pointer costs no allocation.
func (t Threads) Run(n, nanoseconds int, task interface{ Do(from, to int) }) {
	par.Run(par.Worth(int(t), nanoseconds), n, task)
}
