package ucd

// Sets of characters by Oniguruma's names, and letters without case.

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// names.txt is written by names.py, which describes its lines.
//
//go:embed names.txt
var names string

// Run is the characters from First to End, without End.
type Run struct{ First, End rune }

// Named returns the characters of a set, in ascending runs. As in Oniguruma, case, spaces, hyphens
// and underlines in the name do not matter. The name of a POSIX bracket begins with a colon.
func Named(name string) ([]Run, bool) {
	name = strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name))
	index := nameIndex()
	line, ok := index[name]
	if rest, posix := strings.CutPrefix(name, ":"); posix && !ok {
		line, ok = index[rest]
	}
	if !ok {
		return nil, false
	}
	var runs []Run
	at := rune(0)
	for _, field := range strings.Fields(line) {
		gap, length, _ := strings.Cut(field, "+")
		first := at + hex(gap)
		at = first + hex(length)
		runs = append(runs, Run{first, at})
	}
	return runs, true
}

func hex(s string) rune {
	v, _ := strconv.ParseUint(s, 16, 31)
	return rune(v)
}

// namesOf calls f with the rest of each line of a kind.
func namesOf(kind string, f func(line string)) {
	for line := range strings.SplitSeq(names, "\n") {
		if rest, ok := strings.CutPrefix(line, kind+" "); ok {
			f(rest)
		}
	}
}

var nameIndex = sync.OnceValue(func() map[string]string {
	index := map[string]string{}
	namesOf("n", func(line string) {
		all, runs, _ := strings.Cut(line, " ")
		for name := range strings.SplitSeq(all, ",") {
			index[name] = runs
		}
	})
	return index
})

// Cases returns, for each letter with other cases, the letters that it matches if case is ignored.
// It also returns the characters that match several letters then, and the letters in such matches.
var Cases = sync.OnceValues(func() (same map[rune][]rune, several map[rune]bool) {
	same, several = map[rune][]rune{}, map[rune]bool{}
	namesOf("f", func(line string) {
		var all []rune
		for field := range strings.FieldsSeq(line) {
			all = append(all, hex(field))
		}
		for _, r := range all {
			same[r] = all
		}
	})
	namesOf("m", func(line string) {
		for field := range strings.FieldsSeq(line) {
			several[hex(field)] = true
		}
	})
	return same, several
})
