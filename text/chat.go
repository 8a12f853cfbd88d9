// Chats: messages become a prompt, and the model answers it.

package text

import (
	"context"
	"iter"
	"slices"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/chat"
)

// PromptOptions says how messages become a prompt, as the arguments of transformers'
// apply_chat_template do. The zero value takes the folder's template and ends the prompt where the
// assistant's answer begins.
type PromptOptions struct {
	// Tools are the tools that the model may call, and Documents the texts that it may quote: nil,
	// or anything whose JSON is an array of objects.
	Tools, Documents any
	// Template is the name of one of the folder's templates, or the Jinja of another; "" is the
	// folder's one, or of several the one named tool_use if there are Tools, else default.
	Template string
	// Continue is the field of the last message, such as "content", that the answer continues; ""
	// begins a message of the assistant.
	Continue string
	// NoGenerationPrompt ends the prompt after the last message.
	NoGenerationPrompt bool
	// Variables are further ones of the template, such as "enable_thinking". They hide the special
	// tokens that templates get by role.
	Variables map[string]any
	// Format describes how the model writes calls and reasoning; nil: as the template and the
	// vocabulary say. See [Generator.AnswerFormat].
	Format *answer.Format
	// Literal makes control tokens plain text in documents and in messages, with the names of their
	// fields, except those of the roles system, developer and assistant: what a user writes cannot
	// end a turn or begin one of another role. Control tokens are the special tokens of the
	// vocabulary, and others that the folder's templates write. The prompt has a mark after each
	// character with which one of them begins, which [Generator.ContinuePrompt] leaves out if
	// [GenerateOptions].Literal is set. Chat and Answer need one of the two.
	Literal bool
}

func (g *Generator) chatOptions(o *PromptOptions) chat.Options {
	out := chat.Options{Tools: o.Tools, Documents: o.Documents, Template: o.Template, Continue: o.Continue, NoGenerationPrompt: o.NoGenerationPrompt, Variables: o.Variables, Format: o.Format}
	if o.Literal {
		out.Literal = g.literal
	}
	return out
}

// Chat turns the messages into a prompt with the folder's template and yields the assistant's
// answer piece by piece. The last piece says why the answer ended, and has its counts. For tools
// and other options see [Generator.Answer]. [Collect] joins the pieces.
func (g *Generator) Chat(ctx context.Context, messages []Message, opts GenerateOptions) iter.Seq2[Piece, error] {
	prompt, err := g.Prompt(messages, PromptOptions{Literal: opts.Literal})
	if err != nil {
		return func(yield func(Piece, error) bool) { yield(Piece{}, err) }
	}
	return g.whole(ctx, g.idsOf(prompt, plainTokens, &opts), opts)
}

// Prompt returns the prompt that the template makes of messages: a []Message, or anything else
// whose JSON is an array of objects, such as a json.RawMessage, whose keys keep their order.
// [Generator.ContinuePrompt] takes the prompt. Errors match fault.ErrTemplate, fault.ErrInput for
// messages, or fault.ErrOption for options that are not possible.
//
// As in transformers, fields of a message that are null are left out; reasoning_content, thinking
// and reasoning are names for one thing, which templates find as reasoning_content and thinking;
// and tools and documents are None in the template if there are none. If a template has no place
// for tools, they become part of the system message, or of the first user message where the
// template has no system message; calls and their results become texts of the assistant and of the
// user. See [answer.Written]. ToolCalls of a []Message have their arguments as an object, as
// transformers passes them. For a template that fails with that, they are passed as text, with a
// content that is None or empty.
func (g *Generator) Prompt(messages any, opts PromptOptions) (string, error) {
	if list, ok := messages.([]Message); ok {
		all := make([]chat.Message, len(list))
		for i, m := range list {
			all[i] = chat.Message(m)
		}
		messages = all
	}
	return g.chats.Prompt(messages, g.chatOptions(&opts), g.hasToken)
}

// AnswerFormat describes how the model writes calls and reasoning in answers to prompts with these
// options: Format if it is given, else what [answer.Detect] finds from the template and the
// vocabulary. With Tools that the template has no place for, or calls in a way that is not known,
// calls are [answer.Written].
func (g *Generator) AnswerFormat(opts PromptOptions) answer.Format {
	return g.chats.Format(g.chatOptions(&opts), g.hasToken)
}

func (g *Generator) hasToken(token string) bool {
	_, ok := g.tokenizer.TokenID(token)
	return ok
}

// Parser takes apart the answer to a prompt that Prompt made with these options. The Tools and the
// Prompt of o, unless given, are those. Errors are [fault.ErrOption] and [fault.ErrTools].
func (g *Generator) Parser(prompt string, opts PromptOptions, o answer.Options) (*answer.Parser, error) {
	if o.Tools == nil {
		o.Tools = opts.Tools
	}
	if o.Prompt == "" {
		o.Prompt = prompt
	}
	return answer.NewParser(g.AnswerFormat(opts), o)
}

// Answer yields the assistant's answer to messages, as Prompt takes them, as events that separate
// its text, its reasoning and its calls of tools. The last event, answer.End, says why the answer
// ended and has its counts.
func (g *Generator) Answer(ctx context.Context, messages any, popts PromptOptions, opts GenerateOptions) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		popts, opts := popts, opts // which other iterations begin with, too
		opts.Literal = opts.Literal || popts.Literal
		popts.Literal = opts.Literal
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
		takeApart(g.whole(ctx, g.idsOf(prompt, plainTokens, &opts), opts), p, yield)
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

// Message is one of a chat's. Its JSON is an object, as OpenAI's API has messages.
type Message struct {
	Role    string // "system", "user", "assistant" or "tool", or what else the model's template knows
	Content string
	// Reasoning is the text that an assistant wrote before its answer to reason about it,
	// "reasoning_content".
	Reasoning string
	// ToolCalls are the calls of an assistant, "tool_calls". If the message has calls and no
	// content, content is null.
	ToolCalls []answer.Call
	// ToolCallID is the ID of the call that a tool's message answers, "tool_call_id".
	ToolCallID string
	// Fields are further ones, by their JSON names, such as "name". One with the name of another
	// field takes its place: a "content" that is a list of parts, or nil.
	Fields map[string]any
}

// Reply returns the assistant's message that an answer is.
func Reply(a answer.Answer) Message {
	return Message{Role: "assistant", Content: a.Content, Reasoning: a.Reasoning, ToolCalls: a.Calls}
}

// MarshalJSON writes role, content, and the other fields sorted by name.
func (m Message) MarshalJSON() ([]byte, error) { return chat.Message(m).MarshalJSON() }

// UnmarshalJSON keeps in Fields what the other fields cannot hold: calls among it that say more
// than ID, name and arguments.
func (m *Message) UnmarshalJSON(data []byte) error { return (*chat.Message)(m).UnmarshalJSON(data) }
