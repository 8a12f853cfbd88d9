// This file computes the medians of the rounds.

package main

import (
	"maps"
	"slices"

	"github.com/avoformer/avoformer/bench/internal/interleave"
)

// line holds the speeds with a file and a number of texts, as medians over the rounds.
type line struct {
	file           string
	streams        int
	rounds         int
	ours, theirs   float64 // tokens per second
	share          float64 // share of the limit
	quotient, best float64 // ours divided by llama.cpp's, with this file, and with the file with which llama.cpp is fastest; 0: unknown
}

const oursName, theirsName = "ours", "llama.cpp"

// summary returns the lines of all files, in the order of their first rounds. A round of one side
// is compared with the other side's round of the same number.
func summary(rounds []round) (lines []line) {
	type key struct {
		file, by string
		streams  int
	}
	speeds, shares := map[key][]float64{}, map[key][]float64{}
	var files []string
	streams := map[int]bool{}
	for _, r := range rounds {
		if !slices.Contains(files, r.File) {
			files = append(files, r.File)
		}
		for n, speed := range r.Speed {
			k := key{r.File, r.By, n}
			speeds[k], streams[n] = append(speeds[k], speed), true
			if limit := r.Limit[n]; limit > 0 {
				shares[k] = append(shares[k], speed/limit)
			}
		}
	}
	for _, file := range files {
		for _, n := range slices.Sorted(maps.Keys(streams)) {
			ours, theirs := speeds[key{file, oursName, n}], speeds[key{file, theirsName, n}]
			if len(ours) == 0 && len(theirs) == 0 {
				continue
			}
			l := line{file: file, streams: n, rounds: max(len(ours), len(theirs)), ours: interleave.Median(ours), theirs: interleave.Median(theirs), share: interleave.Median(shares[key{file, oursName, n}])}
			l.quotient = interleave.MedianRatio(ours, theirs)
			for _, other := range files {
				if q := interleave.MedianRatio(ours, speeds[key{other, theirsName, n}]); q > 0 && (l.best == 0 || q < l.best) {
					l.best = q
				}
			}
			lines = append(lines, l)
		}
	}
	return lines
}
