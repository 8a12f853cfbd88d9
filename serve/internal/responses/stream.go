// Responses in pieces, each an event with a name and a number.

package responses

import (
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text/answer"
)

// event is an event of a stream. The type decides which fields it has in addition to its type and
// number.
type event struct {
	Type     string     `json:"type"`
	Sequence int        `json:"sequence_number"`
	Response *response  `json:"response,omitempty"`
	Output   *int       `json:"output_index,omitempty"`
	Content  *int       `json:"content_index,omitempty"`
	ItemID   string     `json:"item_id,omitempty"`
	Item     *output    `json:"item,omitempty"`
	Part     *part      `json:"part,omitempty"`
	Delta    *string    `json:"delta,omitempty"`
	Text     *string    `json:"text,omitempty"`
	LogProbs []struct{} `json:"logprobs,omitzero"`
	Name     string     `json:"name,omitempty"`
	JSON     *string    `json:"arguments,omitempty"`
}

func (w *writer) send(s *wire.Stream, e event) error {
	e.Sequence = w.sequence
	w.sequence++
	return s.Event(e.Type, e)
}

// begin sends the response as it is before its first item.
func (w *writer) begin(s *wire.Stream) error {
	for _, name := range []string{"response.created", "response.in_progress"} {
		if err := w.send(s, event{Type: name, Response: &w.response}); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) next(s *wire.Stream, e chat.Event) error {
	err := w.add(e, func(step chat.BlockStep, added string) error { return w.step(s, step, added) })
	if err != nil || e.Finish == generation.FinishNone {
		return err
	}
	return w.send(s, event{Type: "response." + w.response.Status, Response: &w.response})
}

// end has nothing to send: the last event was the response itself.
func (w *writer) end(*wire.Stream) error { return nil }

// fail sends the response as one that failed.
func (w *writer) fail(s *wire.Stream, e *engine.Error) error {
	code := "server_error"
	if e.Kind == engine.Overloaded {
		code = "rate_limit_exceeded"
	}
	w.response.Status, w.response.Error = failed, &failure{code, e.Message}
	return w.send(s, event{Type: "response.failed", Response: &w.response})
}

// step sends what happens to the last item.
func (w *writer) step(s *wire.Stream, step chat.BlockStep, added string) error {
	i := len(w.made.List) - 1
	b, item := &w.made.List[i], &w.response.Output[i]
	call := b.Kind == answer.CallBegin
	all := func(events ...event) error {
		for _, e := range events {
			e.Output = &i
			if e.Item == nil {
				e.ItemID = item.ID
			}
			if e.Part != nil || e.Item == nil && !call {
				e.Content = new(int)
			}
			if e.Type == "response.output_text.delta" || e.Type == "response.output_text.done" {
				e.LogProbs = []struct{}{}
			}
			if err := w.send(s, e); err != nil {
				return err
			}
		}
		return nil
	}
	name := map[answer.Kind]string{answer.Text: "response.output_text", answer.Reasoning: "response.reasoning_text", answer.CallBegin: "response.function_call_arguments"}[b.Kind]
	switch step {
	case chat.BlockBegins:
		begun := event{Type: "response.output_item.added", Item: item}
		if call {
			return all(begun)
		}
		empty := partOf(b, "")
		return all(begun, event{Type: "response.content_part.added", Part: &empty})
	case chat.BlockGrows:
		return all(event{Type: name + ".delta", Delta: &added})
	default:
		ended := event{Type: "response.output_item.done", Item: item}
		if call {
			return all(event{Type: name + ".done", Name: item.Name, JSON: item.Arguments}, ended)
		}
		whole := &item.Content[0]
		return all(event{Type: name + ".done", Text: &whole.Text}, event{Type: "response.content_part.done", Part: whole}, ended)
	}
}
