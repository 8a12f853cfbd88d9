package tokenizer

// Unigram: the most probable segmentation of a piece (Kudo, 2018).

import (
	"fmt"
	"math"
	"sync"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

type unigram struct {
	*pieces
	unknown      int32 // -1 if there is none
	unknownScore float64
	bytes        *[256]uint32 // ids of the tokens for single bytes, or nil
	cache        *wordCache
}

// pieces are tokens with their scores.
type pieces struct {
	*vocabulary
	scores []float64
	trie   *trie
	lowest float64 // score of a token that can be found
}

// newUnigram takes tokens by id. A token with the score NaN is never found.
func newUnigram(tokens []string, scores []float64, unknown int32, byteFallback bool) (*unigram, error) {
	return newPieces(tokens, scores).unigram(unknown, byteFallback)
}

// newPieces takes tokens by id. A token with the score NaN is never found.
func newPieces(tokens []string, scores []float64) *pieces {
	p := &pieces{vocabulary: newVocabulary(len(tokens)), scores: scores, lowest: math.Inf(1)}
	entries := make([]trieEntry, 0, len(tokens))
	for i, t := range tokens {
		if math.IsNaN(scores[i]) {
			continue
		}
		p.lowest = min(p.lowest, scores[i])
		entries = append(entries, trieEntry{t, int32(i)})
	}
	var side sync.WaitGroup
	side.Go(func() { p.trie = newTrie(entries) }) // while this goroutine makes the table of ids
	for i, t := range tokens {
		p.setBytes(bytesOf(t), uint32(i))
	}
	side.Wait()
	return p
}

// unigram returns the model of the pieces, with the id of the unknown token.
func (p *pieces) unigram(unknown int32, byteFallback bool) (*unigram, error) {
	if unknown >= int32(len(p.scores)) {
		return nil, fmt.Errorf("%w: model.unk_id is %d with %d tokens", fault.ErrFormat, unknown, len(p.scores))
	}
	m := &unigram{pieces: p, unknown: unknown, unknownScore: p.lowest - 10, cache: newWordCache()}
	if byteFallback {
		m.bytes = byteTokens(m.vocabulary)
	}
	return m, nil
}

// byteTokens returns the ids of <0x00> to <0xFF>, with noID for tokens that are missing.
func byteTokens(v *vocabulary) *[256]uint32 {
	ids := new([256]uint32)
	for b := range ids {
		id, ok := v.id(fmt.Sprintf("<0x%02X>", b))
		if !ok {
			id = noID
		}
		ids[b] = id
	}
	return ids
}

// size counts a token that occurs twice as two.
func (m *unigram) size() int { return len(m.scores) }

func (m *unigram) tokenize(w *work, start, end int32) error {
	return m.cache.word(w, start, end, m.word)
}

func (m *unigram) word(w *work, start, end int32) error {
	text := w.text[start:end]
	if cap(w.lattice) <= len(text) {
		w.lattice = make([]latticeNode, len(text)+1, 2*len(text)+64)
	}
	best := w.lattice[:len(text)+1]
	for i := range best {
		best[i] = latticeNode{start: -1}
	}
	for at := 0; at < len(text); {
		size := 1
		if text[at] >= utf8.RuneSelf {
			_, size = utf8.DecodeRune(text[at:])
		}
		so := best[at].score
		single := false
		node := int32(trieRoot)
		for i := at; i < len(text); i++ {
			next, ok := m.trie.step(node, text[i])
			if !ok {
				break
			}
			node = next
			id := m.trie.nodes[node].id
			if id < 0 {
				continue
			}
			if n := &best[i+1]; n.start < 0 || m.scores[id]+so > n.score {
				*n = latticeNode{m.scores[id] + so, int32(at), id}
			}
			single = single || i+1-at == size
		}
		if !single {
			if n := &best[at+size]; n.start < 0 || m.unknownScore+so > n.score {
				if m.unknown < 0 {
					return errNoUnknown
				}
				*n = latticeNode{m.unknownScore + so, int32(at), m.unknown}
			}
		}
		at += size
	}
	m.backtrack(w, best, start)
	return nil
}

// backtrack appends the tokens of the best path.
func (m *unigram) backtrack(w *work, best []latticeNode, start int32) {
	first := len(w.tokens)
	for end := int32(len(best) - 1); end > 0; {
		n := best[end]
		if n.id != m.unknown {
			w.tokens = append(w.tokens, token{id: uint32(n.id), start: start + n.start, end: start + end})
			end = n.start
			continue
		}
		from := n.start // adjacent unknown characters are one token
		for from > 0 && best[from].id == m.unknown {
			from = best[from].start
		}
		m.fallback(w, start+from, start+end)
		end = from
	}
	made := w.tokens[first:]
	for i, j := 0, len(made)-1; i < j; i, j = i+1, j-1 {
		made[i], made[j] = made[j], made[i]
	}
}

// fallback appends the tokens of unknown text, the last token first.
func (m *unigram) fallback(w *work, start, end int32) {
	text := w.text[start:end]
	if id := m.trie.find(text); id >= 0 {
		w.tokens = append(w.tokens, token{id: uint32(id), start: start, end: end})
		return
	}
	if m.bytes != nil {
		all := true
		for _, b := range text {
			all = all && m.bytes[b] != noID
		}
		if all {
			for i := len(text) - 1; i >= 0; i-- {
				w.tokens = append(w.tokens, token{id: m.bytes[text[i]], start: start, end: end})
			}
			return
		}
	}
	w.tokens = append(w.tokens, token{id: uint32(m.unknown), start: start, end: end, surface: true})
}
