// Package par runs the parts of a computation on several goroutines: the calling one and the
// workers of a pool.
//
// par.go has the functions that other packages call, job.go has a call and its parts, and
// failure.go the end of a call by a panic on a worker. pool.go has the set of workers and its
// board, worker.go the loop of a worker, and spin.go waiting without sleeping. affinity.go makes
// workers leave the caller's CPU, and pools.go has the pools of threads that are bound to CPUs.
// replay.go computes calls on one goroutine, to measure the time of each goroutine's share.
package par

import "github.com/avoformer/avoformer/internal/meetings"

// Run runs task on at most the given number of goroutines until all parts in [0, n) are done. Run
// never waits for a worker to begin: the caller does all parts that the workers have not begun.
//
// A part that panics ends the call, on any goroutine: Run waits for parts in progress, and no other
// parts begin. A panic on the calling goroutine continues there. A panic of a worker reaches the
// caller as a *WorkerPanic, and runtime.Goexit on a worker ends the caller. The workers stay
// usable.
//
// Each goroutine has an equal share of the parts, the same in each call, so that its caches still
// have the data that it read and wrote before. It takes half of the remaining parts of its share at
// a time. When none remain, it takes half of the remaining parts of another goroutine's share.
// Goroutines thus take many parts at a time while there are many, and one by one at the end, when
// single parts decide how long goroutines wait.
func Run(threads, n int, task Task) {
	if n <= 0 {
		return
	}
	if threads = min(threads, n); threads > 1 {
		meetings.Begin(threads, n)
		if r := meetings.Replaying(); r != nil {
			replay(r, threads, n, task)
			return
		}
	}
	p := current()
	helpers := p.helpers(threads - 1)
	if helpers <= 0 {
		task.Do(0, n)
		return
	}
	if failed := p.run(helpers, n, task); failed != nil {
		failed.onCaller()
	}
}

// run does the work of Run, and is also called by workers. It returns how a part ended on a worker,
// or nil if all parts completed.
func (p *pool) run(helpers, n int, task Task) (failed *failure) {
	j := jobs.Get().(*job)
	j.task = task
	j.divide(n, helpers+1)
	done := false
	defer func() { // also after a panic: no worker may write to the caller's memory after that
		if !done {
			j.empty()
		}
		failed = p.finish(j)
	}()
	p.submit(j, helpers)
	j.run(0)
	done = true
	return nil
}

// Ready reports whether a call that is too short for waking a worker should still ask for one,
// because a worker is awake, or because such calls follow one another so closely that an awake
// worker stays awake.
func Ready() bool { return meetings.Observed() || current().ready() }

// Stop ends the workers and returns when they have ended. Calls in progress finish, on fewer
// threads. The next call that needs workers starts them again.
func Stop() {
	for _, p := range everyPool() {
		p.stop()
	}
}

// Workers returns the number of workers.
func Workers() (n int) {
	for _, p := range everyPool() {
		n += len(*p.all.Load())
	}
	return n
}
