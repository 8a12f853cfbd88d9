package transformer

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/kernels"
)

// This file decides which experts of a mixture compute which rows, and with which weights.

var routed = newSlot[routes]()

// routes lists which rows go to which experts. The lists are reused.
type routes struct {
	picked []int32 // [rows, TopK]: experts
	ends   []int   // where the rows of each expert end, when they are sorted by experts
	rows   []int32 // the row at each place in that order
	places []int32 // [rows, TopK]: the place of what picked says
	b      []*kernels.PackedB
	bias   [][]float32
	// Of the mixture that is routing:
	of              *Mixture
	scores, weights []float32 // [rows, Experts], [rows, TopK]
	choice          []float32 // [rows, Experts], by which sigmoids are picked
}

// route picks the experts of each row, with their weights, and sorts the rows by them. It may
// overwrite the scores.
func (m *Mixture) route(ws *Workspace, r *routes, scores, weights []float32) {
	rows := len(scores) / m.Experts
	n := rows * m.TopK
	r.picked, r.rows, r.places = room(r.picked, n), room(r.rows, n), room(r.places, n)
	r.ends = room(r.ends, m.Experts)
	r.of, r.scores, r.weights = m, scores, weights
	if m.Sigmoid {
		defer ws.Release(ws.Mark())
		r.choice = ws.Alloc(len(scores)) // [rows, experts]
	}
	// A nanosecond or two for an expert, and an exponential, twice, for one that is picked.
	ws.Threads.Run(rows, rows*(2*m.Experts+40*m.TopK), r)
	r.of, r.scores, r.weights, r.choice = nil, nil, nil, nil
	clear(r.ends)
	for _, e := range r.picked {
		r.ends[e]++
	}
	begin := 0
	for e, count := range r.ends { // where those of each begin
		r.ends[e], begin = begin, begin+count
	}
	for i, e := range r.picked {
		at := r.ends[e] // which becomes where they end
		r.rows[at], r.places[i] = int32(i/m.TopK), int32(at)
		r.ends[e]++
	}
}

// Do picks the experts of the rows [from, to), and weighs them: a task of kernels.Threads.Run.
func (r *routes) Do(from, to int) {
	m := r.of
	for i := from; i < to; i++ {
		scores, picked := r.scores[i*m.Experts:(i+1)*m.Experts], r.picked[i*m.TopK:(i+1)*m.TopK]
		weights := r.weights[i*m.TopK : (i+1)*m.TopK]
		if m.Sigmoid {
			choice := r.choice[i*m.Experts : (i+1)*m.Experts]
			m.sigmoids(scores, choice)
			best(picked, choice)
			m.weighSigmoids(weights, scores, picked)
		} else {
			best(picked, scores)
			m.weigh(weights, scores, picked)
		}
		if m.ExpertScale != nil {
			for j, e := range picked {
				weights[j] *= m.ExpertScale[e]
			}
		}
		if m.Scale != 0 {
			for j := range weights {
				weights[j] *= m.Scale
			}
		}
	}
}

// sigmoids replaces the scores of a row by their sigmoids, and sets choice to the numbers that
// decide which experts are picked.
func (m *Mixture) sigmoids(scores, choice []float32) {
	for e, x := range scores {
		scores[e] = float32(1 / (1 + elementary.Exp(-float64(x))))
		if choice[e] = scores[e]; m.Correction != nil {
			choice[e] += m.Correction[e]
		}
	}
	if m.Groups == 0 || m.TopGroups == m.Groups {
		return
	}
	size, none := m.Experts/m.Groups, float32(math.Inf(-1))
	for range m.Groups - m.TopGroups { // the worst of the remaining groups has no experts; of equal ones the last
		worst, least := 0, float32(math.Inf(1))
		for g := range m.Groups {
			if sum := sumOfTwo(choice[g*size : (g+1)*size]); sum != none && sum <= least {
				worst, least = g, sum
			}
		}
		for e := range choice[worst*size : (worst+1)*size] {
			choice[worst*size+e] = none
		}
	}
}

// sumOfTwo returns the sum of the two largest elements of x.
func sumOfTwo(x []float32) float32 {
	var of [2]int32
	best(of[:], x)
	return x[of[0]] + x[of[1]]
}

// weighSigmoids computes the weights of a row's experts from the sigmoids of their scores.
func (m *Mixture) weighSigmoids(weights, sigmoids []float32, picked []int32) {
	sum := 1.0
	if m.Normalize {
		sum = float64(m.Epsilon)
		for _, e := range picked {
			sum += float64(sigmoids[e])
		}
	}
	for i, e := range picked {
		weights[i] = float32(float64(sigmoids[e]) / sum)
	}
}

// weigh computes the weights of a row's experts. It may overwrite the scores.
func (m *Mixture) weigh(weights, scores []float32, picked []int32) {
	if !m.Normalize {
		kernels.Softmax(scores, scores, 1, m.Experts)
		for i, e := range picked {
			weights[i] = scores[e]
		}
		return
	}
	top, sum := float64(scores[picked[0]]), 0.0 // the first is the best
	for _, e := range picked {
		sum += elementary.Exp(float64(scores[e]) - top)
	}
	for i, e := range picked {
		weights[i] = float32(elementary.Exp(float64(scores[e])-top) / sum)
	}
}

// best sets picked to the indexes of the largest scores, the largest first. Of equal scores, the
// first comes first.
func best(picked []int32, scores []float32) {
	n := 0
	for e, score := range scores {
		if n == len(picked) && !(score > scores[picked[n-1]]) {
			continue
		}
		n = min(n+1, len(picked))
		at := n - 1
		for ; at > 0 && score > scores[picked[at-1]]; at-- {
			picked[at] = picked[at-1]
		}
		picked[at] = int32(e)
	}
}
