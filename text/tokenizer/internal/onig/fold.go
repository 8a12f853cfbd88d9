package onig

// Letters that match a ligature if case is ignored: ss matches ß.

// letters is a set of the ASCII letters that occur in ligatures.
type letters uint8

const (
	letterF letters = 1 << iota
	letterI
	letterL
	letterS
	letterT
)

func letter(r rune) letters {
	if r == 'ſ' {
		return letterS
	}
	return map[rune]letters{'f': letterF, 'i': letterI, 'l': letterL, 's': letterS, 't': letterT}[r|0x20]
}

// joins reports whether a letter of l and then a letter of next make a ligature.
func (l letters) joins(next letters) bool {
	return l&letterF != 0 && next&(letterF|letterI|letterL) != 0 || l&letterS != 0 && next&(letterS|letterT) != 0
}
