package generation

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/avoformer/avoformer/models"
)

// This file compares prompts with soft tokens. Their placeholders are equal for any vectors: both
// must be compared.

// passage has tokens, some of which are placeholders.
type passage struct {
	tokens []int
	soft   []softKey // in the order of their places
}

// softKey stands for the vectors of a Soft: those with the same digest are the same.
type softKey struct {
	at, rows, across int
	digest           [sha256.Size]byte
}

// key returns the key of soft tokens with dim features.
func key(s models.Soft, dim int) softKey {
	data := make([]byte, 0, 4*len(s.X))
	for _, v := range s.X {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return softKey{s.At, len(s.X) / dim, s.Across, sha256.Sum256(data)}
}

// until returns the first n tokens.
func (p passage) until(n int) passage {
	soft := p.soft
	for len(soft) > 0 && soft[len(soft)-1].at >= n {
		soft = soft[:len(soft)-1]
	}
	return passage{p.tokens[:n], soft}
}

// around returns the last place up to n, and the first from n on, that is not between vectors of
// the same Soft.
func (p passage) around(n int) (before, after int) {
	for _, s := range p.soft {
		if s.at < n && n < s.at+s.rows {
			return s.at, s.at + s.rows
		}
	}
	return n, n
}

// common returns the number of tokens that both begin with. Vectors are compared as a whole: if
// they differ, or if only one of the two has them, nothing from their first placeholder on is
// common.
func (p passage) common(q passage) int {
	n := common(p.tokens, q.tokens)
	for i := range max(len(p.soft), len(q.soft)) {
		switch {
		case i >= len(p.soft):
			return min(n, q.soft[i].at)
		case i >= len(q.soft):
			return min(n, p.soft[i].at)
		case p.soft[i].at != q.soft[i].at, p.soft[i].rows != q.soft[i].rows, p.soft[i].across != q.soft[i].across, !bytes.Equal(p.soft[i].digest[:], q.soft[i].digest[:]):
			return min(n, p.soft[i].at, q.soft[i].at)
		}
	}
	return n
}

// common returns the number of tokens that both begin with.
func common(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
