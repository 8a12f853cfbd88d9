package generation

import (
	"cmp"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/avoformer/avoformer/transformer"
)

// What a scheduler does, step by step.

// loop is the state of a scheduler's goroutine.
type loop struct {
	s        *Scheduler
	stepper  Stepper
	running  []*job // in the order of their arrival
	prefixes *prefixes
	memory   int64 // that prefixes may make full
	pace     pace
	abort    atomic.Bool

	// Of the step that runs:
	step    Step
	jobs    []*job // with a piece in it
	lengths []int
}

func (l *loop) begin(s *Scheduler) {
	l.s = s
	l.stepper = Stepper{Model: s.c.Model, Workspace: &transformer.Workspace{Threads: s.c.Threads}}
	l.prefixes = newPrefixes(prefixStep)
	l.pace.stall = s.c.Stall
	if l.memory = s.c.Memory; l.memory == 0 {
		l.memory = 1 << 30
	}
}

// run works until there is nothing to do.
func (l *loop) run() {
	s := l.s
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

// end ends all texts, since the scheduler is closed at once. The lock is held.
func (l *loop) end() {
	for _, j := range append(l.s.queue, l.running...) {
		j.end(FinishFailed, Choice{Token: -1}, ErrClosed)
		if j.history != nil {
			j.history.Release()
		}
	}
	l.s.queue, l.running = nil, nil
}

// admit begins with requests of the queue, in their order. The lock is held.
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
			full = true // who came later has to wait too
			waiting = append(waiting, j)
		}
	}
	clear(s.queue[len(waiting):])
	s.queue = waiting
}

// start begins with a request, with the history of what its tokens begin with; false if it has to wait.
func (l *loop) start(j *job) bool {
	found, rows := l.prefixes.find(j.tokens)
	// One token at least is passed, for its logits.
	if rows = min(rows, len(j.tokens)-1); found != nil && rows > 0 {
		if h, err := found.history.Fork(rows); err == nil { // windows may have dropped rows
			j.history, j.shared = h, rows
		}
	}
	if j.history == nil {
		j.history = l.s.pages.New()
	}
	// A page more for each of the others, so that it is not taken out at once.
	for !l.s.pages.Fits(j.left() + len(l.running)*l.s.pages.Rows) {
		if !l.prefixes.dropOldest() {
			if len(l.running) == 0 {
				break // alone it fits or fails
			}
			j.history.Release()
			j.history, j.shared = nil, 0
			return false
		}
	}
	l.s.stats.SharedTokens += j.shared
	l.running = append(l.running, j)
	return true
}

// waitsForPrefix reports whether a prompt that is being computed begins as the request does, so that it has less
// to do once that is through.
func (l *loop) waitsForPrefix(j *job) bool {
	if l.s.c.NoPrefixes {
		return false
	}
	_, rows := l.prefixes.find(j.tokens)
	for _, r := range l.running {
		if r.n == 0 && common(r.Prompt, j.tokens) >= rows+l.prefixes.step {
			return true
		}
	}
	return false
}

// drop ends the texts that nobody wants any more.
func (l *loop) drop() {
	for _, j := range slices.Clone(l.running) {
		if err := j.cancelled(); err != nil {
			j.end(FinishCancelled, Choice{Token: -1}, err)
			l.leave(j)
		}
	}
}

// leave takes a text that has ended out of those that run, and keeps its history.
func (l *loop) leave(j *job) {
	l.running = slices.DeleteFunc(l.running, func(r *job) bool { return r == j })
	if j.kept != nil && j.kept.history != nil {
		l.prefixes.drop(j.kept) // its history is the beginning of this one
	}
	if l.s.c.NoPrefixes || j.history.Len() < l.prefixes.step {
		j.history.Release()
		return
	}
	l.keep(j.tokens, j.history)
}

// prefixStep is how many tokens a text has to have in common with another one for each time that it is found.
const prefixStep = 16

// mostPrefixes bounds how many histories are kept, whose tokens take memory too.
const mostPrefixes = 1 << 12

func (l *loop) keep(tokens []int, h *transformer.History) *prefix {
	x := l.prefixes.add(tokens, h)
	for l.prefixes.count > mostPrefixes || l.prefixes.count > 1 && l.s.pages.Used() > l.memory {
		l.prefixes.dropOldest()
	}
	return x
}

// plan forms the next step: a token of each text, with proposals, and as much of the prompts as the pace
// allows. It is false if there is nothing to do.
func (l *loop) plan() bool {
	l.jobs = l.jobs[:0]
	decoding := 0
	for _, j := range l.running {
		if j.decodes() {
			decoding++
		}
	}
	room := l.s.c.StepTokens
	for _, j := range l.running {
		if !j.decodes() {
			continue
		}
		j.piece = append(j.piece[:0], j.tokens[len(j.tokens)-1])
		if most := min(l.s.c.Draft, room/decoding-1); decoding <= draftedTexts && most > 0 {
			if j.MaxTokens > 0 {
				most = min(most, j.MaxTokens-j.n-1)
			}
			j.piece = j.draft.propose(j.piece, j.tokens, most)
		}
		l.jobs = append(l.jobs, j)
	}
	room = l.pace.room(decoding, max(room-decoding, leastPiece))
	prompts := len(l.jobs)
	for _, j := range l.running {
		if !j.decodes() {
			l.jobs = append(l.jobs, j)
		}
	}
	l.share(l.jobs[prompts:], room)
	l.jobs = slices.DeleteFunc(l.jobs, func(j *job) bool { return len(j.piece) == 0 })
	return len(l.jobs) > 0
}

// draftedTexts is the most texts for which tokens are proposed: the rows of more are not free.
const draftedTexts = 4

// share gives each prompt its piece of the room: half to the one that came first, the rest to the shortest, so
// that short ones do not wait for long ones, nor long ones for ever.
func (l *loop) share(prompts []*job, room int) {
	if len(prompts) == 0 {
		return
	}
	first := prompts[0]
	for _, j := range prompts {
		j.piece = j.piece[:0]
	}
	give := func(j *job, n int) {
		n = min(n, j.left()-len(j.piece))
		at := j.history.Len() + len(j.piece)
		j.piece = append(j.piece, j.tokens[at:at+n]...)
		room -= n
	}
	give(first, (room+1)/2)
	slices.SortStableFunc(prompts, func(a, b *job) int { return cmp.Compare(a.left(), b.left()) })
	for _, j := range prompts {
		give(j, room)
	}
}

// pass runs the step that is planned, and chooses what comes next.
func (l *loop) pass() {
	for {
		decoding, pieces := l.lay()
		begin := time.Now()
		logits, err := l.stepper.Run(l.step)
		switch {
		case err == nil:
			l.pace.learn(time.Since(begin), decoding, pieces)
			l.s.mu.Lock()
			l.s.stats.Steps++
			l.s.stats.PromptTokens += pieces
			l.s.mu.Unlock()
			l.choose(logits)
			return
		case errors.Is(err, transformer.ErrMemory) && (l.prefixes.dropOldest() || l.preempt()):
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

// lay makes the step of the pieces.
func (l *loop) lay() (decoding, pieces int) {
	st := &l.step
	st.Tokens, st.Past, st.Want, l.lengths = st.Tokens[:0], st.Past[:0], st.Want[:0], l.lengths[:0]
	for _, j := range l.jobs {
		from := len(st.Tokens)
		st.Tokens = append(st.Tokens, j.piece...)
		st.Past = append(st.Past, j.history)
		l.lengths = append(l.lengths, len(j.piece))
		switch {
		case j.decodes():
			decoding++
			for i := range j.piece {
				st.Want = append(st.Want, from+i)
			}
		case len(j.piece) == j.left():
			st.Want = append(st.Want, len(st.Tokens)-1)
			pieces += len(j.piece)
		default:
			pieces += len(j.piece)
		}
	}
	st.Batch = st.Batch.Reuse(l.lengths...)
	return decoding, pieces
}

// passAlone runs the pieces of a step that failed one by one, so that the text that is the cause fails alone.
func (l *loop) passAlone() {
	for _, j := range slices.Clone(l.jobs) {
		if j.history == nil {
			continue // taken out for the sake of one before
		}
		l.jobs = append(l.jobs[:0], j)
		l.pass()
	}
}

// preempt takes the text that came last out of the step, to wait until there is memory; false if it is the only one.
func (l *loop) preempt() bool {
	if len(l.running) < 2 {
		return false
	}
	j := l.running[len(l.running)-1]
	l.running = l.running[:len(l.running)-1]
	l.jobs = slices.DeleteFunc(l.jobs, func(x *job) bool { return x == j })
	j.history.Release()
	j.history = nil
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
	j.history.Release()
}

// choose chooses what comes next in each text of the step whose logits are there.
func (l *loop) choose(logits []float32) {
	vocab := l.s.c.Model.Vocab()
	generated, proposed, accepted := 0, 0, 0
	for i, j := range l.jobs {
		length, before := l.lengths[i], j.n
		if j.history.Len() < len(j.tokens) {
			continue // more of the prompt is to come
		}
		rows := 1
		if before > 0 && len(j.piece) > 1 && j.history.Len() > len(j.tokens) {
			rows = length
		}
		more := true
		for row := 0; row < rows && more; row++ {
			var token int
			token, more = j.choose(logits[row*vocab : (row+1)*vocab])
			if row+1 < rows && (!more || token != j.piece[row+1]) {
				break
			}
		}
		logits = logits[rows*vocab:]
		if rows > 1 {
			took := max(0, j.n-before-1)
			j.draft.learn(rows-1, took)
			proposed, accepted = proposed+rows-1, accepted+min(took, rows-1)
		}
		generated += j.n - before
		l.settle(j, before, more)
	}
	l.s.mu.Lock()
	l.s.stats.Tokens += generated
	l.s.stats.DraftTokens += proposed
	l.s.stats.AcceptedTokens += accepted
	l.s.mu.Unlock()
}

// settle takes back the rows of proposals that were not accepted, keeps the history of a prompt that is through,
// and ends a text without more.
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
	if !more {
		l.leave(j)
		return
	}
	if before == 0 && !l.s.c.NoPrefixes && j.history.Len() >= l.prefixes.step {
		if f, err := j.history.Fork(j.history.Len()); err == nil {
			j.kept = l.keep(j.tokens, f)
		}
	}
}
