package generation

import (
	"context"
	"slices"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// This file has a request in progress in a scheduler.

// job is a request with what the loop knows of it.
type job struct {
	Request
	ctx     context.Context // of the caller
	stream  stream
	tokens  []int                // of the prompt and of the text so far
	soft    []softKey            // of the prompt
	whole   bool                 // each of these passes in one step
	history *transformer.History // of the first of them; nil: it waits
	n       int                  // tokens of the text
	shared  int                  // tokens whose history another text had
	kept    *prefix              // of the prompt
	forced  int                  // of the last tokens: those that were taken without logits
	piece   []int                // of tokens, or with proposals after the last one: what the next step has
	by      *trust               // in the source of the proposals; nil: there are none
	lookup  lookup
	spell   trust // in proposals of the constraint
	guesses guesses
	mtp     following
	adapter int   // beside the weights; 0: none
	failed  error // of the hook, the constraint or StopWhen, while a step was planned
}

func newJob(ctx context.Context, r Request, adapter int, soft []softKey, whole bool) *job {
	first := proposals{trust: trust{size: firstDraft}}
	return &job{Request: r, soft: soft, whole: whole, adapter: adapter, ctx: ctx, tokens: slices.Clone(r.Prompt), stream: stream{notify: make(chan struct{}, 1)},
		lookup: lookup{trust: first.trust}, spell: trust{size: mostTrust}, guesses: guesses{proposals: first}, mtp: following{proposals: first}}
}

// release gives back the histories.
func (j *job) release() {
	j.history.Release()
	j.history = nil
	j.guesses.release()
	j.mtp.release()
}

// left returns the number of tokens that must pass before the next one is chosen.
func (j *job) left() int { return len(j.tokens) - j.history.Len() }

// shares reports whether texts with the same beginning can share the history. With a memory they
// cannot, because the history depends on it.
func (j *job) shares() bool { return j.Memory == nil }

// recall returns the rows of the memory.
func (j *job) recall() int {
	if j.Memory == nil {
		return 0
	}
	return j.Memory.Batch.Rows()
}

// decodes reports whether the next token is chosen once the last one has passed, and those that
// followed from it.
func (j *job) decodes() bool { return j.n > 0 && j.left() <= 1+j.forced }

// next makes the piece of a text that decodes, of room tokens, with at most draft proposals.
func (j *job) next(room, draft int) {
	at := j.history.Len()
	j.piece, j.by = append(j.piece[:0], j.tokens[at:at+max(1, min(j.left(), room))]...), nil
	if draft = min(draft, room-j.left()); j.MaxTokens > 0 {
		draft = min(draft, j.MaxTokens-j.n-1)
	}
	if draft < 1 {
		return
	}
	known := len(j.piece)
	j.failed = guarded(func() error {
		j.piece = j.Sampler.propose(j.piece, j.spell.room(draft))
		return nil
	})
	if j.failed != nil {
		return
	}
	if len(j.piece) > known {
		j.by = &j.spell
	} else if j.piece = j.lookup.propose(j.piece, j.tokens, draft); len(j.piece) > known {
		j.by = &j.lookup.trust
	}
}

// cancelled returns why the caller does not want the text any longer, or nil if it does.
func (j *job) cancelled() error {
	switch {
	case j.ctx.Err() != nil:
		return context.Cause(j.ctx)
	case j.stream.left():
		return context.Canceled
	case j.Cancelled != nil:
		return j.Cancelled()
	}
	return nil
}

// end tells the caller that the text has ended.
func (j *job) end(why Finish, c Choice, err error) {
	j.stream.send(Next{Choice: c, Finish: why, Err: err, Shared: j.shared})
}

// choose chooses the next token after logits and tells the caller. more is false if the text has
// ended.
func (j *job) choose(logits []float32) (token int, more bool) {
	var c Choice
	err := guarded(func() (err error) {
		c, err = j.Sampler.Choose(logits)
		return err
	})
	if err != nil {
		j.end(FinishFailed, Choice{Token: -1}, err)
		return 0, false
	}
	return c.Token, j.take(c)
}

// mostForced is the most tokens that are taken at a time without logits.
const mostForced = 64

// force takes the tokens that must follow. more is false if the text has ended.
func (j *job) force() (more bool) {
	from := j.n
	defer func() { j.forced = j.n - from }()
	for j.n-from < mostForced {
		var token int
		var ok bool
		err := guarded(func() error {
			if token, ok = j.Sampler.forced(); ok {
				return j.Sampler.Accept(token)
			}
			return nil
		})
		if err != nil {
			j.end(FinishFailed, Choice{Token: -1}, err)
			return false
		}
		if !ok {
			break
		}
		if !j.take(Choice{Token: token}) {
			return false
		}
	}
	return true
}

// take continues with a token that was chosen, and tells the caller. more is false if the text has
// ended.
func (j *job) take(c Choice) (more bool) {
	none := Choice{Token: -1}
	if slices.Contains(j.Stop, c.Token) {
		j.end(FinishStop, c, nil)
		return false
	}
	j.stream.send(Next{Choice: c})
	j.tokens = append(j.tokens, c.Token)
	j.n++
	stop := false
	err := guarded(func() error {
		stop = j.StopWhen != nil && j.StopWhen(j.tokens[len(j.Prompt):])
		return nil
	})
	switch {
	case err != nil:
		j.end(FinishFailed, none, err)
		return false
	case stop:
		j.end(FinishStop, none, nil)
		return false
	case j.n == j.MaxTokens:
		j.end(FinishLength, none, nil)
		return false
	}
	return true
}

// fitting returns how many more tokens the piece takes in place of n: as many, unless the last of
// them would divide a Soft that passes as a whole. Then the Soft is in the piece if it fits in the
// room of the step or begins the piece.
func (j *job) fitting(n, room int) int {
	if !j.whole || n <= 0 {
		return n
	}
	at := j.history.Len() + len(j.piece)
	before, after := j.passage().around(at + n)
	if after-at <= room || before == at && len(j.piece) == 0 {
		return after - at
	}
	return before - at
}

// softRows appends those soft tokens of a text that are in its tokens [from, to), which begin at a
// row of the step.
func (j *job) softRows(soft []models.Soft, from, to, row, dim int) []models.Soft {
	for _, s := range j.Soft {
		first, last := max(s.At, from), min(s.At+len(s.X)/dim, to)
		if first < last {
			soft = append(soft, models.Soft{At: row + first - from, X: s.X[(first-s.At)*dim : (last-s.At)*dim], Across: s.Across, Before: s.Before + first - s.At})
		}
	}
	return soft
}

// passage returns the tokens of the prompt and of the text so far.
func (j *job) passage() passage { return passage{j.tokens, j.soft} }
