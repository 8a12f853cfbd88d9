package generation

import (
	"cmp"
	"slices"
)

// This file plans the next step of a scheduler: which tokens of which texts it passes.

// plan forms the next step: a token of each text, with proposals, and as much of the prompts as the
// pace allows. It is false if there is nothing to do.
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
		draft := l.s.c.Draft
		if decoding > draftedTexts {
			draft = 0
		}
		j.next(room/decoding, draft)
		l.jobs = append(l.jobs, j)
	}
	l.failPlanned()
	if decoding <= draftedTexts {
		most := min(l.s.c.Draft, room/max(decoding, 1)-1)
		l.guess.propose(l, most)
		l.mtp.propose(l.jobs, most)
		l.failPlanned()
	}
	texts, passed := len(l.jobs), 0
	for _, j := range l.running {
		if !j.decodes() {
			l.jobs, passed = append(l.jobs, j), passed+j.history.Len()
		}
	}
	prompts := l.jobs[texts:]
	l.share(prompts, l.pace.room(decoding, len(prompts), max(room-decoding, leastPiece), passed/max(len(prompts), 1)))
	l.jobs = slices.DeleteFunc(l.jobs, func(j *job) bool { return len(j.piece) == 0 })
	slices.SortStableFunc(l.jobs, func(a, b *job) int { return cmp.Compare(a.adapter, b.adapter) }) // whose rows are multiplied together
	return len(l.jobs) > 0
}

// failPlanned ends the texts of the step that failed while it was planned.
func (l *loop) failPlanned() {
	for _, j := range l.jobs {
		if j.failed != nil {
			l.fail(j, j.failed)
		}
	}
	l.jobs = slices.DeleteFunc(l.jobs, func(j *job) bool { return j.failed != nil })
}

// draftedTexts is the largest number of texts for which tokens are proposed: with more texts the
// additional rows cost time.
const draftedTexts = 4

// share gives each prompt its piece of the room: half to the prompt that arrived first, the rest to
// the shortest ones. Short prompts then do not wait for long ones, and long ones do not wait
// forever.
func (l *loop) share(prompts []*job, room int) {
	if len(prompts) == 0 {
		return
	}
	first := prompts[0]
	for _, j := range prompts {
		j.piece = j.piece[:0]
	}
	give := func(j *job, n int) {
		n = j.fitting(max(min(n, j.left()-len(j.piece)), 0), room)
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

// lay makes the step from the pieces. depth is how many tokens come before those of pieces of
// prompts, on average.
func (l *loop) lay() (decoding, pieces, depth int) {
	st := &l.step
	st.Tokens, st.Past, st.Soft, st.Want, l.lengths = st.Tokens[:0], st.Past[:0], st.Soft[:0], st.Want[:0], l.lengths[:0]
	l.from = l.from[:0]
	dim := l.s.c.Model.Dim()
	for _, j := range l.jobs {
		from := len(st.Tokens)
		st.Tokens = append(st.Tokens, j.piece...)
		st.Soft = j.softRows(st.Soft, j.history.Len(), j.history.Len()+len(j.piece), from, dim)
		st.Past, l.from = append(st.Past, j.history), append(l.from, j.history.Len())
		l.lengths = append(l.lengths, len(j.piece))
		for row := from + j.left() - 1; row < len(st.Tokens); row++ { // none while more of the prompt is to come
			st.Want = append(st.Want, row)
		}
		if j.decodes() {
			decoding++
		} else {
			pieces, depth = pieces+len(j.piece), depth+len(j.piece)*j.history.Len()
		}
	}
	st.Batch = st.Batch.Reuse(l.lengths...)
	l.recall()
	return decoding, pieces, depth / max(pieces, 1)
}

// recall gives the step the memories of texts that begin. Other texts have theirs in their
// histories.
func (l *loop) recall() {
	m := &l.memories
	l.step.Memory, m.X, l.lengths = nil, m.X[:0], l.lengths[:0]
	for _, j := range l.jobs {
		rows := 0
		if j.Memory != nil && !j.history.Remembers() {
			m.X, rows = append(m.X, j.Memory.X...), j.recall() // [rows of all, width]
			l.step.Memory = m
		}
		l.lengths = append(l.lengths, rows)
	}
	m.Batch = m.Batch.Reuse(l.lengths...)
}
