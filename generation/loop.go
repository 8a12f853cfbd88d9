package generation

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This file has the loop of a scheduler.

// loop is the state of a scheduler's goroutine.
type loop struct {
	s        *Scheduler
	stepper  Stepper
	running  []*job // in the order of their arrival
	prefixes *prefixes
	memory   int64 // bytes that prefixes may make full
	pace     pace
	guess    guesser
	mtp      mtp
	abort    atomic.Bool

	// Of the step that runs:
	step     Step
	memories models.Memory
	jobs     []*job // with a piece in it
	lengths  []int
	from     []int // rows of each history before the step
}

func (l *loop) begin(s *Scheduler) {
	l.s = s
	l.stepper = Stepper{Model: s.c.Model, Workspace: &transformer.Workspace{Threads: s.c.Threads}}
	l.prefixes = newPrefixes(prefixStep)
	l.pace.stall = s.c.Stall
	l.guess.begin(s)
	if s.c.Draft > 0 && s.c.DraftModel == nil && predicts(s.c.Model) {
		l.mtp.begin(s.c.Model, s.c.Threads, (s.c.Memory+3)/4, l.prefixes)
	}
	l.memory = cmp.Or(s.c.Kept, s.c.Memory, 1<<30)
}

// run runs steps until there is nothing to do.
func (l *loop) run() {
	s := l.s
	if s.c.CPUs != nil {
		release, _ := machine.Bind(s.c.CPUs)
		defer release()
	}
	for {
		s.mu.Lock()
		if l.abort.Load() {
			l.end()
		}
		if len(s.queue) == 0 && len(l.running) == 0 {
			s.stats.Running, s.stats.Prefixes = 0, l.prefixes.count
			close(s.working)
			s.working = nil
			s.mu.Unlock()
			return
		}
		l.admit()
		s.stats.Running, s.stats.Prefixes = len(l.running), l.prefixes.count
		s.mu.Unlock()
		l.drop()
		if l.plan() {
			l.pass()
		}
	}
}

// end ends all texts, because the scheduler closes at once. The caller holds the lock.
func (l *loop) end() {
	for _, j := range append(l.s.queue, l.running...) {
		j.end(FinishFailed, Choice{Token: -1}, fault.ErrClosed)
		if j.history != nil {
			j.release()
		}
	}
	l.s.queue, l.running = nil, nil
}

// admit begins requests of the queue, in their order. The caller holds the lock.
func (l *loop) admit() {
	s := l.s
	waiting := s.queue[:0]
	full := false
	for _, j := range s.queue {
		switch {
		case j.cancelled() != nil:
			j.end(FinishCancelled, Choice{Token: -1}, j.cancelled())
		case full || len(l.running) >= s.c.Streams:
			waiting = append(waiting, j)
		case l.waitsForPrefix(j):
			waiting = append(waiting, j)
		case !l.start(j):
			full = true // later requests must wait too
			waiting = append(waiting, j)
		}
	}
	clear(s.queue[len(waiting):])
	s.queue = waiting
}

// start begins a request, with the history of a beginning of its tokens; false if the request must
// wait.
func (l *loop) start(j *job) bool {
	var found *prefix
	rows := 0
	if j.shares() {
		found, rows = l.prefixes.find(j.adapter, j.passage())
	}
	// At least one token is passed, for its logits. The last one of a Soft may pass alone: it sees
	// no token after it.
	if rows = min(rows, len(j.tokens)-1); found != nil && rows > 0 {
		if h, err := found.history.Fork(rows); err == nil { // windows may have dropped rows
			j.history, j.shared = h, rows
			if l.mtp.layer != nil {
				j.mtp.begin(found.guess, rows)
			} else {
				j.guesses.begin(found.guess, rows)
			}
		}
	}
	if j.history == nil {
		j.history = l.s.pages.New()
		_, _ = j.history.Adapt(j.adapter), j.history.Expect(len(j.tokens)-j.n) // no row has passed it
	}
	// One more page for each of the other texts, or this one would be removed again at once.
	for !l.s.pages.Fits(j.left()+len(l.running)*l.s.pages.Rows, j.recall()) {
		if !l.prefixes.dropOldest() {
			if len(l.running) == 0 {
				break // alone it fits or fails
			}
			j.release()
			j.shared = 0
			return false
		}
	}
	l.s.stats.SharedTokens += uint64(j.shared)
	l.running = append(l.running, j)
	return true
}

// waitsForPrefix reports whether a prompt in progress begins like the request, which then has less
// to compute once that prompt is done.
func (l *loop) waitsForPrefix(j *job) bool {
	if l.s.c.NoPrefixes || !j.shares() {
		return false
	}
	_, rows := l.prefixes.find(j.adapter, j.passage())
	for _, r := range l.running {
		if r.n == 0 && r.adapter == j.adapter && r.shares() && r.passage().until(len(r.Prompt)).common(j.passage()) >= rows+l.prefixes.step {
			return true
		}
	}
	return false
}

// drop ends the texts that their callers do not want any longer.
func (l *loop) drop() {
	for _, j := range slices.Clone(l.running) {
		if err := j.cancelled(); err != nil {
			j.end(FinishCancelled, Choice{Token: -1}, err)
			l.leave(j)
		}
	}
}

// leave removes a text that has ended from the running texts, and keeps its history.
func (l *loop) leave(j *job) {
	l.running = slices.DeleteFunc(l.running, func(r *job) bool { return r == j })
	if j.kept != nil && j.kept.history != nil {
		l.prefixes.drop(j.kept) // its history is the beginning of this one
	}
	if l.s.c.NoPrefixes || !j.shares() || j.history.Len() < l.prefixes.step {
		j.release()
		return
	}
	guess := j.guesses.history
	if l.mtp.layer != nil {
		guess = j.mtp.take()
	}
	l.keep(j.passage(), j.history, guess)
}

// prefixStep is the number of tokens after which a text gets another hash: texts that have fewer
// tokens in common do not find each other.
const prefixStep = 16

// mostPrefixes bounds how many histories are kept, whose tokens take memory too.
const mostPrefixes = 1 << 12

func (l *loop) keep(text passage, h, guess *transformer.History) *prefix {
	x := l.prefixes.add(text, h, guess)
	for l.prefixes.count > mostPrefixes || l.prefixes.count > 1 && l.s.pages.Used()+l.guess.used()+l.mtp.used() > l.memory {
		l.prefixes.dropOldest()
	}
	return x
}

// pass runs the step that is planned, and chooses what comes next.
func (l *loop) pass() {
	for {
		decoding, pieces, depth := l.lay()
		begin := time.Now()
		logits, err := l.stepper.Run(l.step)
		switch {
		case err == nil:
			took := time.Since(begin)
			l.pace.learn(took, decoding, pieces, depth)
			if pieces == 0 {
				l.guess.target.learn(float64(len(l.step.Tokens)), took.Seconds(), keepSteps)
				l.mtp.target = l.guess.target
			}
			l.s.mu.Lock()
			l.s.stats.Steps++
			l.s.stats.PromptTokens += uint64(pieces)
			l.s.mu.Unlock()
			l.choose(logits)
			l.mtp.follow(l.jobs, l.running, l.step.Batch, l.stepper.hidden, l.from)
			l.countPasses()
			return
		case errors.Is(err, fault.ErrMemory) && (l.prefixes.dropOldest() || l.preempt()):
		case len(l.jobs) > 1:
			l.passAlone()
			return
		default:
			l.fail(l.jobs[0], err)
			return
		}
		if len(l.jobs) == 0 {
			return
		}
	}
}

// countPasses counts those of the model's own layer.
func (l *loop) countPasses() {
	l.s.mu.Lock()
	l.s.stats.DraftSteps += l.mtp.passes
	l.s.mu.Unlock()
	l.mtp.passes = 0
}

// passAlone runs the pieces of a failed step one by one, so that only the text that is the cause
// fails.
func (l *loop) passAlone() {
	for _, j := range slices.Clone(l.jobs) {
		if j.history == nil {
			continue // taken out for the sake of one before
		}
		l.jobs = append(l.jobs[:0], j)
		l.pass()
	}
}

// preempt removes the text that arrived last from the step, to wait for memory; false if it is the
// only text.
func (l *loop) preempt() bool {
	if len(l.running) < 2 {
		return false
	}
	j := l.running[len(l.running)-1]
	l.running = l.running[:len(l.running)-1]
	l.jobs = slices.DeleteFunc(l.jobs, func(x *job) bool { return x == j })
	j.release()
	l.s.mu.Lock()
	l.s.queue = slices.Insert(l.s.queue, 0, j)
	l.s.stats.Preempted++
	l.s.mu.Unlock()
	return true
}

// fail ends a text with an error.
func (l *loop) fail(j *job, err error) {
	j.end(FinishFailed, Choice{Token: -1}, err)
	l.running = slices.DeleteFunc(l.running, func(r *job) bool { return r == j })
	j.release()
}

// choose chooses what comes next in each text of the step whose logits are there.
func (l *loop) choose(logits []float32) {
	vocab := l.s.c.Model.Vocab()
	var sum Stats // of this step
	for _, j := range l.jobs {
		before, rows := j.n, j.history.Len()-len(j.tokens)+1
		if rows < 1 {
			continue // more of the prompt is to come
		}
		proposed, accepted := j.piece[len(j.piece)-rows+1:], 0
		token, more := j.choose(logits[:vocab])
		for more && accepted < len(proposed) && token == proposed[accepted] {
			accepted++
			token, more = j.choose(logits[accepted*vocab : (accepted+1)*vocab])
		}
		logits = logits[rows*vocab:]
		if j.by != nil {
			j.by.learn(len(proposed), accepted)
			if j.by == &j.guesses.trust {
				l.guess.learn(len(proposed), accepted)
			} else if j.by == &j.mtp.trust {
				l.mtp.learn(len(proposed), accepted)
			}
		}
		l.settle(j, before, more)
		sum.Tokens += uint64(j.n - before)
		sum.DraftTokens += uint64(len(proposed))
		sum.AcceptedTokens += uint64(accepted)
		sum.ForcedTokens += uint64(j.forced)
	}
	l.s.mu.Lock()
	st := &l.s.stats
	st.Tokens += sum.Tokens
	st.DraftTokens += sum.DraftTokens
	st.AcceptedTokens += sum.AcceptedTokens
	st.ForcedTokens += sum.ForcedTokens
	l.s.mu.Unlock()
}

// settle takes back the rows of proposals that were not accepted, continues with tokens that must
// follow, keeps the history of a complete prompt, and ends a text that has no more tokens.
func (l *loop) settle(j *job, before int, more bool) {
	rows := len(j.tokens)
	if j.n > before {
		rows-- // the last token has not passed
	}
	if rows < j.history.Len() {
		if err := j.history.Truncate(rows); err != nil {
			l.fail(j, err)
			return
		}
	}
	j.guesses.truncate(rows)
	if j.forced = 0; more {
		more = j.force()
	}
	if !more {
		l.leave(j)
		return
	}
	if before == 0 && !l.s.c.NoPrefixes && j.shares() && j.history.Len() >= l.prefixes.step {
		if f, err := j.history.Fork(j.history.Len()); err == nil {
			j.kept = l.keep(j.passage(), f, nil)
		}
	}
}
