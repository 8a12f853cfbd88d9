// This file streams answers as events with names.

package anthropic

import (
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text/answer"
)

// writer sends an answer as events.
type writer struct {
	reply  reply
	made   chat.Blocks
	prompt func() (tokens int, err error)
}

// event is an event of a stream. The type decides which other fields it has.
type event struct {
	Type    string `json:"type"`
	Index   *int   `json:"index,omitempty"`
	Message *reply `json:"message,omitempty"`
	Block   *piece `json:"content_block,omitempty"`
	Delta   any    `json:"delta,omitempty"`
	Usage   *usage `json:"usage,omitempty"`
}

// delta is an addition to a content block.
type delta struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Thinking *string `json:"thinking,omitempty"`
	JSON     *string `json:"partial_json,omitempty"`
}

// ending has the last changes of the message.
type ending struct {
	Reason   *string `json:"stop_reason"`
	Sequence *string `json:"stop_sequence"`
}

func send(s *wire.Stream, e event) error { return s.Event(e.Type, e) }

// begin sends the first event. It counts the prompt only now, because the prompt's images have been
// decoded when there is an answer, and need not be decoded again.
func (w *writer) begin(s *wire.Stream) (err error) {
	if w.reply.Usage.Input, err = w.prompt(); err != nil {
		return err
	}
	return send(s, event{Type: "message_start", Message: &w.reply})
}

func (w *writer) next(s *wire.Stream, e chat.Event) error {
	err := w.made.Add(e, func(step chat.BlockStep, added string) error { return w.step(s, step, added) })
	if err != nil || e.Finish == generation.FinishNone {
		return err
	}
	var end ending
	end.Reason, end.Sequence = stopped(e, w.made.EndsWithCall())
	u := usageOf(e.Usage)
	return send(s, event{Type: "message_delta", Delta: end, Usage: &u})
}

// step sends a step of the last block.
func (w *writer) step(s *wire.Stream, step chat.BlockStep, added string) error {
	index := len(w.made.List) - 1
	last := &w.made.List[index]
	switch step {
	case chat.BlockBegins:
		p := newPiece(last)
		return send(s, event{Type: "content_block_start", Index: &index, Block: &p})
	case chat.BlockEnds:
		return send(s, event{Type: "content_block_stop", Index: &index})
	case chat.BlockGrows:
	}
	d := delta{Type: "text_delta", Text: &added}
	switch last.Kind {
	case answer.Reasoning:
		d = delta{Type: "thinking_delta", Thinking: &added}
	case answer.CallBegin:
		d = delta{Type: "input_json_delta", JSON: &added}
	}
	return send(s, event{Type: "content_block_delta", Index: &index, Delta: d})
}

func (w *writer) end(s *wire.Stream) error { return send(s, event{Type: "message_stop"}) }

// fail sends an error in place of the rest.
func (w *writer) fail(s *wire.Stream, e *engine.Error) error {
	f := failureOf(e)
	return s.Event(f.Type, f)
}
