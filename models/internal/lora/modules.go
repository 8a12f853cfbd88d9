package lora

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Which modules an adapter of peft is for, and with which rank and scale: lists of names, and
// regular expressions of Python's.

// moduleNames are ends of modules' names, or an expression for whole ones.
type moduleNames struct {
	Expression string
	Ends       []string
}

func (m *moduleNames) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		m.Ends = []string{}
		return pyjson.Unmarshal(text, &m.Ends)
	}
	return pyjson.Unmarshal(text, &m.Expression)
}

// patterns are numbers of the modules whose names end as an expression says, the first of which
// counts.
type patterns []pattern

type pattern struct {
	expression string
	value      float64
	module     *regexp.Regexp
}

func (p *patterns) UnmarshalJSON(text []byte) error {
	return pyjson.Members(text, func(key string, value json.RawMessage) error {
		var x float64
		if err := pyjson.Unmarshal(value, &x); err != nil {
			return err
		}
		if !(x >= 0) || math.IsInf(x, 0) || slices.ContainsFunc(*p, func(o pattern) bool { return o.expression == key }) {
			return fmt.Errorf("%.60q: %v, want a number from 0, once", key, x)
		}
		*p = append(*p, pattern{expression: key, value: x})
		return nil
	})
}

// compile compiles the expressions, which a field has.
func (p patterns) compile(doc configuration.Document, field string) (err error) {
	for i := range p {
		if p[i].module, err = pythonExpression(`(.*\.)?(`, p[i].expression, `)`); err != nil {
			return doc.Errorf(field, "%w", err)
		}
	}
	return nil
}

// of returns the number of a module.
func (p patterns) of(module string, otherwise float64) float64 {
	for _, one := range p {
		if one.module.MatchString(module) {
			return one.value
		}
	}
	return otherwise
}

// pythonExpression matches whole names as Python does, with something before and after the
// expression, or is an error where Go may take the expression for something else.
func pythonExpression(before, e, after string) (*regexp.Regexp, error) {
	for i := 0; i < len(e); i++ {
		next := byte(0)
		if i+1 < len(e) {
			next = e[i+1]
		}
		odd := e[i] < ' ' || e[i] > '~'
		switch e[i] {
		case '\\':
			word := next == '_' || next >= '0' && next <= '9' || next|0x20 >= 'a' && next|0x20 <= 'z'
			odd = word && !strings.ContainsRune("dDwWsSbB", rune(next))
			i++
		case '(':
			odd = next == '?' && !strings.HasPrefix(e[i:], "(?:")
		case '{':
			odd = next < '0' || next > '9'
		case '[':
			odd = next == '[' || next == ':'
		}
		if odd {
			return nil, fmt.Errorf("the expression %.60q: not supported", e)
		}
	}
	if _, err := regexp.Compile(e); err != nil { // alone: its parentheses may close those around it
		return nil, fmt.Errorf("the expression %.60q: %w", e, err)
	}
	return regexp.Compile(`\A(?:` + before + e + after + `)\z`)
}

// moduleRules says which modules an adapter changes.
type moduleRules struct {
	target, exclude func(module string) bool
	listed          bool // target is of a list or an expression
	saved           []*regexp.Regexp
	copied          []string // ends of names of modules that the adapter has copies of
	magnitudes      bool
	layers          []int
	whole           []string         // names that layers do not hold for
	layer           []*regexp.Regexp // whose first group is the number of a module's layer
	ranks, alphas   patterns
}

// outputs are the modules that all-linear leaves out.
var outputs = []string{"lm_head", "score", "classifier"}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// matcher reports whether a module is among those that a field names.
func (m moduleNames) matcher(doc configuration.Document, field string) (func(module string) bool, error) {
	if m.Expression != "" {
		e, err := pythonExpression("", m.Expression, "")
		if err != nil {
			return nil, doc.Errorf(field, "%w", err)
		}
		return e.MatchString, nil
	}
	return func(module string) bool {
		return slices.ContainsFunc(m.Ends, func(end string) bool { return module == end || strings.HasSuffix(module, "."+end) })
	}, nil
}

// chooses returns an error unless an adapter is for a module.
func (r *moduleRules) chooses(module string) error {
	refused := func(field string) error {
		return check.Errorf(fault.ErrLeftOver, "%s of %s leaves this module out", field, PEFTConfig)
	}
	matches := func(e *regexp.Regexp) bool { return e.MatchString(module) }
	switch {
	case strings.ContainsFunc(module, func(c rune) bool { return c < ' ' || c > '~' }):
		return check.Errorf(fault.ErrLeftOver, "the name is not of letters that names of modules have")
	case r.exclude(module):
		return refused("exclude_modules")
	case slices.ContainsFunc(r.saved, matches):
		return refused("modules_to_save")
	case !r.target(module):
		return refused("target_modules")
	case len(r.layers) > 0 && !slices.Contains(r.whole, module) && !slices.Contains(r.layers, r.layerOf(module)):
		return refused("layers_to_transform")
	}
	return nil
}

// copies reports whether the adapter has a copy of the module that a tensor is of. Others that
// share the tensor keep it.
func (r *moduleRules) copies(tensor string) bool {
	for module, at := tensor, strings.LastIndexByte(tensor, '.'); at >= 0; at = strings.LastIndexByte(module, '.') {
		module = module[:at]
		if slices.ContainsFunc(r.copied, func(end string) bool { return strings.HasSuffix(module, end) }) {
			return true
		}
	}
	return false
}

// layerOf returns the number of the layer that a module is in, -1 without one.
func (r *moduleRules) layerOf(module string) int {
	for _, e := range r.layer {
		if found := e.FindStringSubmatch(module); found != nil {
			if n, err := strconv.Atoi(found[1]); err == nil {
				return n
			}
			return -1
		}
	}
	return -1
}

// without returns a warning if modules that the adapter is for are missing from it. Peft then
// continues with what it draws for them, zeros mostly.
func (r *moduleRules) without(a *adapter, b Base) []string {
	if !r.listed {
		return nil
	}
	var missing []string
	for _, name := range b.Names() {
		module, isWeight := strings.CutSuffix(name, ".weight")
		shape, ok := b.shape(name)
		there := slices.ContainsFunc(a.factors, func(f factors) bool { return f.weight == name })
		if isWeight && ok && len(shape) == 2 && !there && r.chooses(module) == nil {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s: target_modules chooses %d weights that the adapter lacks, %s first: they stay as they are", PEFTConfig, len(missing), missing[0])}
}
