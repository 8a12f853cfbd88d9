package search

import (
	"cmp"
	"math"
	"slices"
)

// The best of many scores.

// candidate is a vector with its score.
type candidate struct {
	score float32
	id    int64
	at    int // its position
}

// compare orders candidates, the better first: by score, then id, then position. No two are equal.
func (a candidate) compare(b candidate) int {
	if a.score != b.score { // no NaN gets here
		return cmp.Compare(b.score, a.score)
	}
	if a.id != b.id {
		return cmp.Compare(a.id, b.id)
	}
	return cmp.Compare(a.at, b.at)
}

// top is the best k candidates, a heap with the worst of them at its root.
type top struct {
	k     int
	floor float32 // scores below it are not kept
	heap  []candidate
}

func (t *top) reset(k int) { t.k, t.floor, t.heap = k, float32(math.Inf(-1)), t.heap[:0] }

// take offers the scores of vectors from position at on that pass a sieve. ids are theirs, nil where these are the positions.
func (t *top) take(scores []float32, at int, ids []int64, by *sieve) {
	if len(t.heap) == t.k && !reaches(scores, t.floor) {
		return
	}
	for i, s := range scores {
		if s >= t.floor {
			id := int64(at + i)
			if ids != nil {
				id = ids[i]
			}
			if by.passes(at+i, id) {
				t.offer(candidate{s, id, at + i})
			}
		}
	}
}

// reaches reports whether any of the scores is at least floor: four at a time, as most are below.
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

func (t *top) offer(c candidate) {
	h := t.heap
	if len(h) < t.k {
		h = append(h, c)
		for i := len(h) - 1; i > 0; {
			parent := (i - 1) / 2
			if h[i].compare(h[parent]) < 0 {
				break
			}
			h[i], h[parent] = h[parent], h[i]
			i = parent
		}
		t.heap = h
		if len(h) == t.k {
			t.floor = h[0].score
		}
		return
	}
	if c.compare(h[0]) > 0 {
		return
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].compare(h[child]) > 0 {
			child++
		}
		if h[child].compare(c) < 0 {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = c
	t.floor = h[0].score
}

// best returns the k best of all tops, in order.
func best(k int, tops []*top) []candidate {
	var all []candidate
	for _, t := range tops {
		all = append(all, t.heap...)
	}
	slices.SortFunc(all, candidate.compare)
	return all[:min(k, len(all))]
}
