package par

import (
	"runtime/debug"
	"slices"
	"sync/atomic"
)

// worker is a goroutine that helps with one job after another. Its number decides which share of a
// job it begins with. After a worker has ended, the next one with its number uses the same memory.
type worker struct {
	number int
	// mail is idle while the worker looks for work, and a job after it is handed one or takes part
	// in one from the board.
	mail atomic.Pointer[job]
	// avoid is 1 + the CPU of a caller whose job the worker did not take, perhaps because it is on
	// that CPU. It stays 0 unless affinity may be changed.
	avoid atomic.Int32
	seen  uint64               // the last call on the board in which it took part, or whose team it did not belong to
	_     [cacheLine - 32]byte // keeps the fields on lines of their own
}

// idle is the mail of a worker that can be handed a job.
var idle = new(job)

// live is the loop of a worker.
func (p *pool) live(w *worker) {
	if p.cpus != nil {
		if release := boundTo(p.cpus); release != nil {
			defer release()
		}
	}
	for {
		j, woken := p.next(w)
		if j == nil {
			return
		}
		for ; j != nil; j, woken = p.look(w), false {
			if woken && j.cpu >= 0 {
				leaveCPU(j.cpu)
			}
			p.help(w, j, func(*job) { j.leave() })
			p.currentLimit()
		}
	}
}

// next takes a job from the queue, sleeping until there is one, and reports whether it slept. It
// returns nil if the worker must end.
func (p *pool) next(w *worker) (j *job, slept bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.stopping.Load() || p.surplus() {
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
		p.sleeping.Add(1)
		p.work.Wait()
		p.sleeping.Add(-1)
		slept = true
	}
}

// look takes part in jobs from the board, and waits to be handed a job, for the time of spin. It
// returns nil if no job comes, or if next has something to do.
func (p *pool) look(w *worker) *job {
	w.mail.Store(idle)
	for {
		tries := 0
		found := spin(func() bool {
			tries++
			return w.mail.Load() != idle || p.calls(w) || w.avoid.Load() > 0 || p.callsNext() || tries%spinRounds == 0 && p.crowded()
		})
		if !p.callsNext() && p.assist(w) {
			p.currentLimit()
			continue
		}
		if cpu := w.avoid.Swap(0) - 1; cpu >= 0 {
			leaveCPU(int(cpu))
		}
		if j := w.close(); j != nil {
			return j
		}
		if !found || p.callsNext() || p.crowded() {
			return nil
		}
		w.mail.Store(idle)
	}
}

// calls reports whether the board has a job that a worker has not seen.
func (p *pool) calls(w *worker) bool {
	if p.posted.Load() == nil {
		return false
	}
	call := p.call.Load()
	return call != w.seen && w.number < int(call%(1<<teamBits))
}

// assist makes a worker that looks for work take part in the job on the board, if it is on the
// team, and reports whether it did. Afterwards the worker looks for work as before.
func (p *pool) assist(w *worker) bool {
	j, call := p.posted.Load(), p.call.Load()
	if j == nil || call == w.seen || !w.mail.CompareAndSwap(idle, j) {
		return false
	}
	if p.posted.Load() != j { // it may belong to another call by now
		w.part(j, idle)
		return false
	}
	w.seen = call
	if w.number >= int(j.size.Load()) {
		w.part(j, idle)
		return false
	}
	p.help(w, j, func(next *job) { w.part(j, next) })
	return true
}

// part ends a worker's part in a job from the board. Right after it j may belong to another call.
func (w *worker) part(j, next *job) {
	if w.mail.CompareAndSwap(j, next) {
		return
	}
	w.mail.Store(next) // the caller sleeps
	j.leave()
}

// asleep is the mail of a worker that takes part in a job from the board while the job's caller
// sleeps.
var asleep = new(job)

// callsNext reports whether next has something to do other than sleep.
func (p *pool) callsNext() bool {
	return p.open.Load() > 0 || p.stopping.Load() || p.surplus()
}

// close ends the time in which the worker can be handed a job, and returns a job that it has been
// handed, or nil.
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

// help does a worker's share of a job, even if a part panics, and then calls leave with the
// worker's new mail: idle, or nil if runtime.Goexit ended its goroutine, which another one
// replaces.
func (p *pool) help(w *worker, j *job, leave func(next *job)) {
	next := (*job)(nil)
	defer func() {
		if next == nil {
			f := new(failure)
			if v := recover(); v != nil {
				f.panicked = &WorkerPanic{v, debug.Stack()}
				next = idle
			} else {
				defer func() { go p.live(w) }()
			}
			j.failed.CompareAndSwap(nil, f) // the first one counts
			j.empty()
		}
		leave(next)
	}()
	j.run(1 + w.number%(len(j.shares)-1))
	next = idle
}

// avoidCallerCPU asks the worker to leave the CPU of the caller once it gets to run, and reports
// whether it will.
func (w *worker) avoidCallerCPU() bool {
	cpu := callerCPU()
	if cpu < 0 {
		return false
	}
	w.avoid.Store(int32(cpu + 1))
	return true
}
