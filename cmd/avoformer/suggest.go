// What a misspelt command or flag may have meant.

package main

import (
	"flag"
	"strings"
)

// closest is the name that fewest changed, missing, added or exchanged letters lead to, at most two and fewer than
// half of them; "" if there is none.
func closest(word string, names []string) string {
	best, least := "", min(3, (len(word)+1)/2)
	for _, n := range names {
		if d := distance(word, n); d < least || best == "" && strings.HasPrefix(n, word) && len(word) > 2 {
			best, least = n, min(d, least)
		}
	}
	return best
}

// distance is that of Damerau and Levenshtein, of neighbours exchanged at most once (optimal string alignment).
func distance(a, b string) int {
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

// meant is "; did you mean X?", or nothing.
func meant(prefix, word string, names []string) string {
	if n := closest(word, names); n != "" {
		return "; did you mean " + prefix + n + "?"
	}
	return ""
}

// meantFlag is that of an error of package flag about a flag that there is not.
func meantFlag(err error, f *flag.FlagSet) string {
	_, word, ok := strings.Cut(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	var names []string
	f.VisitAll(func(g *flag.Flag) { names = append(names, g.Name) })
	return meant("-", strings.TrimLeft(word, "-"), names)
}
