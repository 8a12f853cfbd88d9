package arrows

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// of returns the graph of a package in the text of its files.
func of(t *testing.T, sources map[string]string) *Graph {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for name, text := range sources {
		f, err := parser.ParseFile(fset, name, "package p\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	g, err := graph(fset, files, importer.Default())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestArrows: package-level names, methods and fields of another file are arrows, and so is a
// method's receiver. Declarations within a function and names of the same file are not arrows.
func TestArrows(t *testing.T) {
	for name, c := range map[string]struct {
		uses string
		want bool
	}{
		"function": {"var x = f()", true},
		"type":     {"var x *t", true},
		"constant": {"var x [c]int", true},
		"method":   {"var x = v.m()", true},
		"promoted": {"type u struct{ own }; var x = u{}.n()", true},
		"field":    {"var x = own{}.field", true},
		"key":      {"var x = own{field: 1}", true},
		"receiver": {"func (t) other() {}", true},
		"argument": {"func x(argument int) int { return argument }", false},
		"own":      {"func x() int { return y() }; func y() int { return 0 }", false},
	} {
		g := of(t, map[string]string{
			"a.go": c.uses,
			"b.go": "const c = 3; type t struct{}; func (t) m() int { return 0 }; var v t; func f() int { return 0 }; type own struct{ field int }; func (own) n() int { return 0 }; func (own) argument() {}",
		})
		if got := g.uses(0, 1); got != c.want {
			t.Errorf("%s: is an arrow: %v, want %v", name, got, c.want)
		}
		if g.uses(1, 0) {
			t.Errorf("%s: there is an arrow back", name)
		}
	}
}

// ring returns a package in which each file uses the next one.
func ring(n int) map[string]string {
	sources := map[string]string{}
	for i := range n {
		sources[fmt.Sprintf("%02d.go", i)] = fmt.Sprintf("func f%d() { f%d() }", i, (i+1)%n)
	}
	return sources
}

// TestKnots: files of which each uses the next one are one knot, and one arrow of them leads up.
func TestKnots(t *testing.T) {
	for _, n := range []int{2, 4, 5, exact + 7} {
		g := of(t, ring(n))
		if knots := g.Knots(); len(knots) != 1 || len(knots[0]) != n {
			t.Errorf("a ring of %d files: knots %v", n, knots)
		}
		if up := g.Up(); len(up) != 1 {
			t.Errorf("a ring of %d files: arrows up %v, want one", n, up)
		}
	}
}

// TestUp: there are no more arrows up than necessary.
func TestUp(t *testing.T) {
	// All files use low, and low uses two of them. The other files use each other in one direction.
	sources := map[string]string{"low.go": "func low() { x0(); x1() }"}
	for i := range 4 {
		sources[fmt.Sprintf("x%d.go", i)] = fmt.Sprintf("func x%d() { low()%s }", i, strings.Repeat(fmt.Sprintf("; x%d()", i-1), min(i, 1)))
	}
	g := of(t, sources)
	up := g.Up()
	if len(up) != 2 {
		t.Errorf("arrows up: %v, want two", up)
	}
	for _, a := range up { // without these arrows, no files reach each other
		from, _ := slices.BinarySearch(g.Files, a.From)
		to, _ := slices.BinarySearch(g.Files, a.To)
		g.arrows[from*g.words+to/64] &^= 1 << (to % 64)
	}
	if knots := g.Knots(); knots != nil {
		t.Errorf("without the arrows up, knots %v are left", knots)
	}
}
