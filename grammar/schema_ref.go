package grammar

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// This file resolves the references of a JSON schema: within its document, by pointers, anchors and
// the identifiers of schemas in it.

// data are keywords whose values contain no schemas.
var data = map[string]bool{"enum": true, "const": true, "default": true, "examples": true}

func newIndex(root *value) *index {
	x := &index{map[*value]*resource{}, map[string]*resource{}, map[string]schemaAt{}, map[string]int{}}
	whole := &resource{schemaAt{nil, root}, &url.URL{Scheme: "schema", Path: "/"}, false}
	x.byURI[whole.base.String()] = whole
	x.add(schemaAt{nil, root}, whole, false)
	return x
}

// named are keywords whose value has schemas by name: a property may have the name of a keyword.
var named = map[string]bool{"properties": true, "patternProperties": true, "dependentSchemas": true, "dependencies": true, "$defs": true, "definitions": true}

// add indexes the schemas at and below s. If byName is set, the keys of s are names.
func (x *index) add(s schemaAt, in *resource, byName bool) {
	if s.kind == kindObject && byName {
		for _, key := range s.keys {
			x.add(s.child(key), in, false)
		}
		return
	}
	if s.kind == kindObject {
		in = x.enter(s, in)
		x.of[s.value] = in
		for _, name := range []string{"$anchor", "$dynamicAnchor"} {
			if a := s.members[name]; a != nil && a.kind == kindString {
				x.anchors[in.base.String()+"#"+a.text] = s
				if name == "$dynamicAnchor" {
					x.dynamic[a.text]++
				}
			}
		}
		for _, key := range s.keys {
			if !data[key] {
				x.add(s.child(key), in, named[key])
			}
		}
		return
	}
	for i, v := range s.list {
		x.add(schemaAt{&location{s.path, itoa(i)}, v}, in, false)
	}
}

// enter returns the resource of s: a new one if s begins it, or else in.
func (x *index) enter(s schemaAt, in *resource) *resource {
	old := in.old
	if d := s.members["$schema"]; d != nil && d.kind == kindString {
		old = strings.Contains(d.text, "draft-0")
	}
	id := s.members["$id"]
	if id == nil || id.kind != kindString || old && s.members["$ref"] != nil {
		if old != in.old {
			return &resource{in.root, in.base, old}
		}
		return in
	}
	u, err := url.Parse(id.text)
	if err != nil {
		return in
	}
	if u = in.base.ResolveReference(u); u.Fragment != "" { // an anchor in older drafts
		x.anchors[u.String()] = s
		return in
	}
	r := &resource{s, u, old}
	if s.path == nil { // references to the whole document may still be relative
		x.byURI[in.base.String()] = r
	}
	x.byURI[u.String()] = r
	return r
}

// isOld reports whether s is of a draft that ignores all keywords next to $ref.
func (c *schemaCompiler) isOld(s schemaAt) bool {
	r := c.index.of[s.value]
	return r != nil && r.old
}

// target follows $ref from s while a schema has no other keyword.
func (c *schemaCompiler) target(s schemaAt) (schemaAt, error) {
	for n := 0; s.kind == kindObject && s.members["$ref"] != nil; n++ {
		for _, key := range s.keys {
			if key != "$ref" && !annotations[key] && !c.isOld(s) {
				return s, nil
			}
		}
		if n > maxNesting {
			return s, errorf(fault.ErrUnsupported, "%s: $ref leads back to this schema, or through more than %d others", s.path, maxNesting)
		}
		to, err := c.resolve(s, "$ref")
		if _, refused := err.(*notHeld); refused {
			return s, nil // absorb returns this error
		} else if err != nil {
			return s, err
		}
		s = to
	}
	return s, nil
}

const maxReference = 1 << 12 // bytes of a $ref

// resolve returns the schema that the keyword of s, $ref or $dynamicRef, refers to. It returns an
// error if that depends on where s is used.
func (c *schemaCompiler) resolve(s schemaAt, keyword string) (schemaAt, error) {
	to, err := c.find(s, keyword)
	if err == nil && keyword == "$dynamicRef" {
		ref := s.members[keyword].text
		if u, err := url.Parse(ref); err == nil && c.index.dynamic[u.Fragment] > 1 {
			return s, unheldAt(fault.ErrUnsupported, &location{s.path, keyword}, "%.100q depends on where it is used", ref)
		}
	}
	return to, err
}

// find returns the schema that a reference in s refers to at its place in the document.
func (c *schemaCompiler) find(s schemaAt, keyword string) (schemaAt, error) {
	ref, path := s.members[keyword], &location{s.path, keyword}
	if ref.kind != kindString {
		return s, errorf(fault.ErrSyntax, "%s is not a string", path)
	}
	if len(ref.text) > maxReference {
		return s, errorf(fault.ErrTooLarge, "%s has more than %d bytes", path, maxReference)
	}
	u, err := url.Parse(ref.text)
	if err != nil {
		return s, errorf(fault.ErrSyntax, "%s: %.100q: %v", path, ref.text, err)
	}
	u = c.index.of[s.value].base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	r := c.index.byURI[u.String()]
	if r == nil {
		return s, unheldAt(fault.ErrUnsupported, path, "%.100q is not in the schema", ref.text)
	}
	at := r.root
	switch {
	case fragment == "":
		return at, nil
	case fragment[0] != '/':
		if a, ok := c.index.anchors[r.base.String()+"#"+fragment]; ok {
			return a, nil
		}
		return s, errorf(fault.ErrSyntax, "%s: there is no %.100q", path, ref.text)
	}
	for _, name := range strings.Split(fragment[1:], "/") {
		if at = at.child(unescape.Replace(name)); at.value == nil {
			return s, errorf(fault.ErrSyntax, "%s: there is no %.100q", path, ref.text)
		}
	}
	if at.kind == kindObject && c.index.of[at.value] == nil {
		c.index.add(at, r, false) // at a place where newIndex expected no schema
	}
	return at, nil
}

// call returns a call of the rule for schemas. All uses of the same schemas share one rule.
func (c *schemaCompiler) call(of schemas) (*expr, error) {
	var key strings.Builder
	kept := make(schemas, 0, len(of))
	for _, s := range of {
		s, err := c.target(s)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(kept, func(o schemaAt) bool { return o.value == s.value }) {
			kept = append(kept, s)
			fmt.Fprintf(&key, "%p ", s.value)
		}
	}
	rule, ok := c.rules[key.String()]
	if !ok {
		var name fmt.Stringer = ruleName("any JSON")
		if len(kept) > 0 {
			name = kept[0].path
		}
		rule = c.rule(name, nil)
		c.rules[key.String()] = rule
		c.todo = append(c.todo, pending{rule, kept})
	}
	return call(rule), nil
}
