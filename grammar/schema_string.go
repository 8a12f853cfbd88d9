package grammar

import (
	"errors"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// This file generates the strings of JSON schemas.

// string returns the strings that f allows.
func (c *schemaCompiler) string(f *facts) (*expr, error) {
	limited := f.minLength > 0 || f.maxLength >= 0
	if f.maxLength >= 0 && f.maxLength < f.minLength {
		return none, nil
	}
	if len(f.texts) > 0 {
		e, err := c.ruled(f, limited)
		if err == nil {
			return concat(literal(`"`), e, literal(`"`)), nil
		}
		if !isRefusal(err) {
			return nil, err
		}
		if err := c.leave(unheldAt(err, f.texts[0].path, "%v", reasonOf(err))); err != nil {
			return nil, err
		}
	}
	if !limited {
		return c.part(anyString), nil
	}
	return concat(literal(`"`), repeat(c.part(oneCharacter), f.minLength, f.maxLength), literal(`"`)), nil
}

// ruled returns the expression of the strings that follow the rules of f, without their quotes.
func (c *schemaCompiler) ruled(f *facts, limited bool) (*expr, error) {
	if r := f.texts[0]; len(f.texts) == 1 && !r.not && r.words == nil {
		re, err := c.tree(r.pattern)
		if err != nil {
			return nil, err
		}
		if limited {
			if e := limitedClass(re, f.minLength, f.maxLength); e != nil {
				return e, nil
			}
		} else if e, err := regexpExpr(r.pattern, re, jsonRunes{}, true); err == nil {
			return e, nil
		}
	}
	d, err := c.language(f)
	if err != nil {
		return nil, err
	}
	return d.expr(&c.program, jsonRunes{}), nil
}

// limitedClass returns the expression of least to most characters of a class if re is that class
// between anchors, ^[...]*$, with any quantifier. It returns nil if re is anything else.
func limitedClass(re *syntax.Regexp, least, most int) *expr {
	re, begin, end := unanchored(re)
	if re.Op == syntax.OpConcat && len(re.Sub) == 1 {
		re = re.Sub[0]
	}
	if !begin || !end || re.Op != syntax.OpRepeat || re.Sub[0].Op != syntax.OpCharClass {
		return nil
	}
	least = max(least, re.Min)
	if re.Max >= 0 && (most < 0 || re.Max < most) {
		most = re.Max
	}
	if most >= 0 && most < least {
		return none
	}
	return repeat(jsonRunes{}.class(classSet(re.Sub[0])), least, most)
}

// language returns the automaton of the strings that f and more rules allow. f has no choices left.
func (c *schemaCompiler) language(f *facts, more ...textRule) (*deterministic, error) {
	var starts []int32
	var not []bool
	for _, r := range append(slices.Clip(f.texts), more...) {
		s, err := c.start(r)
		if err != nil {
			return nil, err
		}
		starts, not = append(starts, s), append(not, r.not)
	}
	if f.minLength > 0 || f.maxLength >= 0 || !slices.Contains(not, false) {
		s, err := c.automaton().length(f.minLength, f.maxLength)
		if err != nil {
			return nil, err
		}
		starts, not = append(starts, s), append(not, false)
	}
	return c.automaton().determine(starts, agree(not))
}

// automaton returns the automaton that all strings of the schema share.
func (c *schemaCompiler) automaton() *automaton {
	if c.strings == nil {
		c.strings, c.starts = newAutomaton(), map[string]int32{}
	}
	return c.strings
}

// start returns the first state of the texts that match the pattern or the words of a rule.
func (c *schemaCompiler) start(r textRule) (int32, error) {
	a := c.automaton()
	if r.words != nil {
		s := a.words(r.words)
		return s, a.full()
	}
	if s, ok := c.starts[r.pattern]; ok {
		return s, nil
	}
	re, err := c.tree(r.pattern)
	if err != nil {
		return 0, err
	}
	s, err := a.search(re)
	if err == nil {
		c.starts[r.pattern] = s
	}
	return s, err
}

// tree returns the syntax tree of a pattern. It parses each pattern once.
func (c *schemaCompiler) tree(pattern string) (*syntax.Regexp, error) {
	re := c.trees[pattern]
	if re == nil {
		var err error
		if re, err = parsePattern(pattern); err != nil {
			return nil, err
		}
		if c.trees == nil {
			c.trees = map[string]*syntax.Regexp{}
		}
		c.trees[pattern] = re
	}
	return re, nil
}

// admitsText reports whether f allows a string.
func (c *schemaCompiler) admitsText(f *facts, text string) (bool, error) {
	n := utf8.RuneCountInString(text)
	if n < f.minLength || f.maxLength >= 0 && n > f.maxLength {
		return false, nil
	}
	for _, r := range f.texts {
		ok := slices.Contains(r.words, text)
		if r.words == nil {
			s, err := c.start(r)
			if err == nil {
				ok, err = c.automaton().matches(s, text)
			}
			if err != nil && !isRefusal(err) {
				return false, err
			} else if err != nil {
				if err := c.leave(unheldAt(err, r.path, "%v", reasonOf(err))); err != nil {
					return false, err
				}
				continue
			}
		}
		if ok == r.not {
			return false, nil
		}
	}
	return true, nil
}

// isRefusal reports whether an error means that a grammar cannot enforce a schema, not that the
// schema is malformed.
func isRefusal(err error) bool {
	return errors.Is(err, fault.ErrUnsupported) || errors.Is(err, fault.ErrTooLarge)
}

func (c *schemaCompiler) part(p part) *expr {
	if c.parts[p] != nil {
		return call(c.parts[p].rule)
	}
	var e *expr
	switch p {
	case space:
		e = optional(alt(literal(" "), concat(literal("\n"), repeat(literal(" "), 0, 20))))
	case oneCharacter:
		e = stringCharacter()
	case anyString:
		e = concat(literal(`"`), star(c.part(oneCharacter)), literal(`"`))
	case beyondLetters:
		e = jsonRunes{}.class([]runeRange{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}, {0x80, utf8.MaxRune}})
	case restOfName:
		e = concat(star(jsonRunes{}.class([]runeRange{{0, utf8.MaxRune}})), literal(`"`))
	}
	c.parts[p] = call(c.rule(nil, e))
	return c.parts[p]
}

// stringCharacter returns the expression of one character of a JSON string, with any escape. Halves
// of surrogate pairs occur only together.
func stringCharacter() *expr {
	hex := class([]runeRange{{'0', '9'}, {'a', 'f'}, {'A', 'F'}})
	d := class([]runeRange{{'d', 'd'}, {'D', 'D'}})
	notD := class([]runeRange{{'0', '9'}, {'a', 'c'}, {'A', 'C'}, {'e', 'f'}, {'E', 'F'}})
	below8 := class([]runeRange{{'0', '7'}})
	highs := class([]runeRange{{'8', '9'}, {'a', 'b'}, {'A', 'B'}})
	lows := class([]runeRange{{'c', 'f'}, {'C', 'F'}})
	escape := alt(
		class([]runeRange{{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
		concat(literal("u"), alt(
			concat(notD, hex, hex, hex),
			concat(d, below8, hex, hex),
			concat(d, highs, hex, hex, literal(`\u`), d, lows, hex, hex))))
	return alt(class(negated([]runeRange{{0, 0x1f}, {'"', '"'}, {'\\', '\\'}})), concat(literal(`\`), escape))
}

// agree returns a function for determine. It reports whether every automaton matches, except those
// marked in not, which must not match.
func agree(not []bool) func(ends []bool) bool {
	return func(ends []bool) bool {
		for i, end := range ends {
			if end == not[i] {
				return false
			}
		}
		return true
	}
}
