// Answers of chats, taken apart.

package text

import (
	"context"
	"iter"
	"slices"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/answer"
)

// AnswerFormat is how the model writes calls and reasoning in answers to prompts with
// these options: Format if it is given, else what [answer.Detect] finds from the template and the
// vocabulary. With Tools that the template has no place for, or calls in a way that is not known, calls are
// [answer.Written].
func (g *Generator) AnswerFormat(opts PromptOptions) answer.Format {
	if opts.Format != nil {
		return *opts.Format
	}
	t, err := g.chats.template(&opts)
	if err != nil {
		t = new(chatTemplate)
	}
	return t.format(opts.hasTools(), func(token string) bool {
		_, ok := g.tokenizer.TokenID(token)
		return ok
	})
}

// Parser takes apart the answer to a prompt that Prompt made with these options. The Tools
// and the Prompt of o, unless given, are those. Errors are [answer.ErrFormat] and
// [answer.ErrTools].
func (g *Generator) Parser(prompt string, opts PromptOptions, o answer.Options) (*answer.Parser, error) {
	if o.Tools == nil {
		o.Tools = opts.Tools
	}
	if o.Prompt == "" {
		o.Prompt = prompt
	}
	return answer.NewParser(g.AnswerFormat(opts), o)
}

// Answer yields the assistant's answer to messages, as Prompt takes them, in pieces that
// tell its text from its reasoning and from calls of the tools. The last one, answer.End, says why it ended and what was
// counted.
func (g *Generator) Answer(ctx context.Context, messages any, popts PromptOptions, opts GenerateOptions) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		prompt, err := g.Prompt(messages, popts)
		if err != nil {
			yield(answer.Event{}, err)
			return
		}
		p, err := g.Parser(prompt, popts, answer.Options{})
		if err != nil {
			yield(answer.Event{}, err)
			return
		}
		opts.Markers = append(slices.Clone(opts.Markers), g.AnswerFormat(popts).Markers()...)
		takeApart(g.whole(ctx, prompt, plainTokens, opts), p, yield)
	}
}

// takeApart yields what a parser makes of pieces, and the end.
func takeApart(pieces iter.Seq2[Piece, error], p *answer.Parser, yield func(answer.Event, error) bool) {
	all := func(events []answer.Event) bool {
		return !slices.ContainsFunc(events, func(e answer.Event) bool { return !yield(e, nil) })
	}
	for piece, err := range pieces {
		if err != nil {
			yield(answer.Event{}, err)
			return
		}
		if !all(p.Add(piece.Text)) {
			return
		}
		if piece.Finish != generation.FinishNone && !(all(p.End()) && yield(answer.Event{Kind: answer.End, Finish: piece.Finish, Stop: piece.Stop, Usage: piece.Usage}, nil)) {
			return
		}
	}
}
