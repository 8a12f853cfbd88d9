package generation

import (
	"slices"

	"github.com/avoformer/avoformer/internal/elementary"
)

// This file selects the best of many items, and computes the logarithm of a sum of exponentials.

func logSumExp(x []float32) float64 {
	top := float64(slices.Max(x))
	sum := 0.0
	for _, v := range x {
		sum += elementary.Exp(float64(v) - top)
	}
	return top + elementary.Log(sum)
}

// best keeps the k best of the items offered to it: those that come first in order, and of equal
// items those offered first. Most items are no better than k earlier ones, which one comparison
// shows; the rest are sorted k at a time.
type best[T any] struct {
	k     int
	order func(a, b T) int
	kept  []T // if full, the k best so far except for those that follow them, in order
	full  bool
}

func (b *best[T]) offer(x T) {
	if b.full && b.order(b.kept[b.k-1], x) <= 0 {
		return
	}
	if b.kept = append(b.kept, x); len(b.kept)-b.k >= b.k {
		b.sorted()
	}
}

// sorted returns the best items, in order.
func (b *best[T]) sorted() []T {
	slices.SortStableFunc(b.kept, b.order)
	b.kept = b.kept[:min(len(b.kept), b.k)]
	b.full = len(b.kept) == b.k
	return b.kept
}
