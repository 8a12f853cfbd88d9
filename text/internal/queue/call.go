// Calls of a pipeline, their texts, and the windows of the texts.

package queue

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Call is a call of a pipeline: its texts, how they are computed, and the function that takes their
// results.
type Call struct {
	Size     int                                           // the number of texts
	Text     func(i int) windows.Text                      // returns a text; not called after the call has ended
	Splitter windows.Splitter                              // makes windows of a text
	Between  func(*tokenizer.Encoding) *tokenizer.Encoding // changes each window; may be nil
	Check    func(*Input) error                            // refuses a text; may be nil
	Kind     int                                           // calls of a kind share batches
	Compute  Computation
	// Finish takes a text's results: one for each window, nil for windows without tokens. The
	// workspace owns them. Several goroutines call it.
	Finish func(in *Input, results [][]float32)

	next     int        // the first text that no page has taken
	encoding int        // the number of pages that are being tokenised
	pages    [][]window // windows that wait to be computed; those of a page from the longest to the shortest
	ready    int        // tokens in pages
	left     int        // the number of texts without results
	due      int        // the beginning of its next window on the clock: at first the time when it came, then later by its tokens for each call that waits
	begun    time.Time  // when the first of its windows was taken for a batch
	closed   int        // the turn in which it gives no more windows
	err      error
	at       int          // the text that err is about
	stop     atomic.Int64 // tokens of this text and later ones are not needed; below Size if no caller waits for results
	ended    bool
	done     chan struct{} // closed when it ends
}

// Computation computes a batch and hands out the result of each of its windows, after the last step
// that can fail. Results are valid only during the call of result.
type Computation func(ws *models.Workspace, in models.Tokens, result func(i int, x []float32)) error

// Begun returns, for a call that has ended, when the first batch with windows of it began; zero if
// there was no such batch.
func (c *Call) Begun() time.Time { return c.begun }

// over reports whether no caller waits for results.
func (c *Call) over() bool { return c.stop.Load() < int64(c.Size) }

// items is a call of Each.
type items struct {
	size    int
	compute func(ws *models.Workspace, i int) error

	next, running int   // the first item that has not begun; the number of items in progress
	err           error // of the first item that failed
	at            int   // its number
	ended         bool  // no further item begins
	done          chan struct{}
}

// Input is a text of a call with its windows: a long text has several, some of which may have no
// tokens.
type Input struct {
	windows.Text
	Number  int // in the call
	Windows []*tokenizer.Encoding

	results [][]float32  // if there are several windows
	left    atomic.Int32 // windows without results
}

// input makes the windows of a text.
func (c *Call) input(number int, text windows.Text) (*Input, error) {
	in := &Input{Text: text, Number: number}
	var err error
	if in.Windows, err = c.Splitter.Split(number, text); err != nil {
		return nil, err
	}
	if c.Between != nil {
		for i, w := range in.Windows {
			in.Windows[i] = c.Between(w)
		}
	}
	if c.Check != nil {
		if err := c.Check(in); err != nil {
			return nil, err
		}
	}
	for _, e := range in.Windows {
		if len(e.IDs) > 0 {
			in.left.Add(1)
		}
	}
	if len(in.Windows) > 1 {
		in.results = make([][]float32, len(in.Windows))
	}
	return in, nil
}

// window is a part of a text as the model takes it.
type window struct {
	call *Call
	in   *Input
	part int // its number in the text
}

func (w window) encoding() *tokenizer.Encoding { return w.in.Windows[w.part] }
func (w window) tokens() int                   { return len(w.encoding().IDs) }

// result takes the result of a window. It reports whether that finished the text.
func (w window) result(x []float32) bool {
	in, results := w.in, [][]float32{x}
	if len(in.Windows) > 1 {
		in.results[w.part] = slices.Clone(x)
		results = in.results
	}
	if in.left.Add(-1) > 0 {
		return false
	}
	w.call.Finish(in, results)
	return true
}

// panicked carries a panic to the call that it concerns.
type panicked struct{ value any }

func (*panicked) Error() string { return "panic" }

// caught returns f's error, or its panic.
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicked{v}
		}
	}()
	return f()
}
