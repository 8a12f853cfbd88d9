package generation

// Proposals of the tokens that come next: looked up in the text itself, what followed when its last tokens were there
// before (Saxena 2023, "Prompt Lookup Decoding"); how many are made follows what became of those before.

// trust is in a source of proposals: how many tokens it may propose at a time.
type trust struct {
	size int
	// idle is how many times to wait before the next proposal, after wait the time before.
	idle, wait int
}

const (
	firstDraft  = 3
	mostTrust   = 64
	longestIdle = 64
)

// room is how many tokens may be proposed now, of most.
func (t *trust) room(most int) int {
	if t.idle > 0 {
		t.idle--
		return 0
	}
	return max(0, min(most, t.size))
}

// learn takes in how many of the proposed tokens were accepted.
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
	// The last token is looked up before it is indexed, so that what is found came before.
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
