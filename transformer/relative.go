package transformer

import "github.com/avoformer/avoformer/kernels"

// RelativeKind chooses how BERT's relative positions enter the scores.
type RelativeKind uint8

// The kinds, with the names that Hugging Face's position_embedding_type has.
const (
	NoRelative       RelativeKind = iota
	RelativeKey                   // "relative_key": q_i·e(i-j)
	RelativeKeyQuery              // "relative_key_query": q_i·e(i-j) + k_j·e(i-j)
)

// Relative is a table of learned relative positions (Shaw et al., 2018; Huang
// et al., 2020): row i-j+MaxPositions-1 belongs to a query at position i and a
// key at position j.
type Relative struct {
	Kind         RelativeKind
	MaxPositions int
	Weight       []float32 // [2*MaxPositions-1, head dim]
}

// keyTile is the number of keys whose relative terms are computed at a time.
const keyTile = 64

// add adds the relative terms of rows queries and cols keys to scores. The
// first query's position is delta more than the first key's. If same is set,
// all queries have that position, else they follow each other.
//
// Queries i and keys j of a tile need the vectors e(delta+i-j), which are
// consecutive rows of the table. So q·eᵀ for all of them is one product, whose
// diagonals are added to the scores.
func (t *Relative) add(ws *Workspace, scores []float32, rows, cols, delta, dim int, q []float32, qRow int, k []float32, kRow int, same bool) {
	defer ws.release(ws.mark())
	step := 1 // what the distance grows by from query to query
	if same {
		step = 0
	}
	span := step*(rows-1) + 1
	tile := min(keyTile, cols)
	width := span + tile - 1
	byQuery := ws.alloc(rows * width) // [rows, width]: q_i · e(d)
	byKey := ws.alloc(tile * width)   // [tile, width]: k_j · e(d)
	for j0 := 0; j0 < cols; j0 += keyTile {
		n := min(keyTile, cols-j0)
		width := span + n - 1
		// The smallest distance in the tile: query 0 and key j0+n-1.
		first := delta - (j0 + n - 1) + t.MaxPositions - 1
		e := t.Weight[first*dim:]
		kernels.Gemm(kernels.NoTrans, kernels.Trans, rows, width, dim, 1, q, qRow, e, dim, 0, byQuery, width)
		if t.Kind == RelativeKeyQuery {
			kernels.Gemm(kernels.NoTrans, kernels.Trans, n, width, dim, 1, k[j0*kRow:], kRow, e, dim, 0, byKey, width)
		}
		for i := range rows {
			s := scores[i*cols+j0 : i*cols+j0+n]
			for j := range s {
				d := step*i - j + n - 1
				s[j] += byQuery[i*width+d]
				if t.Kind == RelativeKeyQuery {
					s[j] += byKey[j*width+d]
				}
			}
		}
	}
}

// check returns an error unless the table reaches the distances between queries
// at positions [past, past+lenQ) and keys at positions [0, lenK).
func (t *Relative) check(past, lenQ, lenK int) error {
	if t == nil || lenQ == 0 || lenK == 0 {
		return nil
	}
	if past+lenQ > t.MaxPositions || lenK-past > t.MaxPositions {
		return errorf(ErrTooLong, "%d positions, the table of relative positions has %d", max(past+lenQ, lenK), t.MaxPositions)
	}
	return nil
}
