package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/kernels/ref"
)

// recurrenceOf has random numbers for a recurrence, with some elements between rows.
func recurrenceOf(data func(n int) []float32, rows, heads, keyHeads, keyDim, valueDim int) RecurrenceParams {
	keys, values := keyHeads*keyDim, heads*valueDim
	p := RecurrenceParams{
		Rows: rows, Heads: heads, KeyHeads: keyHeads, KeyDim: keyDim, ValueDim: valueDim,
		From: data(values * keyDim), To: data(values * keyDim),
		Q: data(rows * (keys + 1)), LdQ: keys + 1, K: data(rows * (keys + 2)), LdK: keys + 2, V: data(rows * (values + 3)), LdV: values + 3,
		Decay: data(rows * heads), Beta: data(rows * heads), Dst: data(rows * (values + 4)), LdDst: values + 4,
	}
	for i, x := range p.Decay {
		p.Decay[i] = 1 / (1 + float32(x*x))
	}
	return p
}

// TestRecurrence compares with the definition, and expects the same bits for rows in pieces, for a
// state that is computed in place, and on threads.
func TestRecurrence(t *testing.T) {
	sizes := []struct{ rows, heads, keyHeads, keyDim, valueDim int }{
		{1, 1, 1, 1, 1}, {5, 2, 1, 3, 7}, {4, 4, 2, 8, 33}, {3, 6, 3, 5, 70}, {2, 2, 2, 128, 128}, {0, 1, 1, 2, 2}, {2, 3, 1, 0, 4}, {2, 2, 1, 4, 0}, {1, 1, 1, 5000, 9},
	}
	if race.Enabled {
		sizes = sizes[:4] // the definition takes long
	}
	eachConfiguration(t, func(t *testing.T) {
		for i, s := range sizes {
			for _, delta := range []bool{false, true} {
				r := rand.New(rand.NewPCG(7, uint64(i)))
				p := recurrenceOf(func(n int) []float32 { return randomSlice(r, n) }, s.rows, s.heads, s.keyHeads, s.keyDim, s.valueDim)
				p.Delta, p.Alternate = delta, i%2 == 0
				for j := range p.K {
					p.K[j] /= float32(math.Sqrt(float64(max(1, s.keyDim)))) // otherwise states grow
				}
				state, dst := recurred(p)
				from := slices.Clone(p.From)
				Recurrence(p)
				if !slices.Equal(p.From, from) {
					t.Fatalf("%+v: From is another", s)
				}
				near := func(what string, got float32, want float64) {
					t.Helper()
					if off := math.Abs(float64(got) - want); !(off <= 1e-5*float64(1+s.keyDim)) {
						t.Fatalf("%+v, delta %v: %s is %g, want %g", s, delta, what, got, want)
					}
				}
				for j, want := range state {
					near(fmt.Sprint("state ", j), p.To[j], want)
				}
				values := s.heads * s.valueDim
				for j, want := range dst {
					near(fmt.Sprint("dst ", j), p.Dst[j/values*p.LdDst+j%values], want)
				}
				again := p
				again.To, again.Dst = slices.Clone(from), slices.Clone(p.Dst)
				again.From = again.To
				for r := range s.rows {
					one := again
					one.Rows, one.Q, one.K, one.V, one.Dst = 1, again.Q[r*p.LdQ:], again.K[r*p.LdK:], again.V[r*p.LdV:], again.Dst[r*p.LdDst:]
					one.Decay, one.Beta = again.Decay[r*s.heads:][:s.heads], again.Beta[r*s.heads:][:s.heads]
					Threads(3).Recurrence(one)
				}
				if !slices.Equal(again.To, p.To) || !slices.Equal(again.Dst, p.Dst) {
					t.Fatalf("%+v, delta %v: rows one by one give other bits", s, delta)
				}
				again.From, again.To, again.Dst = from, slices.Clone(p.To), slices.Clone(p.Dst)
				clear(again.To)
				Threads(3).Recurrence(again)
				if !slices.Equal(again.To, p.To) || !slices.Equal(again.Dst, p.Dst) {
					t.Fatalf("%+v, delta %v: threads give other bits", s, delta)
				}
			}
		}
	})
}

// recurred returns the state and the results from the definition.
func recurred(p RecurrenceParams) (state, dst []float64) {
	wide := func(x []float32) (y []float64) {
		for _, v := range x {
			y = append(y, float64(v))
		}
		return y
	}
	state = wide(p.From)
	for r := range p.Rows {
		for h := range p.Heads {
			key := h * p.KeyHeads / p.Heads
			if p.Alternate {
				key = h % p.KeyHeads
			}
			dst = append(dst, ref.RecurrenceStep(state[h*p.KeyDim*p.ValueDim:][:p.KeyDim*p.ValueDim],
				wide(p.Q[r*p.LdQ+key*p.KeyDim:][:p.KeyDim]), wide(p.K[r*p.LdK+key*p.KeyDim:][:p.KeyDim]), wide(p.V[r*p.LdV+h*p.ValueDim:][:p.ValueDim]),
				float64(p.Decay[r*p.Heads+h]), float64(p.Beta[r*p.Heads+h]), p.Delta)...)
		}
	}
	return state, dst
}

func recurrenceAPI(threads Threads, size apiSize, data func(n int) []float32) (calls []call) {
	const heads, keyHeads, keyDim, valueDim = 4, 2, 8, 24
	right := recurrenceOf(data, size.m, heads, keyHeads, keyDim, valueDim)
	right.Delta = true
	bad := cat(sized("Rows", "Heads", "KeyHeads", "KeyDim", "ValueDim"), []badArg{
		{"KeyHeads", 0, "KeyHeads = 0, want a divisor of Heads = 4"},
		{"KeyHeads", 3, "KeyHeads = 3, want a divisor of Heads = 4"},
		{"From", right.From[1:], "len(From)"},
		{"To", right.To[1:], "len(To)"},
		{"Q", right.Q[:len(right.Q)-2], "len(Q)"},
		{"LdQ", keyHeads*keyDim - 1, "LdQ = "},
		{"K", right.K[:len(right.K)-3], "len(K)"},
		{"LdK", keyHeads*keyDim - 1, "LdK = "},
		{"V", right.V[:len(right.V)-4], "len(V)"},
		{"LdV", heads*valueDim - 1, "LdV = "},
		{"Decay", right.Decay[1:], "len(Decay)"},
		{"Beta", right.Beta[1:], "len(Beta)"},
		{"Dst", right.Dst[:len(right.Dst)-5], "len(Dst)"},
		{"LdDst", heads*valueDim - 1, "LdDst = "},
	})
	return append(calls, call{fn: Recurrence, name: "Recurrence", args: []any{right}, params: "p", bad: fields(right, bad)}.onThreads(threads))
}
