package main

import "go/ast"

// decodes holds the files that may decode with encoding/json, because they read no file of a model
// or a user.
var decodes = map[string]string{
	"internal/pyjson/pyjson.go":          "strings with escapes, known to be well-formed",
	"grammar/value.go":                   "schemas, token by token in the order of their keys, of which the last of a name counts",
	"scripts/mutate/code/reach.go":       "what go list wrote",
	"text/internal/chat/object.go":       "messages, key by key in their order, of which the last of a name counts",
	"text/jinja/convert.go":              "what encoding/json wrote",
	"text/internal/cmd/tokenize/main.go": "requests of the comparison with Hugging Face's tokenizers",
	"text/internal/cmd/real/main.go":     "requests of the scripts that measure published models",
	"internal/modelstest/expected.go":    "what the tests' own generator wrote",
	"internal/modelstest/folders.go":     "configurations of the tests' own folders",
	"internal/tftest/spoil.go":           "headers of the tests' own safetensors files",
	"scripts/release/licences.go":        "what the go command prints",
}

// pyjsonDecodes finds uses of encoding/json, which ignores the case of keys and merges objects,
// unlike Python. In serve and bulk, JSON is requests and records, which no Python program reads.
func pyjsonDecodes(t *tree) (problems []string) {
	for _, f := range t.files {
		if below(f.dir, "asm") || below(f.dir, "bench") || below(f.dir, "serve") || below(f.dir, "bulk") || decodes[f.path] != "" {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok && (selects(e, "json", "Unmarshal") || selects(e, "json", "NewDecoder")) {
				problems = append(problems, t.fset.Position(n.Pos()).String()+": use pyjson")
			}
			return true
		})
	}
	return problems
}

// selects reports whether an expression is pkg.name.
func selects(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
