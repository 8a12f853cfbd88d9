// Pages: the next texts of a call, which become windows of tokens.

package queue

import (
	"cmp"
	"math"
	"slices"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/windows"
)

// page has some texts of a call, and later their windows.
type page struct {
	queue   *Queue
	replica *Replica
	call    *Call
	first   int // the number of texts[0]
	texts   []windows.Text
	bytes   int

	windows  []window // from the longest to the shortest
	tokens   int      // of them
	finished int      // texts without a window to compute
	at       int      // the text that err is about
	err      error
}

// wanting returns the call whose texts are to be tokenised next, or nil. It is the call that is due
// first, if the next batch has room for more of it, or if too few tokens wait.
func (q *Queue) wanting() *Call {
	var idle, any *Call // due first of the calls with texts left: of those without a page in progress, and of all
	for _, c := range q.calls {
		if c.next == c.Size {
			continue
		}
		if c.encoding == 0 && (idle == nil || c.due < idle.due) {
			idle = c
		}
		if any == nil || c.due < any.due {
			any = c
		}
	}
	if idle != nil {
		before := 0
		for _, c := range q.calls {
			if c.due <= idle.due {
				before += c.ready
			}
		}
		if before < q.BatchTokens {
			return idle
		}
	}
	if q.ready < q.enough() {
		return any
	}
	return nil
}

// shortPage is the least number of bytes of a page's texts, if there are that many: a fraction of a
// millisecond.
const shortPage = 1 << 12

// takePage takes a call's next texts. If enough tokens wait, they belong to other calls, and it
// takes few texts: otherwise many calls would have many tokens waiting. It takes at most each
// thread's share of the texts, unless that is small.
func (q *Queue) takePage(r *Replica, c *Call) *page {
	most, longest := max(1<<16, 32*q.BatchTokens), math.MaxInt // bytes of a page; bytes of a text that count
	if q.ready >= q.enough() {
		most = q.BatchTokens
	}
	if n := c.Splitter.Longest(); n > 0 {
		longest = n
	}
	threads := q.threads()
	share := (c.Size + threads - 1) / threads
	p := &page{queue: q, replica: r, call: c, first: c.next}
	for cost := 0; c.next < c.Size && cost < most && (len(p.texts) < share || cost < shortPage); c.next++ {
		s := c.Text(c.next)
		n := len(s.First) + len(s.Second) + 4*len(s.IDs)
		cost += 16 + min(n, longest)
		p.bytes += n
		p.texts = append(p.texts, s)
	}
	c.encoding++
	q.tokenising += p.bytes
	r.used++
	return p
}

// do makes the windows.
func (p *page) do(func() *models.Workspace) {
	c := p.call
	p.err = caught(func() error {
		for i, s := range p.texts {
			if p.at = p.first + i; p.at >= int(c.stop.Load()) {
				return nil
			}
			in, err := c.input(p.at, s)
			if err != nil {
				return err
			}
			if in.left.Load() == 0 {
				c.Finish(in, make([][]float32, len(in.Windows)))
				p.finished++
				continue
			}
			for part := range in.Windows {
				if w := (window{c, in, part}); w.tokens() > 0 {
					p.windows = append(p.windows, w)
					p.tokens += w.tokens()
				}
			}
		}
		longestFirst(p.windows)
		return nil
	})
}

// settle makes the windows wait for a batch.
func (p *page) settle() {
	q, c := p.queue, p.call
	p.replica.used--
	q.tokenising -= p.bytes
	c.encoding--
	switch {
	case p.err != nil:
		q.fail(c, p.at, p.err)
	case c.err != nil && c.encoding == 0:
		q.end(c)
	case c.over():
	default:
		if len(p.windows) > 0 {
			c.add(p)
			c.ready += p.tokens
			q.ready += p.tokens
		}
		q.finished(c, p.finished)
	}
}

// add makes a page's windows wait. If few windows of the call wait, they become one page with the
// new ones, so that the longest of all go first.
func (c *Call) add(p *page) {
	last := len(c.pages) - 1
	if last < 0 || c.ready+p.tokens > p.queue.enough() {
		c.pages = append(c.pages, p.windows)
		return
	}
	c.pages[last] = append(c.pages[last], p.windows...)
	longestFirst(c.pages[last])
}

func longestFirst(all []window) {
	slices.SortStableFunc(all, func(a, b window) int { return cmp.Compare(b.tokens(), a.tokens()) })
}
