package par

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// pool is a set of workers. A worker that looks for work finds a job on the board, or is handed
// one, without a lock; busy and sleeping workers find jobs in a queue.
//
// The fields that workers read repeatedly while they look for work are apart from the fields that
// calls write: a line that one thread has written must move to every other thread that reads it.
type pool struct {
	mu    sync.Mutex
	work  sync.Cond // a sleeping worker waits for it
	ended sync.Cond // stop waits for it
	jobs  []*job    // jobs that still need workers, oldest first
	slots []*worker // by number, including workers that ended
	cpus  []int     // CPUs to which the workers are bound; nil: not bound

	// Read by all workers, and rarely written:
	_        [cacheLine]byte
	all      atomic.Pointer[[]*worker] // the running workers; replaced under mu
	open     atomic.Int32              // len(jobs)
	stopping atomic.Bool
	limit    atomic.Int32 // GOMAXPROCS, or the number of processors if that is smaller, minus one; as of asked
	sleeping atomic.Int32 // number of workers that wait for work; changes under mu
	asked    atomic.Int64 // when limit was updated

	// The board: read by all workers that look for work, and written by calls that post on it.
	_      [cacheLine]byte
	posted atomic.Pointer[job]
	call   atomic.Uint64 // the number of the last call that posted, and its number of workers

	// Written by every call:
	_ [cacheLine]byte
	// demand has the number of running calls, times oneCall, plus the total number of helpers that
	// they want.
	demand atomic.Int64
	// shortCall is the last time at which a call asked for a worker without being worth waking one.
	shortCall atomic.Int64
	_         [cacheLine]byte
}

// cacheLine is the number of bytes that move between cores together: two lines of 64, because
// processors fetch the neighbouring line too.
const cacheLine = 128

const oneCall = 1 << 32

// askEvery is the largest age of limit. runtime.GOMAXPROCS takes the scheduler's lock, which is too
// expensive for every call.
const askEvery = 10 * time.Millisecond

// long is a time long ago.
const long = math.MinInt64 / 2

var workers = newPool()

func newPool() *pool {
	p := &pool{}
	p.work.L, p.ended.L = &p.mu, &p.mu
	p.all.Store(new([]*worker))
	p.asked.Store(long)
	return p
}

// helpers returns the number of the wanted helpers that a call may have.
func (p *pool) helpers(wanted int) int {
	if wanted <= int(p.limit.Load()) {
		return wanted
	}
	return min(wanted, p.currentLimit())
}

// currentLimit updates and returns limit. If it is less than before, sleeping workers wake to check
// whether there are too many.
func (p *pool) currentLimit() int {
	if t := now(); t-p.asked.Load() > int64(askEvery) {
		limit := int32(min(runtime.GOMAXPROCS(0), p.processors()) - 1)
		old := p.limit.Swap(limit)
		p.asked.Store(t) // last: a concurrent call must not take the old limit for a new one
		if limit < old {
			p.mu.Lock()
			p.work.Broadcast()
			p.mu.Unlock()
		}
	}
	return int(p.limit.Load())
}

// surplus reports whether there are more workers than limit allows.
func (p *pool) surplus() bool { return len(*p.all.Load()) > int(p.limit.Load()) }

// crowded reports whether the running calls and the workers that are awake are more goroutines than
// can run at the same time: then a worker that spins keeps one of them from running.
func (p *pool) crowded() bool {
	awake := len(*p.all.Load()) - int(p.sleeping.Load())
	return int(p.demand.Load()/oneCall)+awake > int(p.limit.Load())+1
}

// submit offers a job to n workers, and starts or wakes the missing ones.
func (p *pool) submit(j *job, n int) {
	j.offered, j.queued, j.cpu = j.offered[:0], false, -1
	p.demand.Add(oneCall + int64(n))
	if p.post(j, n) {
		return
	}
	for _, w := range *p.all.Load() {
		if len(j.offered) == n {
			return
		}
		if w.mail.Load() != idle {
			continue
		}
		j.active.Add(1)
		if w.mail.CompareAndSwap(idle, j) {
			j.offered = append(j.offered, w)
		} else {
			j.active.Add(-1)
		}
	}
	if len(j.offered) < n && p.enqueue(j, n-len(j.offered)) {
		letWorkersMove()
	}
}

// A call whose workers all look for work posts its job on the pool's board, a single line of memory
// that all of them read. Handing the job to one worker after another would move two cache lines
// from core to core for each worker, which took ten times as long as the board on 16 processors.
//
// A worker takes part by writing to its mail, which is on a line of its own; then it looks at the
// board again. The call clears the board when no part is left, and then looks at the mail of all
// workers. Therefore either the call sees that a worker takes part, or the worker sees that the job
// is gone.

// leastTeam is the smallest number of workers for which the board is faster.
const leastTeam = 2

// teamBits is the number of bits of pool.call that hold the number of workers of a team.
const teamBits = 16

// post puts a job for n workers on the board, and reports whether it did. It does so if the board
// is free and the first n workers look for work.
func (p *pool) post(j *job, n int) bool {
	all := *p.all.Load()
	if n < leastTeam || n > len(all) || n >= 1<<teamBits || p.posted.Load() != nil || affinity.Load() {
		return false
	}
	for i, w := range all[:n] {
		if w.number != i || w.mail.Load() != idle {
			return false
		}
	}
	j.team = all[:n]
	j.size.Store(int32(n))
	p.call.Store((p.call.Load()>>teamBits+1)<<teamBits | uint64(n))
	if !p.posted.CompareAndSwap(nil, j) {
		j.team = nil
		return false
	}
	return true
}

// clear takes a job off the board, and returns when no worker takes part in it.
func (p *pool) clear(j *job) {
	p.posted.Store(nil)
	left := j.team
	j.team = nil
	if spin(func() bool {
		for ; len(left) > 0; left = left[1:] {
			if left[0].mail.Load() == j {
				return false
			}
		}
		return true
	}) {
		return
	}
	j.active.Store(callerSleeps + int64(len(left)))
	for _, w := range left {
		if !w.mail.CompareAndSwap(j, asleep) && j.active.Add(-1) == callerSleeps {
			j.active.Store(0)
			return
		}
	}
	<-j.done
}

// enqueue puts a job into the queue, for n workers to join, and reports whether it woke a worker.
func (p *pool) enqueue(j *job, n int) (woke bool) {
	limit := p.currentLimit()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping.Load() {
		return false
	}
	j.wanted, j.queued = n, true
	p.jobs = append(p.jobs, j)
	p.open.Store(int32(len(p.jobs)))
	p.grow(min(limit, int(p.demand.Load()%oneCall)))
	wake := min(n, int(p.sleeping.Load()))
	if wake <= 0 {
		return false
	}
	j.cpu = callerCPU()
	for range wake {
		p.work.Signal()
	}
	return true
}

// grow starts workers until there are n, with the lowest free numbers. The caller holds mu.
func (p *pool) grow(n int) {
	all := *p.all.Load()
	for number := 0; len(all) < n; number++ {
		if number < len(all) && all[number].number == number {
			continue
		}
		if number == len(p.slots) {
			p.slots = append(p.slots, &worker{number: number})
		}
		w := p.slots[number]
		all = slices.Insert(slices.Clone(all), number, w)
		p.setAll(all)
		go p.live(w)
	}
}

func (p *pool) setAll(all []*worker) { p.all.Store(&all) }

// finish ends a job's offer, waits for the workers that run it, and keeps the job for another call.
// It returns how a part ended on a worker, or nil if all parts completed.
func (p *pool) finish(j *job) *failure {
	p.demand.Add(-oneCall - int64(len(j.shares)-1))
	if j.team != nil {
		p.clear(j)
	} else {
		p.withdraw(j)
		j.wait()
	}
	j.task = nil
	failed := j.failed.Swap(nil)
	jobs.Put(j)
	return failed
}

// withdraw ends a job's offer: no worker joins after it returns.
func (p *pool) withdraw(j *job) {
	astray := false
	for _, w := range j.offered {
		if j.active.Load() == 0 {
			break // all have joined and left
		}
		if w.mail.Load() == j && w.mail.CompareAndSwap(j, idle) {
			j.active.Add(-1)
			// The worker looked for work but did not take the job: it did not get to run.
			astray = w.avoidCallerCPU() || astray
		}
	}
	if astray {
		letWorkersMove()
	}
	if !j.queued {
		return
	}
	p.mu.Lock()
	p.remove(j)
	p.mu.Unlock()
}

// remove takes a job out of the queue, if it is there. The caller holds mu.
func (p *pool) remove(j *job) {
	if i := slices.Index(p.jobs, j); i >= 0 {
		p.jobs = slices.Delete(p.jobs, i, i+1)
		p.open.Store(int32(len(p.jobs)))
	}
}

// looks reports whether a worker looks for work.
func (p *pool) looks() bool {
	return slices.ContainsFunc(*p.all.Load(), func(w *worker) bool { return w.mail.Load() == idle })
}

// ready has the result of Ready.
func (p *pool) ready() bool {
	if p.looks() {
		return true
	}
	t := now()
	return t-p.shortCall.Swap(t) < int64(spinTime)
}

// stop does the work of Stop for one pool.
func (p *pool) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(*p.all.Load()) > 0 { // meanwhile another stop may have ended, and new workers may have started
		p.stopping.Store(true)
		p.work.Broadcast()
		p.ended.Wait()
	}
	p.stopping.Store(false)
}
