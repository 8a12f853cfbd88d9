package generation

import (
	"context"
	"slices"

	"github.com/avoformer/avoformer/transformer"
)

// A request at work in a scheduler.

// job is a request with what the loop knows of it.
type job struct {
	Request
	ctx     context.Context // of the caller
	stream  stream
	tokens  []int                // of the prompt and of the text so far
	history *transformer.History // of the first of them; nil: it waits
	n       int                  // tokens of the text
	shared  int                  // tokens whose history another text had
	kept    *prefix              // of the prompt
	piece   []int                // of tokens, or with proposals after the last one: what the next step has
	draft   draft
}

func newJob(ctx context.Context, r Request) *job {
	return &job{Request: r, ctx: ctx, tokens: slices.Clone(r.Prompt), stream: stream{notify: make(chan struct{}, 1)}}
}

// left is the number of tokens that are to pass before the next one is chosen.
func (j *job) left() int { return len(j.tokens) - j.history.Len() }

// decodes reports whether the next token is chosen after one token more.
func (j *job) decodes() bool { return j.n > 0 && j.left() == 1 }

// cancelled is why nobody wants the text any more, nil if somebody does.
func (j *job) cancelled() error {
	switch {
	case j.ctx.Err() != nil:
		return context.Cause(j.ctx)
	case j.Context != nil && j.Context.Err() != nil:
		return context.Cause(j.Context)
	case j.stream.left():
		return context.Canceled
	}
	return nil
}

// end tells the caller that the text has ended.
func (j *job) end(why Finish, c Choice, err error) {
	j.stream.send(Next{Choice: c, Finish: why, Err: err, Shared: j.shared})
}

// choose chooses the next token after logits and tells the caller. more is false if the text has ended.
func (j *job) choose(logits []float32) (token int, more bool) {
	none := Choice{Token: -1}
	c, err := j.Sampler.Choose(logits)
	switch {
	case err != nil:
		j.end(FinishFailed, none, err)
		return 0, false
	case slices.Contains(j.Stop, c.Token):
		j.end(FinishStop, c, nil)
		return 0, false
	}
	j.stream.send(Next{Choice: c})
	j.tokens = append(j.tokens, c.Token)
	j.n++
	switch {
	case j.StopWhen != nil && j.StopWhen(j.tokens[len(j.Prompt):]):
		j.end(FinishStop, none, nil)
		return c.Token, false
	case j.n == j.MaxTokens:
		j.end(FinishLength, none, nil)
		return c.Token, false
	}
	return c.Token, true
}
