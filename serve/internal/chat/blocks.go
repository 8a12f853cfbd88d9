// This file divides answers into blocks, for protocols that have such blocks.

package chat

import (
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text/answer"
)

// Block is a part of an answer of one kind: text, reasoning, or a call.
type Block struct {
	Kind answer.Kind // answer.Text, answer.Reasoning, or answer.CallBegin for a call
	Call answer.Call // its ID and Name
	text []byte
}

// Text returns the block's text or, for a call, the JSON of its arguments.
func (b *Block) Text() string { return string(b.text) }

// Blocks has the blocks of an answer, in their order.
type Blocks struct {
	List []Block
	open bool // the last block may still grow
}

// BlockStep is a step in the life of a block.
type BlockStep int

// The steps of a block, in their order.
const (
	BlockBegins BlockStep = iota
	BlockGrows
	BlockEnds
)

// Add adds the content of an event, and calls step for each change to the last content block, with
// the text that is added to it. step may be nil.
func (b *Blocks) Add(e Event, step func(s BlockStep, added string) error) error {
	if step == nil {
		step = func(BlockStep, string) error { return nil }
	}
	for _, part := range e.Parts {
		if err := b.part(part, step); err != nil {
			return err
		}
	}
	if e.Finish == generation.FinishNone {
		return nil
	}
	return b.end(step)
}

// EndsWithCall reports whether the last block is a call.
func (b *Blocks) EndsWithCall() bool {
	return len(b.List) > 0 && b.List[len(b.List)-1].Kind == answer.CallBegin
}

func (b *Blocks) part(part answer.Event, step func(BlockStep, string) error) error {
	switch part.Kind {
	case answer.CallBroken: // calls are added only when complete
		return nil
	case answer.CallEnd:
		return b.end(step)
	case answer.CallBegin:
		return b.begin(Block{Kind: part.Kind, Call: answer.Call{ID: part.Call.ID, Name: part.Call.Name}}, step)
	case answer.Text, answer.Reasoning:
		if !b.open || b.List[len(b.List)-1].Kind != part.Kind {
			if err := b.begin(Block{Kind: part.Kind}, step); err != nil {
				return err
			}
		}
	case answer.CallArguments:
	}
	last := &b.List[len(b.List)-1]
	last.text = append(last.text, part.Text...)
	return step(BlockGrows, part.Text)
}

func (b *Blocks) begin(one Block, step func(BlockStep, string) error) error {
	if err := b.end(step); err != nil {
		return err
	}
	b.List, b.open = append(b.List, one), true
	return step(BlockBegins, "")
}

func (b *Blocks) end(step func(BlockStep, string) error) error {
	if !b.open {
		return nil
	}
	b.open = false
	return step(BlockEnds, "")
}

// Job returns the job of one answer to the conversation.
func (q *Conversation) Job(g *engine.Generator, s *Sampling) (*Job, error) {
	options, err := s.Options(g)
	if err != nil {
		return nil, err
	}
	jobs, err := q.Jobs(g, 1, options)
	if err != nil {
		return nil, err
	}
	return &jobs[0], nil
}
