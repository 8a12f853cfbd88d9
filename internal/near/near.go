// Package near finds the name that a misspelt word may have meant.
package near

import "strings"

// Closest returns the name that is nearest to the given word: changed, missing, added or exchanged
// letters are counted. Their number must be at most two and less than half of the letters. Closest
// returns "" if there is no such name.
func Closest(word string, names []string) string {
	best, least := "", min(3, (len(word)+1)/2)
	for _, n := range names {
		if d := Distance(word, n); d < least || best == "" && strings.HasPrefix(n, word) && len(word) > 2 {
			best, least = n, min(d, least)
		}
	}
	return best
}

// Distance is the distance of Damerau and Levenshtein, where two neighbours are exchanged at most
// once (optimal string alignment).
func Distance(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
