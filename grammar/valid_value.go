package grammar

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
)

// This file validates values against the schemas of a Validator.

// A comparison validates one value against a schema.
type comparison struct {
	*Validator
	steps int
	depth int         // number of schemas that led here
	scope []*resource // resources of the schemas that led here, the outermost first
}

// maxLeading limits the depth of recursion, through schemas that refer to each other and through
// nested values.
const maxLeading = 10_000

// evaluated has the members and elements of a value that schemas have evaluated, for
// unevaluatedProperties and unevaluatedItems. It is nil if no schema has these keywords.
type evaluated struct {
	members map[string]bool
	items   map[int]bool
}

func (n *evaluated) member(name string) {
	if n != nil {
		n.members[name] = true
	}
}

func (n *evaluated) item(i int) {
	if n != nil {
		n.items[i] = true
	}
}

// add adds the members and elements that a matching schema for the same value has evaluated.
func (n *evaluated) add(m *evaluated) {
	if n == nil {
		return
	}
	for name := range m.members {
		n.members[name] = true
	}
	for i := range m.items {
		n.items[i] = true
	}
}

// work counts steps.
func (w *comparison) work(n int) error {
	if w.steps += n; w.steps > maxCompared {
		return errorf(fault.ErrTooLarge, "it takes too long to validate")
	}
	return nil
}

func isBroken(err error) bool {
	_, ok := errors.AsType[*broken](err)
	return ok
}

func breaks(at *location, format string, args ...any) error {
	return &broken{at, fmt.Sprintf(format, args...)}
}

// schema validates x, which is at a place of the text, against s.
func (w *comparison) schema(s schemaAt, x *value, at *location, around *evaluated) error {
	if err := w.work(1); err != nil {
		return err
	}
	if s.kind == kindBool {
		if !s.yes {
			return breaks(at, "no value is allowed here")
		}
		return nil
	}
	if r := w.c.index.of[s.value]; r != nil && (len(w.scope) == 0 || w.scope[len(w.scope)-1] != r) {
		w.scope = append(w.scope, r)
		defer func() { w.scope = w.scope[:len(w.scope)-1] }()
	}
	if w.depth++; w.depth > maxLeading {
		return errorf(fault.ErrTooLarge, "its schema leads through more than %d others", maxLeading)
	}
	defer func() { w.depth-- }()
	var own *evaluated
	if w.scoped {
		own = &evaluated{map[string]bool{}, map[int]bool{}}
	}
	for _, key := range w.keywords(s) {
		if err := w.keyword(s, key, s.child(key), x, at, own); err != nil {
			return err
		}
	}
	if err := w.unevaluated(s, x, at, own); err != nil {
		return err
	}
	around.add(own)
	return nil
}

// holds reports whether x is valid for s. A violation is not an error.
func (w *comparison) holds(s schemaAt, x *value, at *location, around *evaluated) (bool, error) {
	err := w.schema(s, x, at, around)
	if isBroken(err) {
		return false, nil
	}
	return err == nil, err
}

func (w *comparison) keyword(s schemaAt, key string, with schemaAt, x *value, at *location, own *evaluated) error {
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		to, err := w.follow(s, key, w.scope)
		if err != nil {
			return err
		}
		return w.schema(to, x, at, own)
	case "allOf", "anyOf", "oneOf", "not", "if":
		return w.combined(s, key, with, x, at, own)
	case "type":
		types, integer, _ := typesOf(with)
		if n := s.members["nullable"]; n != nil && n.yes { // of OpenAPI 3.0
			types |= kindNull
		}
		if x.kind&types == 0 || x.kind == kindNumber && integer && !x.isInteger() {
			return breaks(at, "a value of another type than %s", with.write(nil))
		}
	case "enum", "const":
		list := with.list
		if key == "const" {
			list = []*value{with.value}
		}
		if err := w.work(len(list)/8 + with.size/64); err != nil {
			return err
		}
		if !slices.ContainsFunc(list, x.equal) {
			return breaks(at, "a value that is not in %s", key)
		}
	}
	switch x.kind {
	case kindNumber:
		return w.number(s, key, with, x, at)
	case kindString:
		return w.text(key, with, x, at)
	case kindArray:
		return w.array(s, key, with, x, at, own)
	case kindObject:
		return w.object(s, key, with, x, at, own)
	}
	return nil
}

// combined validates x against a keyword that combines schemas.
func (w *comparison) combined(s schemaAt, key string, with schemaAt, x *value, at *location, own *evaluated) error {
	switch key {
	case "not":
		if ok, err := w.holds(with, x, at, nil); ok || err != nil {
			return cmp.Or(err, breaks(at, "the schema of not matches"))
		}
	case "if":
		ok, err := w.holds(with, x, at, own)
		if err != nil {
			return err
		}
		next := s.child("else")
		if ok {
			next = s.child("then")
		}
		if next.value != nil {
			return w.schema(next, x, at, own)
		}
	case "allOf":
		for _, to := range with.below() {
			if err := w.schema(to, x, at, own); err != nil {
				return err
			}
		}
	default:
		held, first := 0, error(nil)
		for _, to := range with.below() {
			err := w.schema(to, x, at, own)
			switch {
			case err == nil:
				held++
			case !isBroken(err):
				return err
			case first == nil:
				first = err
			}
			if held > 0 && own == nil && key == "anyOf" {
				return nil
			}
		}
		if held == 0 {
			return first
		}
		if held > 1 && key == "oneOf" {
			return breaks(at, "%d schemas of oneOf match, want 1", held)
		}
	}
	return nil
}

// isInteger reports whether a number has no fraction.
func (v *value) isInteger() bool {
	if !strings.ContainsAny(v.text, ".eE") {
		return true
	}
	if n := v.rational(); n != nil {
		return n.IsInt()
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(v.text), "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil { // too large for an int
		return exponent[0] != '-'
	}
	return len(strings.TrimRight(decimals, "0")) <= e
}

func (w *comparison) number(s schemaAt, key string, with schemaAt, x *value, at *location) error {
	upper := ""
	switch key {
	case "minimum", "exclusiveMinimum":
		upper = "Minimum"
	case "maximum", "exclusiveMaximum":
		upper = "Maximum"
	case "multipleOf":
	default:
		return nil
	}
	if with.kind != kindNumber { // of draft 4, read with the bound itself
		return nil
	}
	n, m := x.rational(), with.rational()
	if n == nil {
		return errorf(fault.ErrTooLarge, "%.40s has too many digits, or too large an exponent", x.text)
	}
	if key == "multipleOf" {
		if !new(big.Rat).Quo(n, m).IsInt() {
			return breaks(at, "%s is not a multiple of %s", x.text, with.text)
		}
		return nil
	}
	b := s.members["exclusive"+upper]
	l := &limit{m, key[0] == 'e' || b != nil && b.yes}
	if upper == "Minimum" && !l.below(n) || upper == "Maximum" && !l.above(n) {
		return breaks(at, "%s is beyond %s %s", x.text, key, with.text)
	}
	return nil
}

// size compares a number of things with a keyword that begins with min or max.
func (w *comparison) size(key string, with schemaAt, n int, at *location, things string) error {
	c := new(big.Rat).SetInt64(int64(n)).Cmp(with.rational())
	if key[1] == 'i' && c < 0 || key[1] == 'a' && c > 0 {
		return breaks(at, "%d %s, %s is %s", n, things, key, with.text)
	}
	return nil
}

func (w *comparison) text(key string, with schemaAt, x *value, at *location) error {
	switch key {
	case "minLength", "maxLength":
		return w.size(key, with, utf8.RuneCountInString(x.text), at, "characters")
	case "pattern":
		ok, err := w.matches(with.text, x.text)
		if err == nil && !ok {
			err = breaks(at, "%.60q does not match %.100q", x.text, with.text)
		}
		return err
	}
	return nil
}

func (w *comparison) matches(pattern, text string) (bool, error) {
	if err := w.work(1 + len(text)/64); err != nil {
		return false, err
	}
	return w.patterns[pattern](text)
}

func (w *comparison) array(s schemaAt, key string, with schemaAt, x *value, at *location, own *evaluated) error {
	switch key {
	case "minItems", "maxItems":
		return w.size(key, with, len(x.list), at, "elements")
	case "prefixItems":
		return w.elements(with.below(), x, at, own)
	case "items":
		if with.kind == kindArray { // of older drafts
			return w.elements(with.below(), x, at, own)
		}
		first := 0
		if p := s.members["prefixItems"]; p != nil {
			first = len(p.list)
		}
		return w.rest(with, first, x, at, own)
	case "additionalItems":
		if p := s.members["items"]; p != nil && p.kind == kindArray {
			return w.rest(with, len(p.list), x, at, own)
		}
	case "contains":
		return w.contains(s, with, x, at, own)
	case "uniqueItems":
		if !with.yes {
			return nil
		}
		seen := map[string]int{}
		for i, e := range x.list {
			text := string(e.canonical(nil))
			if err := w.work(len(text) / 64); err != nil {
				return err
			}
			if j, ok := seen[text]; ok {
				return breaks(at, "elements %d and %d are equal", j, i)
			}
			seen[text] = i
		}
	}
	return nil
}

// elements validates the first elements of x against a schema each.
func (w *comparison) elements(list schemas, x *value, at *location, own *evaluated) error {
	for i := range min(len(list), len(x.list)) {
		if err := w.schema(list[i], x.list[i], &location{at, itoa(i)}, nil); err != nil {
			return err
		}
		own.item(i)
	}
	return nil
}

// rest validates the elements from index first on against a schema.
func (w *comparison) rest(with schemaAt, first int, x *value, at *location, own *evaluated) error {
	for i := first; i < len(x.list); i++ {
		if err := w.schema(with, x.list[i], &location{at, itoa(i)}, nil); err != nil {
			return err
		}
		own.item(i)
	}
	return nil
}

func (w *comparison) contains(s schemaAt, with schemaAt, x *value, at *location, own *evaluated) error {
	n := 0
	for i, e := range x.list {
		ok, err := w.holds(with, e, &location{at, itoa(i)}, nil)
		if err != nil {
			return err
		}
		if ok {
			n++
			own.item(i)
		}
	}
	least := s.child("minContains")
	if least.value == nil {
		if n == 0 {
			return breaks(at, "no element matches contains")
		}
	} else if err := w.size("minContains", least, n, at, "elements that match contains"); err != nil {
		return err
	}
	if most := s.child("maxContains"); most.value != nil {
		return w.size("maxContains", most, n, at, "elements that match contains")
	}
	return nil
}

func (w *comparison) object(s schemaAt, key string, with schemaAt, x *value, at *location, own *evaluated) error {
	switch key {
	case "minProperties", "maxProperties":
		return w.size(key, with, len(x.keys), at, "members")
	case "required":
		return w.required(with.value, x, at)
	case "dependentRequired", "dependencies", "dependentSchemas":
		for _, to := range with.below() {
			if x.members[to.path.key] == nil {
				continue
			}
			var err error
			if to.kind == kindArray {
				err = w.required(to.value, x, at)
			} else {
				err = w.schema(to, x, at, own)
			}
			if err != nil {
				return err
			}
		}
	case "propertyNames":
		for _, name := range x.keys {
			if err := w.schema(with, &value{kind: kindString, text: name}, &location{at, name}, nil); err != nil {
				return err
			}
		}
	case "properties", "patternProperties", "additionalProperties":
		for i, name := range x.keys {
			if err := w.member(s, key, with, name, x.list[i], at, own); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *comparison) required(names, x *value, at *location) error {
	for _, name := range names.list {
		if x.members[name.text] == nil {
			return breaks(at, "the member %q is missing", name.text)
		}
	}
	return nil
}

// member holds a member against the schemas that a keyword has for its name.
func (w *comparison) member(s schemaAt, key string, with schemaAt, name string, x *value, at *location, own *evaluated) error {
	below := &location{at, name}
	switch key {
	case "properties":
		to := with.child(name)
		if to.value == nil {
			return nil
		}
		own.member(name)
		return w.schema(to, x, below, nil)
	case "patternProperties":
		for _, to := range with.below() {
			ok, err := w.matches(to.path.key, name)
			if ok {
				own.member(name)
				err = w.schema(to, x, below, nil)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	if p := s.members["properties"]; p != nil && p.members[name] != nil {
		return nil
	}
	if p := s.members["patternProperties"]; p != nil {
		for _, pattern := range p.keys {
			if ok, err := w.matches(pattern, name); ok || err != nil {
				return err
			}
		}
	}
	own.member(name)
	if with.kind == kindBool && !with.yes {
		return breaks(at, "an additional member %q", name)
	}
	return w.schema(with, x, below, nil)
}

// unevaluated holds what no other keyword of s spoke of against unevaluatedProperties and
// unevaluatedItems.
func (w *comparison) unevaluated(s schemaAt, x *value, at *location, own *evaluated) error {
	if own == nil || s.members["$ref"] != nil && w.c.isOld(s) {
		return nil
	}
	if to := s.child("unevaluatedProperties"); to.value != nil && x.kind == kindObject {
		for i, name := range x.keys {
			if own.members[name] {
				continue
			}
			if err := w.schema(to, x.list[i], &location{at, name}, nil); err != nil {
				return err
			}
			own.member(name)
		}
	}
	if to := s.child("unevaluatedItems"); to.value != nil && x.kind == kindArray {
		for i := range x.list {
			if own.items[i] {
				continue
			}
			if err := w.schema(to, x.list[i], &location{at, itoa(i)}, nil); err != nil {
				return err
			}
			own.item(i)
		}
	}
	return nil
}

// canonical appends a text that equal values share.
func (v *value) canonical(to []byte) []byte {
	switch v.kind {
	case kindNumber:
		if n := v.rational(); n != nil {
			return append(to, n.RatString()...)
		}
	case kindArray:
		to = append(to, '[')
		for _, e := range v.list {
			to = append(e.canonical(to), ',')
		}
		return append(to, ']')
	case kindObject:
		to = append(to, '{')
		for _, key := range slices.Sorted(slices.Values(v.keys)) {
			to = append(append(to, quote(key)...), ':')
			to = append(v.members[key].canonical(to), ',')
		}
		return append(to, '}')
	}
	return v.write(to)
}
