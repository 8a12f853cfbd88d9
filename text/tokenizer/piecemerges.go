package tokenizer

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// pieceMerges lists the pairs of normal pieces that make a piece, by descending score, then by the
// ids of the pair.
func pieceMerges(pieces []spmPiece) [][2]string {
	ids := make(map[string]int, len(pieces))
	order := make([]int, 0, len(pieces))
	for id, p := range pieces {
		if p.kind == pieceNormal {
			ids[p.text] = id
			order = append(order, id)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pieces[b].score, pieces[a].score) })
	var merges [][2]string
	type pair struct{ a, b int }
	var pairs []pair
	for _, id := range order {
		text := pieces[id].text
		if ids[text] != id {
			continue // another piece has the same text
		}
		pairs = pairs[:0]
		for i := 1; i < len(text) && i <= maxPiece; i++ {
			if !utf8.RuneStart(text[i]) {
				continue
			}
			a, okA := ids[text[:i]]
			if !okA {
				continue
			}
			if b, okB := ids[text[i:]]; okB {
				pairs = append(pairs, pair{a, b})
			}
		}
		slices.SortFunc(pairs, func(x, y pair) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
		for _, p := range pairs {
			merges = append(merges, [2]string{pieces[p.a].text, pieces[p.b].text})
		}
	}
	return merges
}

// maxPiece bounds the work for very long pieces.
const maxPiece = 1 << 12
