// This file converts messages to jobs.

package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
)

// Conversation is a conversation that an assistant answers.
type Conversation struct {
	Messages  []text.Message
	Tools     []Tool
	Calls     Calls
	Called    string // with MustCall, the name of the tool; "": any
	OneCall   bool
	Variables map[string]any // of the template
	Format    *Format        // of the content; nil: any

	Documents          json.RawMessage // that templates may quote; nil: none
	Continue           bool            // the last message is continued, in place of a new one
	NoGenerationPrompt bool            // the prompt ends after the last message
}

// Calls says whether the model may or must call tools.
type Calls int

// The model may call tools, must not, or must.
const (
	MayCall Calls = iota
	NeverCall
	MustCall
)

// Tool is a function that the model may call, with its JSON as received.
type Tool struct {
	Name       string
	Parameters json.RawMessage
	Strict     bool // calls must follow the parameters; otherwise the request is an error
	json.RawMessage
}

// UnmarshalJSON reads {"type": "function", "function": {"name": ..., "parameters": ...}}.
func (t *Tool) UnmarshalJSON(data []byte) error {
	var in struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
			Strict     *bool           `json:"strict"`
		} `json:"function"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return engine.Errorf(engine.Invalid, "a tool is not an object of the form {\"type\": \"function\", \"function\": {\"name\": ...}}").At("tools")
	}
	switch {
	case in.Type != "function" && in.Type != "":
		return engine.Errorf(engine.Invalid, "a tool of type %.50q, want function", in.Type).At("tools")
	case in.Function.Name == "":
		return engine.Errorf(engine.Invalid, "a tool without a name").At("tools")
	}
	strict := in.Function.Strict != nil && *in.Function.Strict
	*t = Tool{in.Function.Name, in.Function.Parameters, strict, append(json.RawMessage(nil), data...)}
	return nil
}

// Jobs returns the jobs of n answers to the conversation. It calls options for each job, to set the
// job's options.
func (q *Conversation) Jobs(g *engine.Generator, n int, options func(i int) text.GenerateOptions) ([]Job, error) {
	messages, images, err := plainMessages(q.Messages)
	if err != nil {
		return nil, err
	}
	if len(images) > 0 && !g.ReadsImages() {
		return nil, engine.Errorf(engine.Invalid, "%d images, the model takes text", len(images)).At("messages")
	}
	if most := g.MostImages(); len(images) > most {
		return nil, engine.Errorf(engine.TooLarge, "%d images, at most %d are possible in one request", len(images), most).At("messages")
	}
	popts := text.PromptOptions{Variables: q.Variables, NoGenerationPrompt: q.NoGenerationPrompt && !q.Continue, Literal: g.Literal()}
	if q.Continue {
		popts.Continue = "content"
	}
	if q.Documents != nil {
		popts.Documents = q.Documents
	}
	if len(q.Tools) > 0 && q.Calls != NeverCall {
		popts.Tools = q.Tools
	}
	format := g.AnswerFormat(popts)
	prompt, err := g.Prompt(messages, popts)
	if err != nil {
		return nil, engine.AsError(err).At("messages")
	}
	follow, opening := q.Format, ""
	if q.Calls == MustCall {
		if follow, opening, err = q.call(format); err != nil {
			return nil, err
		}
	}
	if follow != nil {
		prompt = closeThoughts(prompt, format)
	}
	jobs := make([]Job, n)
	for i := range jobs {
		p, err := g.Parser(prompt, popts, answer.Options{WholeCalls: true})
		if err != nil {
			return nil, engine.Errorf(engine.Invalid, "%v", err).At("tools")
		}
		o := options(i)
		o.Markers, o.Images, o.Literal = format.Markers(), images, popts.Literal
		jobs[i] = Job{Prompt: engine.Prompt{Text: prompt + opening, Made: true}, Options: o, Parser: p, OneCall: q.OneCall, Forced: q.Calls == MustCall, Opening: opening}
		jobs[i].Follow(follow)
	}
	return jobs, nil
}

// closeThoughts ends the reasoning that a prompt begins, for answers whose format has no place for
// it.
func closeThoughts(prompt string, f answer.Format) string {
	open := strings.TrimRight(prompt, " \n")
	if f.Think == "" || !strings.HasSuffix(open, f.Think) {
		return prompt
	}
	return open + "\n\n" + f.Unthink + "\n\n"
}

// call returns the format of an answer that is a call, and the beginning of the answer.
func (q *Conversation) call(f answer.Format) (*Format, string, error) {
	opening, arguments, ok := f.Opening()
	if !ok {
		return nil, "", engine.Errorf(engine.Invalid, "this model writes calls as %q, which cannot be forced: want tool_choice auto or none", f.Calls).At("tool_choice")
	}
	tools := q.Tools
	if q.Called != "" {
		tools = slices.DeleteFunc(slices.Clone(tools), func(t Tool) bool { return t.Name != q.Called })
	}
	if len(tools) == 0 {
		return nil, "", engine.Errorf(engine.Invalid, "tool_choice asks for %.100q, which is not one of the tools", q.Called).At("tool_choice")
	}
	format, err := callFormat(tools, arguments)
	if err != nil {
		return nil, "", engine.AsError(err).At("tools")
	}
	return format, opening, nil
}

// plainMessages returns messages in the form that templates accept, and the files of their images.
// Lists of texts are joined, images are without their data, and the role developer becomes system.
func plainMessages(messages []text.Message) (plain []text.Message, images [][]byte, err error) {
	if len(messages) == 0 {
		return nil, nil, engine.Errorf(engine.Empty, "there are no messages").At("messages")
	}
	out := make([]text.Message, len(messages))
	for i, m := range messages {
		if m.Role == "developer" {
			m.Role = "system"
		}
		if m.Role == "" {
			return nil, nil, engine.Errorf(engine.Invalid, "message %d has no role", i).At("messages")
		}
		parts, ok := m.Fields["content"].([]Part)
		if raw, isRaw := m.Fields["content"].(json.RawMessage); isRaw && string(raw) != "null" {
			if parts, err = readParts(raw); err != nil {
				return nil, nil, engine.Errorf(engine.Invalid, "message %d: %v", i, err).At("messages")
			}
			ok = true
		}
		if ok {
			fields := map[string]any{}
			for name, v := range m.Fields {
				if name != "content" {
					fields[name] = v
				}
			}
			m.Fields = fields
			if shown := files(parts); len(shown) > 0 {
				m.Fields["content"] = parts
				images = append(images, shown...)
			} else {
				m.Content = joined(parts)
			}
		}
		out[i] = m
	}
	return out, images, nil
}
