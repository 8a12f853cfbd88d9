package avoformer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ofCalls are the structs with a context, sorted. They live as long as one call does, or as the program.
var ofCalls = []string{
	"cmd/avoformer/app.go: app",             // the program
	"generation/job.go: job",                // a text in the scheduler, from the call to its end
	"internal/modelfiles/digest.go: reader", // a file while it is read: Read has no argument for a context
	"text/sound/sound.go: sink",             // a sound file while it is decoded
}

// TestContexts wants contexts as arguments: a struct that keeps one may outlive the call that the context is for.
func TestContexts(t *testing.T) {
	files, kept := 0, map[string]bool{}
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
		of := "" // the type that is looked at; "" for structs without a name
		var look func(n ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				of = n.Name.Name
				ast.Inspect(n.Type, look)
				of = ""
				return false
			case *ast.StructType:
				for _, f := range n.Fields.List {
					if types.ExprString(f.Type) == "context.Context" {
						kept[filepath.ToSlash(path)+": "+of] = true
					}
				}
			}
			return true
		}
		ast.Inspect(file, look)
		return nil
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files, %v", files, err)
	}
	if got := slices.Sorted(maps.Keys(kept)); !slices.Equal(got, ofCalls) {
		t.Errorf("contexts are kept by %q, want %q", got, ofCalls)
	}
}
