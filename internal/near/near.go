// Package near finds what a misspelt word may have meant.
package near

import "strings"

// Closest returns the name that the fewest changed, missing, added or exchanged letters turn the
// given one into. Their number must be at most two and less than half of the letters; "" if there
// is no such name.
func Closest(word string, names []string) string {
	best, least := "", min(3, (len(word)+1)/2)
	for _, n := range names {
		if d := Distance(word, n); d < least || best == "" && strings.HasPrefix(n, word) && len(word) > 2 {
			best, least = n, min(d, least)
		}
	}
	return best
}

// Distance is that of Damerau and Levenshtein, of neighbours exchanged at most once (optimal string
// alignment).
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
