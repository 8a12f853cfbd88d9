package kernels

import "github.com/avoformer/avoformer/kernels/internal/par"

// Threads is the number of threads that a kernel call may use, the calling
// goroutine included. 0 and 1 mean serial. Its methods are the package's
// functions; results do not depend on the number.
//
// All calls share one pool of workers, which starts with the first call that wants
// one and grows to what the running calls want together, at most GOMAXPROCS-1. A
// call never waits for a worker to come: the caller does whatever the workers have
// not begun. However many calls run on however many threads, at most GOMAXPROCS
// goroutines compute. A worker without work looks for more for some 50
// microseconds and then sleeps at no cost. Workers that a smaller GOMAXPROCS leaves
// no room for end with the calls that follow. StopWorkers ends all workers.
//
// A panic in a call reaches its caller, on whichever thread it happens. Recovered there, it
// leaves no worker in that call's memory.
type Threads int

// StopWorkers ends the package's workers and returns when they are gone. Calls
// that run meanwhile finish, on fewer threads. The next call that wants workers
// starts them again. A program needs it only where a goroutine that stays would
// be in the way, such as a test that looks for leaks.
func StopWorkers() { par.Stop() }

// AllowAffinityChanges lets workers change the CPU affinity of their threads for a
// moment, or forbids it, and returns what it was before. At first it is forbidden.
//
// Linux may wake a worker on the caller's CPU and leave the two there for some 10 ms
// while another CPU idles. Where it is allowed, a worker that finds itself there
// goes elsewhere, which helps programs that compute now and then on two or more
// CPUs; doc/measurements/threads.md has figures. On other systems nothing changes.
func AllowAffinityChanges(allow bool) (before bool) { return par.AllowAffinityChanges(allow) }
