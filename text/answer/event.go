// Events, calls and answers.

package answer

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// Kind says what an event is.
type Kind int

const (
	// Text is text of the answer.
	Text Kind = iota
	// Reasoning is text that the model thought before its answer.
	Reasoning
	// CallBegin is a call whose name and ID are known.
	CallBegin
	// CallArguments is more of the text of a call's arguments.
	CallArguments
	// CallEnd is a call that is whole.
	CallEnd
	// CallBroken is that what began is not a call. Its text is all of it, and belongs to the
	// answer.
	CallBroken
	// End is the end of the answer: the last event when an answer is generated. A [Parser] does not
	// give it.
	End
)

func (k Kind) String() string {
	return [...]string{"text", "reasoning", "call begins", "arguments", "call ends", "call broken", "end"}[k]
}

// Event is a piece of an answer.
type Event struct {
	Kind Kind
	// Text is the piece: of the answer, the reasoning, or the arguments' JSON.
	Text string
	// Index counts the calls from 0. A broken one counts until it breaks.
	Index int
	// Call has its ID and Name from the beginning, and the Arguments at the end.
	Call Call
	// Finish says why the answer ended, Stop which of the stop strings ended it, if one did, and
	// Usage what was counted: in the event End.
	Finish generation.Finish
	Stop   string
	Usage  Usage
}

// Usage has the counts of a generated text.
type Usage struct {
	Prompt int           // tokens of the prompt
	Shared int           // of them: those that were not computed again, since a text before began with them
	Tokens int           // that were generated, the one that ended the text left out
	First  time.Duration // until the first token was there, or the end: the prompt, and what there was to wait for
	Rest   time.Duration // from then to the end
}

// Rate returns the number of tokens per second after the first token; 0 if there are no such
// tokens.
func (u Usage) Rate() float64 {
	if u.Tokens < 2 || u.Rest <= 0 {
		return 0
	}
	return float64(u.Tokens-1) / u.Rest.Seconds()
}

// Call is a call of a tool.
type Call struct {
	ID   string
	Name string
	// Arguments is the JSON of an object, as the model wrote it.
	Arguments string
}

// wire is a call in the API of servers, which has arguments as a string.
type wire struct {
	ID       string `json:"id,omitempty"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// MarshalJSON writes a call as OpenAI's API has it: {"id": ..., "type": "function", "function":
// {"name": ..., "arguments": ...}}, the arguments a string.
func (c Call) MarshalJSON() ([]byte, error) {
	w := wire{ID: c.ID, Type: "function"}
	w.Function.Name = c.Name
	var err error
	if w.Function.Arguments, err = json.Marshal(c.Arguments); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

var errNoCall = errors.New("answer: want a call of a function")

// UnmarshalJSON reads what MarshalJSON writes, and arguments that are an object.
func (c *Call) UnmarshalJSON(data []byte) error {
	var w wire
	if err := pyjson.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Type != "" && w.Type != "function" || w.Function.Name == "" {
		return errNoCall
	}
	*c = Call{ID: w.ID, Name: w.Function.Name}
	switch arguments := w.Function.Arguments; {
	case len(arguments) > 0 && arguments[0] == '"':
		return pyjson.Unmarshal(arguments, &c.Arguments)
	case len(arguments) > 0 && arguments[0] == '{':
		c.Arguments = string(arguments)
		return nil
	}
	return errNoCall
}

// Answer is a whole answer.
type Answer struct {
	Reasoning, Content string
	Calls              []Call
	// Finish says why an answer that was generated ended: generation.FinishStop where the model
	// ended it.
	Finish generation.Finish
	Usage  Usage
}

// Add adds what an event brings.
func (a *Answer) Add(e Event) {
	switch e.Kind {
	case Text, CallBroken:
		a.Content += e.Text
	case Reasoning:
		a.Reasoning += e.Text
	case CallEnd:
		a.Calls = append(a.Calls, e.Call)
	case End:
		a.Finish, a.Usage = e.Finish, e.Usage
	}
}
