package generation

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
)

// Soft tokens in prompts. Their placeholders are equal whatever the vectors are, so that texts are compared by both.

// passage is tokens of which some are placeholders.
type passage struct {
	tokens []int
	soft   []softKey // in the order of their places
}

// softKey stands for the vectors of a Soft: those with the same digest are the same.
type softKey struct {
	at, rows int
	digest   [sha256.Size]byte
}

// key is that of soft tokens with dim features.
func key(s models.Soft, dim int) softKey {
	data := make([]byte, 0, 4*len(s.X))
	for _, v := range s.X {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return softKey{s.At, len(s.X) / dim, sha256.Sum256(data)}
}

// until is the first n tokens.
func (p passage) until(n int) passage {
	soft := p.soft
	for len(soft) > 0 && soft[len(soft)-1].at >= n {
		soft = soft[:len(soft)-1]
	}
	return passage{p.tokens[:n], soft}
}

// common is the number of tokens that both begin with. Vectors are equal as a whole or not at all: where they differ, or where only
// one of the two has some, nothing from their first placeholder on is common.
func (p passage) common(q passage) int {
	n := common(p.tokens, q.tokens)
	for i := range max(len(p.soft), len(q.soft)) {
		switch {
		case i >= len(p.soft):
			return min(n, q.soft[i].at)
		case i >= len(q.soft):
			return min(n, p.soft[i].at)
		case p.soft[i].at != q.soft[i].at, p.soft[i].rows != q.soft[i].rows, !bytes.Equal(p.soft[i].digest[:], q.soft[i].digest[:]):
			return min(n, p.soft[i].at, q.soft[i].at)
		}
	}
	return n
}

// checkSoft returns the keys of a request's soft tokens, or an error if the model cannot take them.
func (s *Scheduler) checkSoft(r *Request) ([]softKey, error) {
	if len(r.Soft) == 0 {
		return nil, nil
	}
	if _, ok := s.c.Model.(models.SoftReader); !ok || r.Memory != nil {
		return nil, check.Errorf(fault.ErrConfig, "the model takes no soft tokens")
	}
	dim, end := s.c.Model.Dim(), 0
	keys := make([]softKey, len(r.Soft))
	for i, soft := range r.Soft {
		rows := len(soft.X) / dim
		if rows == 0 || len(soft.X)%dim != 0 || soft.At < end || rows > len(r.Prompt) || soft.At > len(r.Prompt)-rows {
			return nil, check.Errorf(fault.ErrShape, "%d elements of soft tokens at token %d of %d, want rows of %d, one group after the other", len(soft.X), soft.At, len(r.Prompt), dim)
		}
		keys[i], end = key(soft, dim), soft.At+rows
	}
	return keys, nil
}

// softRows appends those soft tokens of a text that are in its tokens [from, to), which begin at a row of the step.
func (j *job) softRows(soft []models.Soft, from, to, row, dim int) []models.Soft {
	for _, s := range j.Soft {
		first, last := max(s.At, from), min(s.At+len(s.X)/dim, to)
		if first < last {
			soft = append(soft, models.Soft{At: row + first - from, X: s.X[(first-s.At)*dim : (last-s.At)*dim]})
		}
	}
	return soft
}

// passage is the tokens of the prompt and of the text so far.
func (j *job) passage() passage { return passage{j.tokens, j.soft} }
