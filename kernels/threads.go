package kernels

import "github.com/avoformer/avoformer/kernels/internal/par"

// Threads is the number of threads that a kernel call may use, the calling
// goroutine included. 0 and 1 mean serial. Its methods are the package's
// functions; results do not depend on the number.
//
// All calls share one pool of workers, which starts with the first call that wants
// one and grows to what the running calls want together: at most one less than
// GOMAXPROCS, or than the processors that the program may use where these are fewer.
// A call never waits for a worker to come: the caller does whatever the workers have
// not begun. However many calls run on however many threads, at most GOMAXPROCS
// goroutines compute. A worker without work looks for more for some 50
// microseconds and then sleeps at no cost. Workers that a smaller GOMAXPROCS leaves
// no room for end with the calls that follow. StopWorkers of package machine ends
// all workers.
//
// A panic in a call reaches its caller, on whichever thread it happens. Recovered there, it
// leaves no worker in that call's memory.
type Threads int

// A Task is work in parts that may run in any order and at the same time. Do does the parts [from, to).
type Task interface{ Do(from, to int) }

// Run has task do n parts on up to t threads and returns when all are done. nanoseconds is what all parts take one
// thread, roughly: less work is shared out among fewer threads, since handing it over takes time too. Neighbouring parts
// mostly go to one thread, the same one in each call with as many threads. A task behind a pointer costs no allocation.
func (t Threads) Run(n, nanoseconds int, task Task) {
	par.Run(par.Worth(int(t), nanoseconds), n, task)
}
