package grammar

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file reads the keywords of objects and of lists.

// object adds the keywords of objects that depend on each other.
func (r reader) object() (err error) {
	o := objectFacts{quiet: r.s.made, scopes: r.scopes}
	if o.properties, err = r.properties("properties"); err != nil {
		return err
	}
	if o.patterns, err = r.properties("patternProperties"); err != nil {
		return err
	}
	if at := r.s.child("required"); at.value != nil && at.kind != kindBool { // true and false are of draft 3
		if o.required, err = at.names(); err != nil {
			return err
		}
	}
	if at := r.s.child("additionalProperties"); at.value != nil {
		o.additional = &at
	}
	if o.properties != nil || o.required != nil || o.additional != nil || o.patterns != nil {
		r.f.objects = append(r.f.objects, o)
	}
	return nil
}

// properties returns the members of a keyword's value. There are none if the schema does not have
// the keyword.
func (r reader) properties(key string) (list []property, err error) {
	at := r.s.child(key)
	if at.value == nil {
		return nil, nil
	}
	if at.kind != kindObject {
		return nil, errorf(fault.ErrSyntax, "%s is not an object", at.path)
	}
	for _, name := range at.keys {
		p := property{name, at.child(name)}
		if key == "patternProperties" {
			if _, err := r.c.tree(name); err != nil {
				if !isRefusal(err) {
					return nil, err
				}
				if err := r.c.leave(unheldAt(err, p.path, "%s", reasonOf(err))); err != nil {
					return nil, err
				}
				continue
			}
		}
		list = append(list, p)
	}
	return list, nil
}

// names returns the elements of a keyword such as required.
func (s schemaAt) names() (list []string, err error) {
	if s.kind != kindArray || slices.ContainsFunc(s.list, func(v *value) bool { return v.kind != kindString }) {
		return nil, errorf(fault.ErrSyntax, "%s is not a list of names", s.path)
	}
	for _, v := range s.list {
		list = append(list, v.text)
	}
	return list, nil
}

// objectKeyword adds a keyword of objects; known is false if key is not such a keyword.
func (r reader) objectKeyword(key string, at schemaAt) (known bool, err error) {
	f := r.f
	switch key {
	case "properties", "required", "additionalProperties", "patternProperties":
	case "minProperties", "maxProperties":
		f.counted = at.path
		err = count(at, key == "minProperties", &f.minProperties, &f.maxProperties)
	case "propertyNames":
		f.names = append(f.names, at)
	case "dependentRequired":
		if at.kind != kindObject {
			return true, errorf(fault.ErrSyntax, "%s is not an object", at.path)
		}
		for _, name := range at.keys {
			err = r.dependent(name, at.child(name))
			if err != nil {
				break
			}
		}
	case "unevaluatedProperties":
		f.looseMembers = append(f.looseMembers, unevaluated{at, r.scopes[len(r.scopes)-1], r.scopes})
	default:
		return false, nil
	}
	f.hints |= kindObject
	return true, err
}

// dependent adds the names of the members that a member requires.
func (r reader) dependent(name string, at schemaAt) error {
	to, err := at.names()
	if err == nil && len(to) > 0 {
		r.f.dependents = append(r.f.dependents, dependent{name, to})
	}
	return err
}

// array adds the keywords of lists that depend on each other.
func (r reader) array() (err error) {
	a := arrayFacts{quiet: r.s.made, scopes: r.scopes}
	if at := r.s.child("prefixItems"); at.value != nil {
		if a.prefix, err = at.schemas(); err != nil {
			return err
		}
	}
	if at := r.s.child("items"); at.value != nil && at.kind == kindArray { // of older drafts
		if len(at.list) > 0 {
			if a.prefix, err = at.schemas(); err != nil {
				return err
			}
		}
		if rest := r.s.child("additionalItems"); rest.value != nil {
			a.items = &rest
		}
	} else if at.value != nil {
		a.items = &at
	}
	if a.prefix != nil || a.items != nil {
		r.f.arrays = append(r.f.arrays, a)
	}
	return nil
}

// arrayKeyword adds a keyword of lists; known is false if key is not such a keyword.
func (r reader) arrayKeyword(key string, at schemaAt) (known bool, err error) {
	f := r.f
	switch key {
	case "items", "prefixItems", "additionalItems", "minContains", "maxContains":
	case "minItems", "maxItems":
		err = count(at, key == "minItems", &f.minItems, &f.maxItems)
	case "uniqueItems":
		if at.kind != kindBool {
			return true, errorf(fault.ErrSyntax, "%s is neither true nor false", at.path)
		}
		if at.yes {
			f.unique = at.path
		}
	case "contains":
		x := contained{at.path, at, 1, -1}
		if n := r.s.child("minContains"); n.value != nil {
			x.least = 0
			err = count(n, true, &x.least, &x.most)
		}
		if n := r.s.child("maxContains"); n.value != nil && err == nil {
			err = count(n, false, &x.least, &x.most)
		}
		if len(r.scopes) > 0 && err == nil && r.s.members["unevaluatedItems"] != nil {
			err = r.c.leave(unheldAt(fault.ErrUnsupported, at.path, "next to unevaluatedItems"))
		}
		f.contains = append(f.contains, x)
	case "unevaluatedItems":
		f.looseItems = append(f.looseItems, unevaluated{at, r.scopes[len(r.scopes)-1], r.scopes})
	default:
		return false, nil
	}
	f.hints |= kindArray
	return true, err
}
