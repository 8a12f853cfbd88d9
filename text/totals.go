// What a pipeline has computed with since it was opened.

package text

import "sync/atomic"

// Totals is what all calls of a pipeline so far have computed with: those of texts that failed are not counted, nor are
// texts that are generated.
type Totals struct {
	Inputs int // texts, pairs and lists of tokens
	Tokens int
	Cut    int // inputs of which something was cut off since they had more than MaxTokens
	Split  int // inputs that were computed as several windows
}

type totals struct{ inputs, tokens, cut, split atomic.Int64 }

func (t *totals) add(n Counts) {
	t.inputs.Add(int64(len(n.Tokens)))
	t.tokens.Add(int64(n.Sum()))
	t.cut.Add(int64(n.CutInputs()))
	t.split.Add(int64(n.SplitInputs()))
}

// Totals tells what all calls of the pipeline have computed with, those that return no [Counts] too, such as
// EmbedDocuments. It is safe for concurrent use.
func (f *folder) Totals() Totals {
	t := &f.totals
	return Totals{int(t.inputs.Load()), int(t.tokens.Load()), int(t.cut.Load()), int(t.split.Load())}
}
