package generation

import (
	"math/rand/v2"
	"slices"
)

// This file has the tokens of a text, and the facts that rules need about them, updated token by
// token.

// history is the tokens of a prompt and of the text after it.
type history struct {
	tokens []int
	prompt int // of them

	// Those of tokens once each, in the order in which they came; place says where.
	distinct []seenToken
	place    map[int]int // nil: nobody asks
	repeats  *ngrams     // nil: nobody asks
}

// seenToken is a token of a text.
type seenToken struct {
	token     int
	times     int // it came
	generated int // times after the prompt
}

// newHistory returns the history of a prompt, for rules that may ask for its tokens or for what
// follows n-1 of them.
func newHistory(prompt []int, distinct bool, n int) *history {
	h := &history{prompt: len(prompt), tokens: make([]int, 0, len(prompt)+64)}
	if distinct {
		h.place = make(map[int]int, len(prompt))
	}
	if n > 1 {
		h.repeats = newNgrams(n)
	}
	for _, token := range prompt {
		h.push(token)
	}
	return h
}

// generated returns the number of tokens after the prompt.
func (h *history) generated() int { return len(h.tokens) - h.prompt }

func (h *history) push(token int) {
	h.tokens = append(h.tokens, token)
	if h.place != nil {
		at, ok := h.place[token]
		if !ok {
			at = len(h.distinct)
			h.place[token] = at
			h.distinct = append(h.distinct, seenToken{token: token})
		}
		s := &h.distinct[at]
		s.times++
		if len(h.tokens) > h.prompt {
			s.generated++
		}
	}
	if h.repeats != nil {
		h.repeats.push(h.tokens)
	}
}

// pop takes back the last token, which is not one of the prompt.
func (h *history) pop() {
	last := len(h.tokens) - 1
	token := h.tokens[last]
	if h.repeats != nil {
		h.repeats.pop(h.tokens)
	}
	if h.place != nil {
		s := &h.distinct[h.place[token]]
		s.times--
		s.generated--
		if s.times == 0 { // then it came last of all that are distinct
			delete(h.place, token)
			h.distinct = h.distinct[:len(h.distinct)-1]
		}
	}
	h.tokens = h.tokens[:last]
}

// become replaces the tokens after the prompt by text, from the first token that differs.
func (h *history) become(text []int) {
	same := 0
	for _, token := range h.tokens[h.prompt:] {
		if same == len(text) || text[same] != token {
			break
		}
		same++
	}
	for h.generated() > same {
		h.pop()
	}
	for _, token := range text[same:] {
		h.push(token)
	}
}

// ngrams finds what has followed n-1 tokens, by their hash. If the same token follows the same
// tokens in several places, it keeps only the first: a walk is as long as its result.
type ngrams struct {
	n      int // 2 at least
	seed   uint64
	latest map[uint64]int32 // the last place after tokens of a hash
	before []int32          // the place before that with the same hash, or noPlace, by place; notKept
}

const (
	noPlace = -1
	notKept = -2
)

func newNgrams(n int) *ngrams {
	return &ngrams{n: n, seed: rand.Uint64(), latest: map[uint64]int32{}} // nobody can choose tokens of one hash
}

func (g *ngrams) hash(tokens []int) uint64 {
	h := g.seed
	for _, t := range tokens {
		h = (h ^ uint64(t)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// push notes the last of tokens, which has not been noted.
func (g *ngrams) push(tokens []int) {
	at := len(tokens) - 1
	if at < g.n-1 {
		g.before = append(g.before, notKept)
		return
	}
	h := g.hash(tokens[at-g.n+1 : at])
	latest, ok := g.latest[h]
	if !ok {
		latest = noPlace
	}
	for p := latest; p != noPlace; p = g.before[p] {
		if slices.Equal(tokens[int(p)-g.n+1:p+1], tokens[at-g.n+1:]) {
			g.before = append(g.before, notKept)
			return
		}
	}
	g.before = append(g.before, latest)
	g.latest[h] = int32(at)
}

// pop forgets the last of tokens.
func (g *ngrams) pop(tokens []int) {
	at := len(tokens) - 1
	before := g.before[at]
	g.before = g.before[:at]
	if before == notKept {
		return
	}
	if h := g.hash(tokens[at-g.n+1 : at]); before == noPlace {
		delete(g.latest, h)
	} else {
		g.latest[h] = before
	}
}

// first returns the last place of source, whose tokens were noted, before which come the last n-1
// tokens of text, or none if that is negative; next is the one before that.
func (g *ngrams) first(source, text []int) int {
	if len(text) < g.n-1 {
		return noPlace
	}
	last := text[len(text)-(g.n-1):]
	at, ok := g.latest[g.hash(last)]
	if !ok {
		return noPlace
	}
	return g.matching(source, last, at)
}

func (g *ngrams) next(source, text []int, at int) int {
	return g.matching(source, text[len(text)-(g.n-1):], g.before[at])
}

// matching returns the first place from at on that last comes before, not another of its hash.
func (g *ngrams) matching(source, last []int, at int32) int {
	for at != noPlace && !slices.Equal(source[int(at)-g.n+1:at], last) {
		at = g.before[at]
	}
	return int(at)
}
