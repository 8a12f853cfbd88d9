package grammar

import (
	"math"

	"github.com/avoformer/avoformer/fault"
)

// A Matcher follows one sequence of tokens through a grammar. Only one goroutine may use it at a
// time. Matchers of the same Grammar and Vocabulary share the states that they have computed, also
// between goroutines. Methods do not allocate if the states of the sequence have been computed
// before.
type Matcher struct {
	table      *table
	at         *stacks
	generation int
	work       int // that m may do now
	ended      bool
}

// Matcher returns a Matcher at the beginning of a text.
func (g *Grammar) Matcher(v *Vocabulary) *Matcher {
	g.shared.Lock()
	t := g.shared.tables[v]
	if t == nil {
		t = newTable(g, v)
		if g.shared.tables == nil {
			g.shared.tables = map[*Vocabulary]*table{}
		}
		g.shared.tables[v] = t
	}
	g.shared.Unlock()
	t.Lock()
	defer t.Unlock()
	t.begin(nil, t.generation, maxWork)
	return &Matcher{table: t, at: t.first(), generation: t.generation, work: maxWork}
}

// enter locks the table. If the table was reset, it converts the state of m to the new generation.
func (m *Matcher) enter() *table {
	t := m.table
	t.Lock()
	m.at = t.begin(m.at, m.generation, m.work)
	m.generation = t.generation
	return t
}

// leave stores the work that is left to m, and unlocks the table.
func (m *Matcher) leave() {
	m.work = m.table.work
	m.table.Unlock()
}

// mask returns the tokens that may follow.
func (m *Matcher) mask() (*mask, error) {
	if m.ended {
		return nil, errorf(fault.ErrNoToken, "the text has ended")
	}
	t := m.enter()
	defer m.leave()
	return t.maskOf(m.at)
}

// Mask returns the tokens that may follow: token t is bit t%64 of word t/64. The caller must not
// change the slice; later calls do not change it either. No bit is set if no token may follow,
// which is not an error here. The error is fault.ErrTooLarge if the grammar is too ambiguous to be
// followed, and fault.ErrNoToken after an end token.
func (m *Matcher) Mask() ([]uint64, error) {
	k, err := m.mask()
	if err != nil {
		return nil, err
	}
	return k.words, nil
}

// Apply sets the logits of the tokens that may not follow to -Inf, and also logits beyond the
// vocabulary, which some models have. The error is one of Mask, fault.ErrNoToken if no token may
// follow, or fault.ErrShape for fewer logits than tokens. The logits are unchanged if there is an
// error.
func (m *Matcher) Apply(logits []float32) error {
	n := len(m.table.v.tokens)
	if len(logits) < n {
		return errorf(fault.ErrShape, "%d logits for %d tokens", len(logits), n)
	}
	k, err := m.mask()
	if err != nil {
		return err
	}
	if k.count == 0 {
		return errorf(fault.ErrNoToken, "the vocabulary has no token that the grammar allows here")
	}
	k.apply(logits[:n])
	for i := range logits[n:] {
		logits[n+i] = float32(math.Inf(-1))
	}
	return nil
}

// Accept continues the text with a token. The error is fault.ErrRefused if the token may not
// follow, and fault.ErrTooLarge if the grammar is too ambiguous to be followed. The text of m is
// unchanged if there is an error.
func (m *Matcher) Accept(token int) error {
	v := m.table.v
	if m.ended || token < 0 || token >= len(v.tokens) {
		return m.refuse(token)
	}
	t := m.enter()
	defer m.leave()
	if v.isEnd[token] {
		if !m.at.end {
			return m.refuse(token)
		}
		m.ended = true
		return nil
	}
	b := v.tokens[token]
	if len(b) == 0 || len(b) > longestToken {
		return m.refuse(token)
	}
	at := m.at
	for _, c := range b {
		at = t.step(at, t.g.class[c])
		if t.exhausted() {
			return errorf(fault.ErrTooLarge, "the grammar is too ambiguous to be followed")
		}
		if at == t.dead {
			return m.refuse(token)
		}
	}
	m.at = at
	t.work = min(t.work+workPerToken, maxWork)
	return nil
}

func (m *Matcher) refuse(token int) error {
	switch v := m.table.v; {
	case token < 0 || token >= len(v.tokens):
		return errorf(fault.ErrRefused, "token %d of a vocabulary of %d", token, len(v.tokens))
	case m.ended:
		return errorf(fault.ErrRefused, "token %d, the text has ended", token)
	default:
		return errorf(fault.ErrRefused, "token %d, %.64q", token, v.tokens[token])
	}
}

// Forced returns the token that must follow, if only one may: this saves a step of the model. If
// several tokens begin the only text that may follow, no token is forced, since the model decides
// how the text is cut into tokens.
func (m *Matcher) Forced() (token int, ok bool) {
	k, err := m.mask()
	if err != nil || k.count != 1 {
		return 0, false
	}
	return k.first, true
}

// Propose appends to dst up to most tokens of the text that must follow. Like most tokenizers, it
// chooses the longest token at each place. The model may divide the text into other tokens, so the
// caller must let the model verify them. Propose stops where the text can continue with more than
// one byte, or end.
func (m *Matcher) Propose(dst []int, most int) []int {
	if m.ended {
		return dst
	}
	t := m.enter()
	defer m.leave()
	at := m.at
	for range most {
		token, after := t.longest(at)
		if token < 0 {
			break
		}
		dst, at = append(dst, token), after
	}
	return dst
}

// CanEnd reports whether the text may end here. The end tokens are allowed exactly then.
func (m *Matcher) CanEnd() bool { return m.ended || m.at.end }

// Done reports whether the text must end here: an end token was accepted, or only one may follow.
func (m *Matcher) Done() bool { return m.ended || m.at.end && len(m.at.items) == 0 }

// Fork returns a copy of m, which continues independently: for beams, and for drafts that may be
// rejected.
func (m *Matcher) Fork() *Matcher {
	f := *m
	return &f
}

// Set makes m a copy of other, which may be of another grammar.
func (m *Matcher) Set(other *Matcher) { *m = *other }
