package kernels

// The packages below kernels, called rooms: which may import which, and how long files and functions may be.
// TestArrows at the root of the module checks the order of the files within a room.

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	modulePath              = "github.com/avoformer/avoformer/"
	mostLines, mostFuncRows = 400, 80
)

// rooms has the packages of kernels, each of which may import only the packages before it, beginning
// with the root of the module. Tests may import any package.
var rooms = []string{
	"internal/approx", "internal/elementary", "internal/half", "internal/meetings", "internal/race",
	"kernels/internal/par",
	"kernels/internal/order",
	"kernels/internal/simd",
	"kernels/internal/mem",
	"kernels/internal/tune",
	"kernels/internal/pack",
	"kernels/internal/weights",
	"kernels/internal/kv",
	"kernels/internal/mask",
	"kernels/internal/row",
	"kernels/internal/product",
	"kernels/internal/attend",
	"kernels",
}

// TestRooms checks the order of the packages, and the lengths of their files and functions.
func TestRooms(t *testing.T) {
	if _, err := os.Stat("../go.mod"); err != nil {
		t.Skip("only the package is here: ", err)
	}
	found, err := filepath.Glob("internal/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range found {
		if !slices.Contains(rooms, path.Join("kernels", filepath.ToSlash(dir))) {
			t.Errorf("%s has no place in the order of rooms", dir)
		}
	}
	for _, room := range rooms {
		sources := map[string]string{}
		p, err := build.ImportDir(filepath.Join("..", filepath.FromSlash(room)), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			sources[name] = string(text)
		}
		for _, problem := range roomProblems(rooms, room, sources) {
			t.Error(problem)
		}
	}
}

// TestRoomProblems shows that the test above would fail.
func TestRoomProblems(t *testing.T) {
	for source, problems := range map[string]int{
		fmt.Sprintf("package low\nimport _ %q", modulePath+"high"):                                                 1,
		"package low\nimport _ \"strings\"":                                                                        0,
		"package low\nfunc f() {\n" + strings.Repeat("\n", mostFuncRows) + "}\n" + strings.Repeat("\n", mostLines): 2,
	} {
		if got := roomProblems([]string{"low", "high"}, "low", map[string]string{"x.go": source}); len(got) != problems {
			t.Errorf("%.60q has the problems %q, want %d", source, got, problems)
		}
	}
}

// roomProblems returns the problems of a room that has the given files, for an order of rooms.
func roomProblems(order []string, room string, sources map[string]string) (problems []string) {
	complain := func(format string, args ...any) {
		problems = append(problems, room+": "+fmt.Sprintf(format, args...))
	}
	fset := token.NewFileSet()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(fset, name, sources[name], parser.ParseComments)
		if err != nil {
			complain("%v", err)
			continue
		}
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if other, own := strings.CutPrefix(imported, modulePath); err != nil || own && !slices.Contains(order[:slices.Index(order, room)], other) {
				complain("%s imports %s, which is not before it", name, imported)
			}
		}
		if ast.IsGenerated(f) {
			continue
		}
		if n := strings.Count(sources[name], "\n"); n > mostLines {
			complain("%s has %d lines, want at most %d", name, n, mostLines)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if rows := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1; rows > mostFuncRows {
					complain("%s has %d lines, want at most %d", d.Name.Name, rows, mostFuncRows)
				}
			}
		}
	}
	return problems
}
