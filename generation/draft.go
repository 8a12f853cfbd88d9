package generation

// Proposals of the tokens that come next, looked up in the text itself: what followed when its last tokens were
// there before (Saxena 2023, "Prompt Lookup Decoding").

// draft is the places in a text where its pairs and triples of tokens ended last.
type draft struct {
	ends    map[[3]int]int // of pairs with -1 before them
	indexed int            // tokens
	// size is how many tokens are proposed at a time, and idle how many tokens to wait before the next proposal:
	// both follow what became of the last ones.
	size, idle, wait int
}

const (
	firstDraft  = 3
	longestIdle = 64
)

// propose appends to piece up to most tokens that may follow tokens.
func (d *draft) propose(piece, tokens []int, most int) []int {
	if d.ends == nil {
		d.ends, d.size = make(map[[3]int]int), firstDraft
	}
	n := len(tokens)
	// The last token is looked up before it is indexed, so that what is found came before.
	for ; d.indexed < n-1; d.indexed++ {
		if i := d.indexed; i >= 1 {
			d.ends[[3]int{-1, tokens[i-1], tokens[i]}] = i
		}
		if i := d.indexed; i >= 2 {
			d.ends[[3]int{tokens[i-2], tokens[i-1], tokens[i]}] = i
		}
	}
	if d.idle > 0 {
		d.idle--
		return piece
	}
	if n < 3 || most < 1 {
		return piece
	}
	at, ok := d.ends[[3]int{tokens[n-3], tokens[n-2], tokens[n-1]}]
	if !ok {
		if at, ok = d.ends[[3]int{-1, tokens[n-2], tokens[n-1]}]; !ok {
			return piece
		}
	}
	return append(piece, tokens[at+1:min(at+1+min(most, d.size), n)]...)
}

// learn takes in how many of the proposed tokens were accepted.
func (d *draft) learn(proposed, accepted int) {
	switch {
	case proposed == 0:
	case accepted == proposed:
		d.size, d.wait = min(2*d.size, 64), 0
	case accepted == 0:
		d.size = max(1, d.size/2)
		d.wait = min(max(1, 2*d.wait), longestIdle)
		d.idle = d.wait
	default:
		d.size, d.wait = max(1, accepted), 0
	}
}
