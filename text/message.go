// Messages of chats.

package text

import (
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/chat"
)

// Message is one of a chat's. Its JSON is an object, as OpenAI's API has messages.
type Message struct {
	Role    string // "system", "user", "assistant" or "tool", or what else the model's template knows
	Content string
	// Reasoning is what an assistant thought before its answer, "reasoning_content".
	Reasoning string
	// ToolCalls are the calls of an assistant, "tool_calls". Without content beside
	// them, content is null.
	ToolCalls []answer.Call
	// ToolCallID is the ID of the call that a tool's message answers, "tool_call_id".
	ToolCallID string
	// Fields are further ones, by their JSON names, such as "name". One with the name of
	// another field takes its place: a "content" that is a list of parts, or nil.
	Fields map[string]any
}

// Reply is the assistant's message that an answer is.
func Reply(a answer.Answer) Message {
	return Message{Role: "assistant", Content: a.Content, Reasoning: a.Reasoning, ToolCalls: a.Calls}
}

// MarshalJSON writes role, content, and the other fields sorted by name.
func (m Message) MarshalJSON() ([]byte, error) { return chat.Message(m).MarshalJSON() }

// UnmarshalJSON keeps in Fields what the other fields cannot hold: calls among it that say
// more than ID, name and arguments.
func (m *Message) UnmarshalJSON(data []byte) error { return (*chat.Message)(m).UnmarshalJSON(data) }
