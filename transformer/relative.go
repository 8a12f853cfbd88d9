package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// RelativeKind chooses how BERT's relative positions enter the scores.
type RelativeKind uint8

// The kinds, with the names that Hugging Face's position_embedding_type has.
const (
	NoRelative       RelativeKind = iota
	RelativeKey                   // "relative_key": q_i·e(i-j)
	RelativeKeyQuery              // "relative_key_query": q_i·e(i-j) + k_j·e(i-j)
)

// Relative is a table of learned relative positions (Shaw et al., 2018; Huang et al., 2020): row
// i-j+MaxPositions-1 belongs to a query at position i and a key at position j.
type Relative struct {
	Kind         RelativeKind
	MaxPositions int
	Weight       []float32 // [2*MaxPositions-1, head dim]
}

// check returns an error unless the table reaches the distances between queries at positions [past,
// past+lenQ) and keys at positions [0, lenK).
func (t *Relative) check(past, lenQ, lenK int) error {
	if t == nil || lenQ == 0 || lenK == 0 {
		return nil
	}
	if past+lenQ > t.MaxPositions || lenK-past > t.MaxPositions {
		return check.Errorf(fault.ErrTooLong, "%d positions, the table of relative positions has %d", max(past+lenQ, lenK), t.MaxPositions)
	}
	return nil
}
