package search

import (
	"slices"

	"github.com/avoformer/avoformer/search/internal/best"
)

// RankConstant is the k of reciprocal rank fusion that the paper recommends.
const RankConstant = 60

// FuseRanks merges lists of hits, such as those of an index of vectors and one of words (package
// bm25), whose scores cannot be compared. The score of an id is the sum over the lists that have it
// of 1/(k + rank), where the first hit has rank 1: reciprocal rank fusion (Cormack et al., 2009,
// "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning Methods"). k is at
// least 0, and is usually [RankConstant]. If a list has an id more than once, only the first
// occurrence counts. The result has each id once, the best first, and of equal scores the smaller
// id first. Pass lists that are several times as long as the part of the result that you use.
func FuseRanks(k float64, lists ...[]Hit) []Hit {
	scores := map[int64]float64{}
	for _, list := range lists {
		seen := make(map[int64]bool, len(list))
		for i, h := range list {
			if !seen[h.ID] {
				seen[h.ID] = true
				scores[h.ID] += 1 / (k + float64(i+1))
			}
		}
	}
	all := make([]best.Candidate, 0, len(scores))
	for id, s := range scores {
		all = append(all, best.Candidate{Score: float32(s), ID: id})
	}
	slices.SortFunc(all, best.Candidate.Compare)
	hits := make([]Hit, len(all))
	for i, c := range all {
		hits[i] = Hit{c.ID, c.Score}
	}
	return hits
}
