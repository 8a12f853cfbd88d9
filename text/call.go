// Calls of a pipeline, their texts and windows, and how these are computed.

package text

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// call is one call of a pipeline.
type call struct {
	size     int                                           // the number of texts, at least 1
	source   func(i int) source                            // a text; the queue does not ask once the call has ended
	splitter splitter                                      // makes windows of a text
	check    func(*input) error                            // refuses a text; may be nil
	between  func(*tokenizer.Encoding) *tokenizer.Encoding // changes each window; may be nil
	kind     int                                           // calls of a kind share batches
	compute  computation                                   // nil: windows are not computed
	finish   func(in *input, results [][]float32)          // takes a text's results, one for each window; they are the workspace's

	next     int        // the first text that has not been tokenised, nor is being
	encoding int        // the number of pages that are being tokenised
	pages    [][]window // what waits to be computed; the windows of a page from the longest to the shortest
	ready    int        // tokens in pages
	left     int        // the number of texts without results
	due      int        // where its next window begins on the clock: when it came, then later by its tokens for each call that waits
	begun    time.Time  // when the first of its windows was taken for a batch
	closed   int        // the turn in which it gives no more windows
	err      error
	at       int          // the text that err is about
	stop     atomic.Int64 // the first text that nobody wants tokens of; below size once nobody waits for results
	ended    bool
	done     chan struct{} // closed when it ends
}

// computation computes a batch and hands out the result of each of its windows, once nothing can
// fail any more. Results are valid during the call of result only.
type computation func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error

// source is a text, a pair, or tokens.
type source struct {
	first, second string
	pair          bool
	ids           []int
}

// input is a text of a call with its windows: several of a long text, some of them without tokens.
type input struct {
	source
	number  int // among the call's texts
	windows []*tokenizer.Encoding
	results [][]float32  // of several windows
	left    atomic.Int32 // windows without results
}

// window is what the model gets of a text.
type window struct {
	call *call
	in   *input
	part int // its number among the text's windows
}

func (w window) encoding() *tokenizer.Encoding { return w.in.windows[w.part] }
func (w window) tokens() int                   { return len(w.encoding().IDs) }

// tokenise does the job of a page, and gives what remains to be done under the lock.
func (q *queue) tokenise(j *job) (settle func()) {
	c := j.call
	var page []window
	finished, tokens, at := 0, 0, 0
	err := caught(func() error {
		for i, s := range j.texts {
			if at = j.first + i; at >= int(c.stop.Load()) {
				return nil
			}
			in, err := c.input(at, s)
			if err != nil {
				return err
			}
			if in.left.Load() == 0 {
				c.finish(in, make([][]float32, len(in.windows)))
				finished++
				continue
			}
			for part := range in.windows {
				if w := (window{c, in, part}); w.tokens() > 0 {
					page = append(page, w)
					tokens += w.tokens()
				}
			}
		}
		slices.SortStableFunc(page, func(a, b window) int { return cmp.Compare(b.tokens(), a.tokens()) })
		return nil
	})
	return func() {
		q.tokenising -= j.bytes
		c.encoding--
		switch {
		case err != nil:
			q.fail(c, at, err)
		case c.err != nil && c.encoding == 0:
			q.end(c)
		case c.over():
		default:
			if len(page) > 0 {
				c.pages = append(c.pages, page)
				c.ready += tokens
				q.ready += tokens
			}
			q.finished(c, finished)
		}
	}
}

// input is a text with its windows.
func (c *call) input(number int, s source) (*input, error) {
	in := &input{source: s, number: number}
	var err error
	if in.windows, err = c.splitter.split(number, s); err != nil {
		return nil, err
	}
	if c.between != nil {
		for i, w := range in.windows {
			in.windows[i] = c.between(w)
		}
	}
	if c.check != nil {
		if err := c.check(in); err != nil {
			return nil, err
		}
	}
	if c.compute == nil {
		return in, nil
	}
	for _, e := range in.windows {
		if len(e.IDs) > 0 {
			in.left.Add(1)
		}
	}
	if len(in.windows) > 1 {
		in.results = make([][]float32, len(in.windows))
	}
	return in, nil
}

func (q *queue) finished(c *call, texts int) {
	if c.left -= texts; c.left == 0 {
		q.end(c)
	}
}

// compute does the job of a batch, and gives what remains to be done under the lock. Where a
// batch of several calls fails, each of them is computed alone, to fail alone.
func (q *queue) compute(ws *models.Workspace, batch []window) (settle func()) {
	ended, err := run(ws, batch)
	if err == nil {
		return func() {
			for _, e := range ended {
				if e.err != nil {
					q.fail(e.call, e.text, e.err)
				} else {
					q.finished(e.call, 1)
				}
			}
		}
	}
	first := batch[0].call
	others := slices.DeleteFunc(slices.Clone(batch), func(w window) bool { return w.call == first })
	if len(others) == 0 {
		return func() { q.fail(first, 0, err) }
	}
	own := slices.DeleteFunc(batch, func(w window) bool { return w.call != first })
	a, b := q.compute(ws, own), q.compute(ws, others)
	return func() { a(); b() }
}

// outcome is that of a text whose computation has ended: it has its results, or an error.
type outcome struct {
	call *call
	text int // its number among the call's
	err  error
}

// run computes a batch, and gives the outcome of each text that has all its results now, or failed. Every result of
// the pipelines that share a queue passes here: one that is not finite fails its text.
func run(ws *models.Workspace, batch []window) (ended []outcome, err error) {
	batch = slices.DeleteFunc(slices.Clone(batch), func(w window) bool { return w.call.over() })
	if len(batch) == 0 {
		return nil, nil
	}
	encodings := make([]*tokenizer.Encoding, len(batch))
	for i, w := range batch {
		encodings[i] = w.encoding()
	}
	err = caught(func() error {
		defer ws.Release(ws.Mark())
		return batch[0].call.compute(ws, tokensOf(encodings), func(i int, x []float32) {
			w := batch[i]
			if err := check.Finite(x); err != nil {
				ended = append(ended, outcome{w.call, w.in.number, &InputError{w.in.number, err}})
			} else if w.in.result(w.call, w.part, x) {
				ended = append(ended, outcome{w.call, w.in.number, nil})
			}
		})
	})
	slices.SortStableFunc(ended, func(a, b outcome) int { return cmp.Compare(a.text, b.text) }) // of several texts that fail the first counts
	return ended, err
}

// result takes the result of a window, and reports whether it was the last of the text.
func (in *input) result(c *call, part int, x []float32) bool {
	results := [][]float32{x}
	if len(in.windows) > 1 {
		in.results[part] = slices.Clone(x)
		results = in.results
	}
	if in.left.Add(-1) > 0 {
		return false
	}
	c.finish(in, results)
	return true
}

// panicked is a panic on its way to the call that it concerns.
type panicked struct{ value any }

func (*panicked) Error() string { return "panic" }

// caught is f's error, or its panic.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return f()
}
