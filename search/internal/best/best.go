// Package best collects the best of many scores, among the candidates that pass a sieve.
package best

import (
	"cmp"
	"math"
	"slices"
)

// Candidate is a vector or a text with its score.
type Candidate struct {
	Score float32
	ID    int64
	At    int // its position
}

// Compare orders candidates, the better first: by score, then id, then position. No two are equal.
func (a Candidate) Compare(b Candidate) int {
	if a.Score != b.Score { // scores are never NaN
		return cmp.Compare(b.Score, a.Score)
	}
	if a.ID != b.ID {
		return cmp.Compare(a.ID, b.ID)
	}
	return cmp.Compare(a.At, b.At)
}

// Heap has the best k candidates, with the worst of them at its root.
type Heap struct {
	k     int
	floor float32 // scores below it are not kept
	heap  []Candidate
}

// Reset makes the heap empty, for k candidates.
func (t *Heap) Reset(k int) { t.k, t.floor, t.heap = k, float32(math.Inf(-1)), t.heap[:0] }

// Take offers the scores of the vectors from position at on. ids has their ids, or is nil if ids
// are positions.
func (t *Heap) Take(scores []float32, at int, ids []int64, by *Sieve) {
	if len(t.heap) == t.k && !reaches(scores, t.floor) {
		return
	}
	for i, s := range scores {
		if s >= t.floor {
			id := int64(at + i)
			if ids != nil {
				id = ids[i]
			}
			t.Offer(Candidate{s, id, at + i}, by)
		}
	}
}

// reaches reports whether any of the scores is at least floor. It compares four at a time, because
// most scores are below.
func reaches(scores []float32, floor float32) bool {
	for ; len(scores) >= 4; scores = scores[4:] {
		if scores[0] >= floor || scores[1] >= floor || scores[2] >= floor || scores[3] >= floor {
			return true
		}
	}
	for _, s := range scores {
		if s >= floor {
			return true
		}
	}
	return false
}

// Offer adds a candidate if it passes a sieve and is among the best.
func (t *Heap) Offer(c Candidate, by *Sieve) {
	if !(c.Score >= t.floor) || !by.passes(c.At, c.ID) {
		return
	}
	h := t.heap
	if len(h) < t.k {
		h = append(h, c)
		for i := len(h) - 1; i > 0; {
			parent := (i - 1) / 2
			if h[i].Compare(h[parent]) < 0 {
				break
			}
			h[i], h[parent] = h[parent], h[i]
			i = parent
		}
		t.heap = h
		if len(h) == t.k {
			t.floor = h[0].Score
		}
		return
	}
	if c.Compare(h[0]) > 0 {
		return
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].Compare(h[child]) > 0 {
			child++
		}
		if h[child].Compare(c) < 0 {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = c
	t.floor = h[0].Score
}

// Of returns the k best of all heaps, in order.
func Of(k int, heaps []*Heap) []Candidate {
	var all []Candidate
	for _, t := range heaps {
		all = append(all, t.heap...)
	}
	slices.SortFunc(all, Candidate.Compare)
	return all[:min(k, len(all))]
}
