package par

// A call that finds all the workers that it wants looking for work posts its job on the pool's board, one line of
// memory that all of them read. Handing the job to one worker after another takes as long as two cache lines that
// move from core to core, for each of them; on 16 processors that was ten times as long as for the board.
//
// A worker says that it takes part by its mail, which is on a line of its own, and looks at the board again
// afterwards. The call clears the board when no part is left, and then looks at the mail of all. So either the call
// sees that a worker takes part, or the worker sees that the job is gone.

// leastTeam is how many workers are worth the board.
const leastTeam = 2

// teamBits are those of pool.call that hold the number of workers of a team.
const teamBits = 16

// post puts a job for n workers on the board, and reports whether it did: if the board is free and the first n
// workers look for work.
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

// calls reports whether the board has a job that a worker has not seen.
func (p *pool) calls(w *worker) bool {
	if p.posted.Load() == nil {
		return false
	}
	call := p.call.Load()
	return call != w.seen && w.number < int(call%(1<<teamBits))
}

// assist has a worker, which looks for work, take part in the job on the board, if it is called for, and reports whether
// it did. Afterwards the worker looks for work as before.
func (p *pool) assist(w *worker) bool {
	j, call := p.posted.Load(), p.call.Load()
	if j == nil || call == w.seen || !w.mail.CompareAndSwap(idle, j) {
		return false
	}
	if p.posted.Load() != j { // and perhaps belongs to another call by now
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

// part ends a worker's part in a job from the board; j may belong to another call right after it.
func (w *worker) part(j, next *job) {
	if w.mail.CompareAndSwap(j, next) {
		return
	}
	w.mail.Store(next) // the caller sleeps
	j.leave()
}

// clear takes a job off the board, and returns when no worker takes part in it any more.
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

// asleep is the mail of a worker that takes part in a job from the board whose caller sleeps.
var asleep = new(job)
