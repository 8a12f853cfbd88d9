// Batches: windows of several calls that are computed together.

package queue

import (
	"cmp"
	"slices"
	"time"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// batch has windows that are computed together, on some threads, and afterwards their outcomes.
type batch struct {
	queue   *Queue
	replica *Replica
	windows []window
	tokens  int
	threads int

	outcomes []outcome
}

// outcome is the outcome of a text whose computation has ended: it has all results, or an error.
type outcome struct {
	call *Call
	text int // its number in the call
	err  error
}

// takeBatch takes the next batch, for a replica that has free threads.
func (q *Queue) takeBatch(r *Replica) *batch {
	w := q.waits()
	threads, room := w.single(w.threads - q.used())
	if len(q.calls) > 1 {
		threads, room = w.shared()
	}
	b := &batch{queue: q, replica: r, threads: min(threads, r.Threads-r.used)}
	before := q.ready
	b.windows = q.fill(room, w.calls)
	b.tokens = before - q.ready
	r.used += b.threads
	return b
}

// fill takes windows for a batch of at most room tokens; waiting is the number of calls that wait.
// It takes them first from the call whose next window is due first, and then from other calls of
// its kind, the older of two first. A window is due at its end: its length after the tokens that
// had been computed when its call came. Short windows therefore go before long ones that came at
// about the same time, and no window waits long. A page gives its longest windows first.
func (q *Queue) fill(room, waiting int) []window {
	q.turn++
	var taken []window
	tokens, kind := 0, 0
	for {
		var c *Call
		end := 0
		for _, x := range q.calls {
			if len(x.pages) > 0 && x.closed != q.turn && (taken == nil || x.Kind == kind) {
				if e := x.due + x.pages[0][0].tokens(); c == nil || e < end {
					c, end = x, e
				}
			}
		}
		if c == nil {
			return taken
		}
		if taken == nil {
			kind = c.Kind
		}
		if c.begun.IsZero() {
			c.begun = time.Now()
		}
		w := c.pages[0][0]
		n := w.tokens()
		if taken != nil && tokens+n > room {
			c.closed = q.turn
			continue
		}
		taken = append(taken, w)
		tokens += n
		c.due, c.ready, q.ready = c.due+n*waiting, c.ready-n, q.ready-n
		if c.pages[0] = c.pages[0][1:]; len(c.pages[0]) == 0 {
			c.pages = c.pages[1:]
		}
	}
}

// do computes the windows.
func (b *batch) do(space func() *models.Workspace) {
	ws := space()
	ws.Threads = kernels.Threads(b.threads)
	if b.queue.Observe != nil {
		b.queue.Observe(len(b.windows), b.tokens)
	}
	b.compute(ws, b.windows)
}

// compute computes windows, and records the outcomes of their texts. If a batch of several calls
// fails, it computes each call's windows separately, so that only calls whose own windows fail get
// an error.
func (b *batch) compute(ws *models.Workspace, all []window) {
	ended, err := run(ws, all)
	if err == nil {
		b.outcomes = append(b.outcomes, ended...)
		return
	}
	first := all[0].call
	others := slices.DeleteFunc(slices.Clone(all), func(w window) bool { return w.call == first })
	if len(others) == 0 {
		b.outcomes = append(b.outcomes, outcome{first, 0, err})
		return
	}
	b.compute(ws, slices.DeleteFunc(all, func(w window) bool { return w.call != first }))
	b.compute(ws, others)
}

// settle finishes texts, or fails their calls.
func (b *batch) settle() {
	q, r := b.queue, b.replica
	r.used -= b.threads
	r.batches, r.tokens = r.batches+1, r.tokens+uint64(b.tokens)
	q.clock += b.tokens
	for _, o := range b.outcomes {
		if o.err != nil {
			q.fail(o.call, o.text, o.err)
		} else {
			q.finished(o.call, 1)
		}
	}
}

// run computes windows, and returns the outcome of each text that now has all its results, or
// failed. Every result of the pipelines that share a queue passes here: a result that is not finite
// fails its text.
func run(ws *models.Workspace, all []window) (ended []outcome, err error) {
	all = slices.DeleteFunc(slices.Clone(all), func(w window) bool { return w.call.over() })
	if len(all) == 0 {
		return nil, nil
	}
	encodings := make([]*tokenizer.Encoding, len(all))
	for i, w := range all {
		encodings[i] = w.encoding()
	}
	err = caught(func() error {
		defer ws.Release(ws.Mark())
		return all[0].call.Compute(ws, windows.Tokens(encodings), func(i int, x []float32) {
			w := all[i]
			if err := check.Finite(x); err != nil {
				ended = append(ended, outcome{w.call, w.in.Number, &InputError{w.in.Number, err}})
			} else if w.result(x) {
				ended = append(ended, outcome{w.call, w.in.Number, nil})
			}
		})
	})
	slices.SortStableFunc(ended, func(a, b outcome) int { return cmp.Compare(a.text, b.text) }) // if several texts fail, the first one counts
	return ended, err
}
