package kernels

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/row"
)

// RecurrenceParams are the arguments of Recurrence. Head h reads queries and keys of head
// h*KeyHeads/Heads, or, where Alternate is set, h%KeyHeads.
type RecurrenceParams struct {
	Rows             int
	Heads, KeyHeads  int // KeyHeads divides Heads
	KeyDim, ValueDim int // of a head
	Alternate        bool
	// Delta chooses the gated delta rule (Yang et al., 2024, "Gated Delta Networks"). Without it,
	// the recurrence is the scan of Mamba-2 (Dao and Gu, 2024, "Transformers are SSMs").
	Delta bool
	// From is the state before the rows and To the state after them, [Heads, KeyDim, ValueDim].
	// They may be the same slice.
	From, To []float32
	Q        []float32 // Rows rows of KeyHeads*KeyDim elements, LdQ apart
	LdQ      int
	K        []float32 // the same, LdK apart
	LdK      int
	V        []float32 // Rows rows of Heads*ValueDim elements, LdV apart
	LdV      int
	// Decay and Beta are [Rows, Heads].
	Decay, Beta []float32
	Dst         []float32 // Rows rows of Heads*ValueDim elements, LdDst apart; must not overlap the others
	LdDst       int
}

// Recurrence passes rows through a state. For each row in turn, in every head,
//
//	S = Decay*S
//	d = Beta*V, or with Delta: Beta*(V - K·S)
//	S = S + K⊗d
//	Dst = Q·S
//
// where sums go through KeyDim in order and are rounded once for each product, on every machine and
// for any number of rows and threads. If all operands are finite, the error of a sum of KeyDim
// products is within KeyDim*2^-24 times the sum of their magnitudes, plus KeyDim*2^-149.
func Recurrence(p RecurrenceParams) { Threads(1).Recurrence(p) }

// Recurrence is the function [Recurrence] on up to t threads.
func (t Threads) Recurrence(p RecurrenceParams) {
	const fn = "Recurrence"
	for _, size := range []struct {
		name string
		n    int
	}{{"Rows", p.Rows}, {"Heads", p.Heads}, {"KeyHeads", p.KeyHeads}, {"KeyDim", p.KeyDim}, {"ValueDim", p.ValueDim}} {
		mem.CheckSize(fn, size.name, size.n)
	}
	if p.KeyHeads == 0 && p.Heads > 0 || p.KeyHeads > 0 && p.Heads%p.KeyHeads != 0 {
		mem.PanicSize(fn, "KeyHeads", p.KeyHeads, fmt.Sprintf("want a divisor of Heads = %d", p.Heads))
	}
	keys, values := mem.MulLen(fn, p.KeyHeads, p.KeyDim), mem.MulLen(fn, p.Heads, p.ValueDim)
	state := mem.MulLen(fn, values, p.KeyDim)
	mem.CheckLen(fn, "From", len(p.From), state, "Heads*KeyDim*ValueDim")
	mem.CheckLen(fn, "To", len(p.To), state, "Heads*KeyDim*ValueDim")
	mem.CheckMatrix(fn, "Q", len(p.Q), p.Rows, keys, p.LdQ)
	mem.CheckMatrix(fn, "K", len(p.K), p.Rows, keys, p.LdK)
	mem.CheckMatrix(fn, "V", len(p.V), p.Rows, values, p.LdV)
	gates := mem.MulLen(fn, p.Rows, p.Heads)
	mem.CheckLen(fn, "Decay", len(p.Decay), gates, "Rows*Heads")
	mem.CheckLen(fn, "Beta", len(p.Beta), gates, "Rows*Heads")
	mem.CheckMatrix(fn, "Dst", len(p.Dst), p.Rows, values, p.LdDst)
	if values > 0 {
		row.Recurrence(int(t), row.State(p))
	}
}
