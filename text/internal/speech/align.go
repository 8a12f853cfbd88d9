// This file computes the times of tokens from the cross-attention of a decoder.

package speech

import (
	"math"
	"slices"
)

// Weights has the weights with which heads attend to the hidden states of sound, [Heads, Tokens,
// Rows].
type Weights struct {
	Values              []float32
	Heads, Tokens, Rows int
}

// Times returns the row at which each token begins, for the tokens from index from on. Of all paths
// through the first rows of the weights along which neither tokens nor rows go back, it takes the
// one with the largest sum. As in transformers' generate with return_token_timestamps, the weights
// of a head are first standardized over the tokens, and each is then replaced by the median of the
// width weights around it in its row. width is odd.
func (w Weights) Times(from, rows, width int) []int {
	rows, tokens := max(min(rows, w.Rows), 0), w.Tokens-from
	likely := make([]float64, tokens*rows) // the mean of the heads
	matrix, filtered := make([]float64, tokens*rows), make([]float64, rows)
	for h := range w.Heads {
		for t := range tokens {
			for r, v := range w.Values[(h*w.Tokens+from+t)*w.Rows:][:rows] {
				matrix[t*rows+r] = float64(v)
			}
		}
		standardize(matrix, tokens, rows)
		for t := range tokens {
			medians(filtered, matrix[t*rows:(t+1)*rows], width)
			for r, v := range filtered {
				likely[t*rows+r] += v / float64(w.Heads)
			}
		}
	}
	return warp(likely, tokens, rows)
}

// standardize shifts and scales each column of a matrix, [tokens, rows], to mean 0 and standard
// deviation 1. A column of equal values becomes 0.
func standardize(matrix []float64, tokens, rows int) {
	for r := range rows {
		sum := 0.0
		for t := range tokens {
			sum += matrix[t*rows+r]
		}
		mean, squares := sum/float64(tokens), 0.0
		for t := range tokens {
			d := matrix[t*rows+r] - mean
			squares += float64(d * d)
		}
		deviation := math.Sqrt(squares / float64(tokens))
		for t := range tokens {
			if matrix[t*rows+r] -= mean; deviation > 0 {
				matrix[t*rows+r] /= deviation
			}
		}
	}
}

// medians sets each element of dst to the median of the width elements around that of x, which is
// mirrored at both ends. Fewer elements than half of the width stay as they are.
func medians(dst, x []float64, width int) {
	half := width / 2
	if len(x) <= half {
		copy(dst, x)
		return
	}
	around := make([]float64, width)
	for i := range x {
		for j := range around {
			at := i + j - half
			if at < 0 {
				at = -at
			}
			if at >= len(x) {
				at = 2*(len(x)-1) - at
			}
			around[j] = x[at]
		}
		slices.Sort(around)
		dst[i] = around[half]
	}
}

// The steps of a path through a matrix: to the next token and row, to the next token, to the next
// row.
const (
	stepBoth = iota
	stepToken
	stepRow
)

// warp returns the first row of each token on the path with the largest sum from the first token
// and row to the last, by dynamic time warping. Costs are rounded to float32, as in transformers.
func warp(likely []float64, tokens, rows int) []int {
	steps := make([]uint8, tokens*rows)
	inf := float32(math.Inf(1))
	// cost has the costs up to the last token, shifted by one row; before the first token only the
	// beginning has a cost.
	cost, next := make([]float32, rows+1), make([]float32, rows+1)
	for r := range cost {
		cost[r] = inf
	}
	cost[0] = 0
	for t := range tokens {
		next[0] = inf
		for r := range rows {
			both, token, row := cost[r], cost[r+1], next[r]
			best, step := row, stepRow
			switch {
			case both < token && both < row:
				best, step = both, stepBoth
			case token < both && token < row:
				best, step = token, stepToken
			}
			next[r+1], steps[t*rows+r] = float32(float64(best)-likely[t*rows+r]), uint8(step)
		}
		cost, next = next, cost
	}
	first := make([]int, tokens)
	for t, r := tokens-1, rows-1; t >= 0 && r >= 0; {
		first[t] = r
		switch steps[t*rows+r] {
		case stepBoth:
			t, r = t-1, r-1
		case stepToken:
			t--
		default:
			r--
		}
	}
	return first
}
