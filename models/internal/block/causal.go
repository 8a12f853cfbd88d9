package block

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/transformer"
)

// Decoders as encoders.

// CausalEncoder is a decoder as an encoder, whose tokens see those in front of them.
type CausalEncoder struct{ *Decoder }

// BothWays says that no token is hidden from those in front of it.
func (e CausalEncoder) BothWays() bool {
	return !slices.ContainsFunc(e.Masks, func(m *transformer.Mask) bool { return m != nil })
}

func (e CausalEncoder) Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	return EncodeBy(e.Decoder, ws, dst, in)
}

// A stateMaker makes hidden states of tokens, as models.LanguageModel does.
type stateMaker interface {
	Hidden(ws *transformer.Workspace, dst []float32, tokens []int, batch transformer.Batch, memory *transformer.Memory, cache *transformer.Cache) error
}

// EncodeBy sets dst, [rows, D], to the hidden states that a language model makes of texts.
func EncodeBy(m stateMaker, ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	if in.Types != nil {
		return check.Errorf(fault.ErrShape, "this model has no types of tokens")
	}
	return m.Hidden(ws, dst, in.IDs, in.Batch, nil, nil) // [rows, D]
}

// Projected is a decoder as an encoder whose hidden states are projected to another width.
type Projected struct {
	*Decoder
	Project *transformer.Linear
}

// Dim returns the width of the hidden states.
func (e *Projected) Dim() int { return e.Project.Out }

// BothWays says that no token is hidden from those in front of it.
func (e *Projected) BothWays() bool { return CausalEncoder{e.Decoder}.BothWays() }

// Encode sets dst, [rows, Dim], to the hidden states after the projection.
func (e *Projected) Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(in.Batch.Rows() * e.Decoder.Dim()) // [rows, D]
	if err := (CausalEncoder{e.Decoder}).Encode(ws, x, in); err != nil {
		return err
	}
	return e.Project.Forward(ws, dst, x) // [rows, width of the projection]
}
