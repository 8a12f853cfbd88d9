package avoformer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofCalls are structs with a context that live as long as one call does, or as the program.
var ofCalls = []string{
	"cmd/avoformer/app.go: app",             // the program
	"generation/job.go: job",                // a text in the scheduler, from the call to its end
	"internal/modelfiles/digest.go: reader", // a file while it is read: Read has no argument for a context
	"text/sound/sound.go: sink",             // a sound file while it is decoded
}

// TestContexts wants contexts as arguments: a struct that keeps one may outlive the call that the context is for.
func TestContexts(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (slices.Contains([]string{"bench", "scripts", "testdata", "node_modules"}, d.Name()) || len(path) > 1 && path[0] == '.') {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				if at := filepath.ToSlash(path) + ": " + spec.Name.Name; types.ExprString(f.Type) == "context.Context" && !slices.Contains(ofCalls, at) {
					t.Errorf("%s keeps a context", at)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files, %v", files, err)
	}
}
