package grammar

import (
	"math"

	"github.com/avoformer/avoformer/fault"
)

// A Matcher follows one sequence of tokens through a grammar. Only one goroutine may use it at a
// time. Matchers of the same Grammar and Vocabulary share the states that they have computed, also
// between goroutines. If one of them has met the states of a sequence before, methods allocate
// nothing.
type Matcher struct {
	table      *table
	at         *stacks
	generation int
	work       int // that it may do now
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

// enter locks the table and brings m into its generation.
func (m *Matcher) enter() *table {
	t := m.table
	t.Lock()
	m.at = t.begin(m.at, m.generation, m.work)
	m.generation = t.generation
	return t
}

// leave notes what m has done, and unlocks the table.
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

// Mask returns the tokens that may follow, token t being bit t%64 of word t/64. It must not be
// changed, and stays as it is. It has no bit set where nothing may follow, which is not an error
// here. The error is fault.ErrTooLarge where the grammar is too ambiguous to be followed, and
// fault.ErrNoToken after an end token.
func (m *Matcher) Mask() ([]uint64, error) {
	k, err := m.mask()
	if err != nil {
		return nil, err
	}
	return k.words, nil
}

// Apply sets the logits of the tokens that may not follow to -Inf, and also logits beyond the
// vocabulary, which some models have. The error is one of Mask, fault.ErrNoToken where nothing may
// follow, or fault.ErrShape with fewer logits than tokens; then logits are as they were.
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
		return errorf(fault.ErrNoToken, "the vocabulary has none that the grammar allows here")
	}
	k.apply(logits[:n])
	for i := range logits[n:] {
		logits[n+i] = float32(math.Inf(-1))
	}
	return nil
}

// Accept continues with a token. The error is fault.ErrRefused, and m as it was, if the token may
// not follow.
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
		return errorf(fault.ErrRefused, "token %d, of %d", token, len(v.tokens))
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

// Propose appends to dst up to most tokens that spell the text that must follow. Like most
// tokenizers, it takes the longest token at each place. The model may cut the text differently and
// must therefore verify them. Propose appends no tokens where the text can continue with more than
// one byte.
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

// Fork returns a Matcher that is where m is and goes its own way from there, for beams, and for
// drafts that may be taken back.
func (m *Matcher) Fork() *Matcher {
	f := *m
	return &f
}

// Set puts m where other is. Both may be of different grammars.
func (m *Matcher) Set(other *Matcher) { *m = *other }
