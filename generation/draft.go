package generation

// This file proposes the next tokens by look-up in the text itself: the tokens that followed when
// its last tokens occurred before (Saxena 2023, "Prompt Lookup Decoding"). The number of proposals
// depends on how many earlier ones were accepted.

// trust is the trust in a source of proposals: the number of tokens that it may propose at a time.
type trust struct {
	size int
	// idle returns how many times to wait before the next proposal; wait is the number before that.
	idle, wait int
}

const (
	firstDraft  = 3
	mostTrust   = 64
	longestIdle = 64
)

// room returns how many tokens, at most most, may be proposed now.
func (t *trust) room(most int) int {
	if t.idle > 0 {
		t.idle--
		return 0
	}
	return max(0, min(most, t.size))
}

// learn records how many of the proposed tokens were accepted.
func (t *trust) learn(proposed, accepted int) {
	switch {
	case proposed == 0:
	case accepted == proposed:
		t.size, t.wait = min(2*t.size, mostTrust), 0
	case accepted == 0:
		t.size = max(1, t.size/2)
		t.wait = min(max(1, 2*t.wait), longestIdle)
		t.idle = t.wait
	default:
		t.size, t.wait = max(1, accepted), 0
	}
}

// lookup is the places in a text where its pairs and triples of tokens ended last.
type lookup struct {
	trust
	ends    map[[3]int]int // of pairs with -1 before them
	indexed int            // tokens
}

// propose appends to piece up to most tokens that may follow tokens.
func (d *lookup) propose(piece, tokens []int, most int) []int {
	if d.ends == nil {
		d.ends = make(map[[3]int]int)
	}
	n := len(tokens)
	// The last token is looked up before it is indexed, to find only earlier places.
	for ; d.indexed < n-1; d.indexed++ {
		if i := d.indexed; i >= 1 {
			d.ends[[3]int{-1, tokens[i-1], tokens[i]}] = i
		}
		if i := d.indexed; i >= 2 {
			d.ends[[3]int{tokens[i-2], tokens[i-1], tokens[i]}] = i
		}
	}
	if most = d.room(most); n < 3 || most < 1 {
		return piece
	}
	at, ok := d.ends[[3]int{tokens[n-3], tokens[n-2], tokens[n-1]}]
	if !ok {
		if at, ok = d.ends[[3]int{-1, tokens[n-2], tokens[n-1]}]; !ok {
			return piece
		}
	}
	return append(piece, tokens[at+1:min(at+1+most, n)]...)
}
