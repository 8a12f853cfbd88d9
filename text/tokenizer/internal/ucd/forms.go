package ucd

// Normal forms of UAX #15. Each character of a form comes with its change to the number of
// characters: 0 replaces one, 1 is added, -n also removes n.

import (
	"sort"
	"sync"
)

// Change is a character of a normal form.
type Change struct {
	R rune
	N int
}

// Form is a normal form.
type Form struct {
	Flag       Props // a character without it stays, and no change reaches across it
	compatible bool
	compose    bool
}

// The normal forms.
var (
	FormC  = Form{NFC, false, true}
	FormD  = Form{NFD, false, false}
	FormKC = Form{NFKC, true, true}
	FormKD = Form{NFKD, true, false}
)

type forms struct {
	class                 map[rune]uint8
	canonical, compatible map[rune][]rune
	composite             map[[2]rune]rune
}

var formTables = sync.OnceValue(func() *forms {
	f := &forms{map[rune]uint8{}, map[rune][]rune{}, map[rune][]rune{}, map[[2]rune]rune{}}
	lines('c', func(n []rune) { f.class[n[0]] = uint8(n[1]) })
	lines('d', func(n []rune) { f.canonical[n[0]] = append([]rune(nil), n[1:]...) })
	lines('k', func(n []rune) { f.compatible[n[0]] = append([]rune(nil), n[1:]...) })
	lines('C', func(n []rune) { f.composite[[2]rune{n[0], n[1]}] = n[2] })
	return f
})

// Hangul syllables are composed by arithmetic (Unicode, section 3.12).
const (
	hangulS, hangulL, hangulV, hangulT = 0xAC00, 0x1100, 0x1161, 0x11A7
	countL, countV, countT             = 19, 21, 28
)

// Append appends the form of text, with the changes, to dst. Forms of two texts can be appended one
// after the other if the second text begins with a character without f.Flag: the result is the form
// of both together.
func (f Form) Append(dst []Change, text []rune) []Change {
	t := formTables()
	start := len(dst)
	for _, r := range text {
		dst = f.decompose(t, dst, r)
	}
	d := dst[start:]
	for i := 0; i < len(d); { // into canonical order
		if t.class[d[i].R] == 0 {
			i++
			continue
		}
		end := i + 1
		for end < len(d) && t.class[d[end].R] != 0 {
			end++
		}
		marks := d[i:end]
		if len(marks) > 1 {
			sort.SliceStable(marks, func(a, b int) bool { return t.class[marks[a].R] < t.class[marks[b].R] })
		}
		i = end
	}
	if f.compose {
		return append(dst[:start], t.compose(d)...)
	}
	return dst
}

func (f Form) decompose(t *forms, dst []Change, r rune) []Change {
	if r < 0x80 {
		return append(dst, Change{r, 0})
	}
	if s := r - hangulS; s >= 0 && s < countL*countV*countT {
		dst = append(dst, Change{hangulL + s/(countV*countT), 0}, Change{hangulV + s%(countV*countT)/countT, 1})
		if s%countT != 0 {
			dst = append(dst, Change{hangulT + s%countT, 1})
		}
		return dst
	}
	var to []rune
	if f.compatible {
		to = t.compatible[r]
	}
	if to == nil {
		to = t.canonical[r]
	}
	if to == nil {
		return append(dst, Change{r, 0})
	}
	for i, d := range to {
		dst = append(dst, Change{d, min(i, 1)})
	}
	return dst
}

// compose joins characters with the starter before them. The result overwrites d.
func (t *forms) compose(d []Change) []Change {
	out := d[:0]
	starter := -1    // index in out
	last := uint8(0) // class of the last mark that was kept after starter
	for _, c := range d {
		class := t.class[c.R]
		if starter < 0 {
			if class == 0 {
				starter = len(out)
			}
			out = append(out, c)
			continue
		}
		kept := len(out) - 1 - starter
		if kept == 0 || last != 0 && last < class {
			if r, ok := t.pair(out[starter].R, c.R); ok {
				out[starter] = Change{r, out[starter].N + c.N - 1}
				continue
			}
		}
		if class == 0 {
			starter, last = len(out), 0
		} else {
			last = class
		}
		out = append(out, c)
	}
	return out
}

func (t *forms) pair(a, b rune) (rune, bool) {
	switch {
	case a >= hangulL && a < hangulL+countL && b >= hangulV && b < hangulV+countV:
		return hangulS + ((a-hangulL)*countV+b-hangulV)*countT, true
	case a >= hangulS && a < hangulS+countL*countV*countT && (a-hangulS)%countT == 0 && b > hangulT && b < hangulT+countT:
		return a + b - hangulT, true
	}
	r, ok := t.composite[[2]rune{a, b}]
	return r, ok
}
