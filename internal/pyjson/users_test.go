package pyjson_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// decodes are the files that may decode with encoding/json, because no file of a model or a user
// comes in there.
var decodes = map[string]string{
	"internal/pyjson/pyjson.go":          "strings with escapes, known to be well-formed",
	"grammar/value.go":                   "schemas, token by token in the order of their keys, of which the last of a name counts",
	"scripts/mutate/code/reach.go":       "what go list wrote",
	"text/internal/chat/object.go":       "messages, key by key in their order, of which the last of a name counts",
	"text/internal/jinja/convert.go":     "what encoding/json wrote",
	"text/internal/cmd/tokenize/main.go": "requests of the comparison with Hugging Face's tokenizers",
	"text/internal/cmd/real/main.go":     "requests of the comparison with Hugging Face's tokenizers",
	"internal/modelstest/expected.go":    "what the tests' own generator wrote",
	"internal/modelstest/folders.go":     "configurations of the tests' own folders",
	"internal/tftest/spoil.go":           "headers of the tests' own safetensors files",
	"scripts/release/licences.go":        "what the go command prints",
}

// requests are the folders whose JSON is that of requests and records: what no Python program reads before or after.
var requests = map[string]bool{"serve": true, "bulk": true}

// TestUsers demands that the tree reads files with this package.
func TestUsers(t *testing.T) {
	tree, found := os.DirFS("../.."), 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name == "asm" || name == "bench" || requests[name] || d.Name() == "testdata" || len(name) > 1 && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if strings.Contains(string(text), `internal/pyjson"`) {
			found++
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := s.X.(*ast.Ident)
			if x != nil && x.Name == "json" && (s.Sel.Name == "Unmarshal" || s.Sel.Name == "NewDecoder") && decodes[name] == "" {
				t.Errorf("%s: json.%s folds the case of keys and merges objects; use pyjson, or say why not in this test", name, s.Sel.Name)
			}
			return true
		})
		return nil
	})
	if err != nil || found < 4 {
		t.Fatalf("%d users, %v", found, err)
	}
}
