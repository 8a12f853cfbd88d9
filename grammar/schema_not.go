package grammar

import "github.com/avoformer/avoformer/fault"

// This file compiles not, if, and dependent schemas. They are converted to choices among schemas
// without these keywords: a negation combines the negations of keywords.

// conditional adds not, if, and dependent schemas.
func (r reader) conditional(key string, at schemaAt) error {
	switch key {
	case "not":
		n, err := r.c.negation(at)
		if err != nil {
			return r.c.leave(elsewhere(err, at.path))
		}
		return r.c.absorb(r.f, n, r.depth+1, nil)
	case "if":
		return r.condition(at)
	case "then", "else":
		return nil // part of if
	}
	if at.kind != kindObject {
		return errorf(fault.ErrSyntax, "%s is not an object", at.path)
	}
	r.f.hints |= kindObject
	for _, name := range at.keys {
		of := at.child(name)
		if of.kind == kindArray && key == "dependencies" {
			if err := r.dependent(name, of); err != nil {
				return err
			}
			continue
		}
		there := makeObject("allOf", []*value{makeObject("required", []*value{makeString(name)}), of.value})
		r.choose(of.path, lacking(name), there)
	}
	return nil
}

// choose adds a choice of schemas that exclude each other.
func (r reader) choose(path *location, of ...*value) {
	x := choice{path: path, scopes: r.scopes}
	for _, v := range of {
		x.of = append(x.of, schemaAt{path, v})
	}
	r.f.choices = append(r.f.choices, x)
}

// condition adds if, then and else.
func (r reader) condition(at schemaAt) error {
	then, otherwise := r.s.members["then"], r.s.members["else"]
	if then == nil && otherwise == nil && len(r.scopes) == 0 {
		return nil
	}
	not, err := r.c.negation(at)
	if err != nil {
		return r.c.leave(elsewhere(err, at.path))
	}
	whole := func(first, second *value) *value {
		if second == nil {
			return first
		}
		return makeObject("allOf", []*value{first, second})
	}
	r.choose(at.path, whole(at.value, then), whole(not.value, otherwise))
	return nil
}

// elsewhere returns the error of a negation with the path of the keyword that needs the negation.
// It returns an error of a malformed schema unchanged.
func elsewhere(err error, path *location) error {
	if !isRefusal(err) {
		return err
	}
	return unheldAt(err, path, "it cannot be negated: %s", reasonOf(err))
}

// The following functions make schemas that are in no document. The properties of such a schema do
// not exclude additional members.

func makeObject(pairs ...any) *value {
	o := &value{kind: kindObject, made: true, members: map[string]*value{}}
	for i := 0; i < len(pairs); i += 2 {
		var v *value
		switch x := pairs[i+1].(type) {
		case *value:
			v = x
		case []*value:
			v = &value{kind: kindArray, list: x}
		case string:
			v = makeString(x)
		case bool:
			v = &value{kind: kindBool, yes: x}
		case int:
			v = &value{kind: kindNumber, text: itoa(x)}
		}
		key := pairs[i].(string)
		o.keys, o.list, o.members[key] = append(o.keys, key), append(o.list, v), v
	}
	return o
}

func makeString(s string) *value { return &value{kind: kindString, text: s} }

// lacking returns a schema of the objects without a member.
func lacking(name string) *value {
	return makeObject("properties", makeObject(name, false))
}

// Only schemas that the functions above make have these keywords.
const (
	notInteger  = "not an integer"
	notMultiple = "not multipleOf"
	notPattern  = "not pattern"
	notFormat   = "not format"
	notWords    = "not words"
)

// madeKeyword adds such a keyword, and returns false for any other keyword.
func (r reader) madeKeyword(key string, at schemaAt) bool {
	f := r.f
	switch key {
	case notInteger:
		f.fraction = true
	case notMultiple:
		f.multiples = append(f.multiples, multiple{at.path, at.rational(), true})
	case notPattern:
		f.texts = append(f.texts, textRule{path: at.path, pattern: at.text, not: true})
	case notFormat:
		f.texts = append(f.texts, textRule{path: at.path, pattern: formats()[at.text], not: true})
	case notWords:
		words := []string{}
		for _, v := range at.list {
			words = append(words, v.text)
		}
		f.texts = append(f.texts, textRule{path: at.path, words: words, not: true})
	default:
		return false
	}
	return true
}
