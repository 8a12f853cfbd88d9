package kernels

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// workerPool is the package's set of workers. One that looks for work is handed
// a job without a lock; the others find jobs in a queue.
type workerPool struct {
	mu       sync.Mutex
	work     sync.Cond // a sleeping worker waits for it
	ended    sync.Cond // StopWorkers waits for it
	jobs     []*job    // those that still want workers, oldest first
	count    int       // workers that exist
	sleeping int       // those that wait on work

	all      atomic.Pointer[[]*worker] // those that exist; replaced under mu
	open     atomic.Int32              // len(jobs)
	spinning atomic.Int32              // workers that look for work
	stopping atomic.Bool

	// shortCall is when a call last asked for a worker that is not worth waking one.
	shortCall atomic.Int64
}

// worker is a goroutine that helps with one job after another. Its number decides
// which share of a job it begins with.
type worker struct {
	number int
	// mail is idle while the worker looks for work, and a job once it is handed one.
	mail atomic.Pointer[job]
	// avoid is 1 + the CPU of a caller whose job it did not take: perhaps its own.
	avoid atomic.Int32
	_     [40]byte // a cache line of its own
}

var idle = new(job)

var workers = newWorkerPool()

func newWorkerPool() *workerPool {
	p := &workerPool{}
	p.work.L, p.ended.L = &p.mu, &p.mu
	p.all.Store(new([]*worker))
	return p
}

// submit offers a job to n workers, starting or waking those that are missing,
// and reports whether it woke any.
func (p *workerPool) submit(j *job, n int) (woke bool) {
	j.offered, j.cpu = j.offered[:0], -1
	if p.spinning.Load() > 0 {
		for _, w := range *p.all.Load() {
			if len(j.offered) == n {
				break
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
	}
	j.wanted = n - len(j.offered)
	if j.wanted == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopping.Load() {
		j.wanted = 0
		return false
	}
	p.jobs = append(p.jobs, j)
	p.open.Store(int32(len(p.jobs)))
	for p.count < min(n, runtime.GOMAXPROCS(0)-1) {
		w := &worker{number: p.count}
		p.count++
		p.setAll(append(slices.Clone(*p.all.Load()), w))
		go p.run(w)
	}
	wake := min(j.wanted, p.sleeping)
	if wake <= 0 {
		return false
	}
	j.cpu = currentCPU()
	for range wake {
		p.work.Signal()
	}
	return true
}

func (p *workerPool) setAll(all []*worker) { p.all.Store(&all) }

// epoch is what shortCall counts from, on the monotonic clock.
var epoch = time.Now()

// ready reports whether a call that is not worth waking a worker should ask for
// one all the same: since one is awake, or since such calls follow one another so
// closely that a worker, once awake, stays so.
func (p *workerPool) ready() bool {
	if p.spinning.Load() > 0 {
		return true
	}
	now := int64(time.Since(epoch))
	return now-p.shortCall.Swap(now) < int64(spinTime)
}

// withdraw ends a job's offer: once it returns, no worker joins any more.
func (p *workerPool) withdraw(j *job) {
	astray := false
	for _, w := range j.offered {
		if w.mail.CompareAndSwap(j, idle) {
			// It looked for work and did not take the job, so it did not get to run.
			j.active.Add(-1)
			w.avoid.Store(int32(currentCPU() + 1))
			astray = true
		}
	}
	if astray {
		letWorkersMove()
	}
	if len(j.offered) == len(j.shares)-1 {
		return // it was not in the queue
	}
	p.mu.Lock()
	p.remove(j)
	p.mu.Unlock()
}

func (p *workerPool) remove(j *job) {
	for i := range p.jobs {
		if p.jobs[i] == j {
			last := len(p.jobs) - 1
			copy(p.jobs[i:], p.jobs[i+1:])
			p.jobs[last] = nil
			p.jobs = p.jobs[:last]
			p.open.Store(int32(last))
			return
		}
	}
}

// run is a worker's life.
func (p *workerPool) run(w *worker) {
	for {
		j, woken := p.next(w)
		if j == nil {
			return
		}
		for ; j != nil; j, woken = p.look(w), false {
			if woken && j.cpu >= 0 {
				leaveCPU(j.cpu)
			}
			j.run(1 + w.number%(len(j.shares)-1))
			j.leave()
		}
	}
}

// next takes a job from the queue, sleeping until there is one, and reports
// whether it slept. It returns nil when the worker is to end.
func (p *workerPool) next(w *worker) (j *job, slept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		// A smaller GOMAXPROCS than before leaves too many of us.
		if p.stopping.Load() || len(p.jobs) == 0 && p.count > runtime.GOMAXPROCS(0)-1 {
			p.count--
			p.setAll(slices.DeleteFunc(slices.Clone(*p.all.Load()), func(v *worker) bool { return v == w }))
			p.ended.Broadcast()
			return nil, slept
		}
		if len(p.jobs) > 0 {
			j := p.jobs[0]
			j.active.Add(1)
			if j.wanted--; j.wanted == 0 {
				p.remove(j)
			}
			return j, slept
		}
		p.sleeping++
		p.work.Wait()
		p.sleeping--
		slept = true
	}
}

// look waits to be handed a job, for as long as spin does. It returns nil if it
// is not, or if there is something to do in next.
func (p *workerPool) look(w *worker) *job {
	p.spinning.Add(1)
	defer p.spinning.Add(-1)
	for {
		w.mail.Store(idle)
		found := spin(func() bool {
			return w.mail.Load() != idle || p.open.Load() > 0 || w.avoid.Load() > 0 || p.stopping.Load()
		})
		if cpu := w.avoid.Swap(0) - 1; cpu >= 0 {
			leaveCPU(int(cpu))
		}
		if j := w.close(); j != nil {
			return j
		}
		if !found || p.open.Load() > 0 || p.stopping.Load() {
			return nil
		}
	}
}

// close ends the time in which the worker can be handed a job, and returns the
// one that it has been, or nil.
func (w *worker) close() *job {
	for {
		j := w.mail.Load()
		if !w.mail.CompareAndSwap(j, nil) {
			continue // handed or withdrawn in between
		}
		if j == idle {
			return nil
		}
		return j
	}
}

// StopWorkers ends the package's workers and returns when they are gone. Calls
// that run meanwhile finish, on fewer threads. The next call that wants workers
// starts them again. A program needs it only where a goroutine that stays would
// be in the way, such as a test that looks for leaks.
func StopWorkers() {
	p := workers
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.count > 0 { // another StopWorkers may have ended, and new workers begun, meanwhile
		p.stopping.Store(true)
		p.work.Broadcast()
		p.ended.Wait()
	}
	p.stopping.Store(false)
}
