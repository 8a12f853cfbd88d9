package models

import (
	"math"

	"github.com/avoformer/avoformer/transformer"
)

// relativeBias is added to the scores of a query and a key: a number for each head and
// bucket of distances, which grow with the distance (Raffel et al., 2020, section 2.1).
// The layers of a stack share it. T5 and MPNet have it.
type relativeBias struct {
	weight         []float32 // [buckets, heads]
	heads, buckets int
	maxDistance    int  // that and more are the last bucket
	bothWays       bool // half of the buckets are for keys behind the query
}

// bucket is that of a key which lies so many positions behind the query. Logarithms are
// rounded as float32, which decides at the borders of buckets.
func (r *relativeBias) bucket(behind int) int {
	buckets, first := r.buckets, 0
	if r.bothWays {
		buckets /= 2
		if behind > 0 {
			first = buckets
		}
		behind = max(behind, -behind)
	} else {
		behind = max(-behind, 0)
	}
	exact := buckets / 2
	if behind < exact {
		return first + behind
	}
	ratio := float32(math.Log(float64(float32(behind) / float32(exact))))
	large := exact + int(ratio/float32(math.Log(float64(r.maxDistance)/float64(exact)))*float32(buckets-exact))
	return first + min(large, buckets-1)
}

// mask is the bias for the rows of batch, which follow those in cache; nil without bias.
// It lies in memory of ws.
func (r *relativeBias) mask(ws *Workspace, batch Batch, cache *Cache) *transformer.Mask {
	if r == nil || batch.Len() == 0 {
		return nil
	}
	queries, keys, past, same := batch.MaxLength(), 0, 0, true
	for i := range batch.Len() {
		keys = max(keys, cache.Len(i)+batch.Length(i))
		past = max(past, cache.Len(i))
		same = same && cache.Len(i) == cache.Len(0)
	}
	sequences := 1 // where their queries have the same positions
	if !same {
		sequences = batch.Len()
	}
	first := -(past + queries - 1) // the smallest distance of a key behind a query
	buckets := make([]int, max(keys-first, 0))
	for i := range buckets {
		buckets[i] = r.bucket(first + i)
	}
	bias := ws.Alloc(sequences * r.heads * queries * keys) // [sequences, heads, queries, keys]
	for s := range sequences {
		for h := range r.heads {
			for q := range queries {
				row := bias[((s*r.heads+h)*queries+q)*keys:][:keys]
				for k, b := range buckets[-(cache.Len(s)+q)-first:][:keys] {
					row[k] = r.weight[b*r.heads+h]
				}
			}
		}
	}
	return transformer.AdditiveMask(bias, sequences, r.heads, queries, keys)
}
