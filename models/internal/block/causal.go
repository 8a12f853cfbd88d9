package block

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Language models as encoders.

// languageModel makes hidden states of tokens, as models.LanguageModel does.
type languageModel interface {
	Dim() int
	Hidden(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, memory *transformer.Memory, cache *transformer.Cache) error
}

// CausalEncoder is a language model as an encoder, whose tokens see those in front of them.
type CausalEncoder struct{ Model languageModel }

// Dim returns the width of the hidden states.
func (e CausalEncoder) Dim() int { return e.Model.Dim() }

// PositionLimit returns that of the model; 0: any number.
func (e CausalEncoder) PositionLimit() int {
	if m, ok := e.Model.(interface{ PositionLimit() int }); ok {
		return m.PositionLimit()
	}
	return 0
}

// BothWays reports whether the model says that no token is hidden from those in front of it.
func (e CausalEncoder) BothWays() bool {
	m, ok := e.Model.(interface{ BothWays() bool })
	return ok && m.BothWays()
}

// Encode sets dst, [rows, Dim], to the hidden states.
func (e CausalEncoder) Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	if in.Types != nil {
		return check.Errorf(fault.ErrShape, "this model has no types of tokens")
	}
	return e.Model.Hidden(ws, dst, in.IDs, in.Batch, nil, nil)
}

// Projected is a decoder as an encoder whose hidden states are projected to another width.
type Projected struct {
	*Decoder
	Project *transformer.Linear
}

// Dim returns the width of the hidden states.
func (e *Projected) Dim() int { return e.Project.Out }

// Encode sets dst, [rows, Dim], to the hidden states after the projection.
func (e *Projected) Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(in.Batch.Rows() * e.Decoder.Dim()) // [rows, D]
	if err := (CausalEncoder{e.Decoder}).Encode(ws, x, in); err != nil {
		return err
	}
	return e.Project.Forward(ws, dst, x) // [rows, width of the projection]
}
