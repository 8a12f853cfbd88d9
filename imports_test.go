package avoformer_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// floors are the folders of this module whose packages build on each other, from below.
var floors = []string{"kernels", "search", "transformer", "models", "generation", "examples"}

// floor is that of a package, by its path in this module; -1 if it belongs to none.
func floor(path string) int {
	for i, f := range floors {
		if path == f || strings.HasPrefix(path, f+"/") {
			return i
		}
	}
	return -1
}

// TestImportsPointDown: no package imports one of a floor above its own, and neither do those of
// none, such as grammar, import any, except for what is in internal. Tests may.
func TestImportsPointDown(t *testing.T) {
	const module = "github.com/avoformer/avoformer/"
	seen := map[int]int{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || floor(dir) < 0 && dir != "grammar" && dir != "hub" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if name, own := strings.CutPrefix(name, module); own {
				seen[floor(dir)]++
				if floor(name) > floor(dir) {
					t.Errorf("%s imports %s", path, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range floors {
		if seen[i] == 0 {
			t.Errorf("no package of %s imports one of this module", f)
		}
	}
}
