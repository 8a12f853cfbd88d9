package kernels

// The rooms of the package: which may import which, and that no room hides a knot of files.

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	modulePath = "github.com/avoformer/avoformer/"
	// Files that all reach each other by references are a knot.
	mostInKnot              = 4
	mostLines, mostFuncRows = 400, 80
)

// rooms are the packages of kernels, each of which may import only those before it, from the root of
// the module. Tests may import what they like.
var rooms = []string{
	"internal/approx", "internal/half", "internal/race",
	"kernels/internal/par",
	"kernels/internal/order",
	"kernels/internal/simd",
	"kernels/internal/mem",
	"kernels/internal/tune",
	"kernels/internal/pack",
	"kernels/internal/weights",
	"kernels/internal/mask",
	"kernels/internal/row",
	"kernels/internal/product",
	"kernels/internal/attend",
	"kernels",
}

// TestRooms holds the packages to their order and every package to small knots. With -v it prints
// the graph.
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
	h := newHouse(rooms)
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
		r, problems := h.add(room, sources)
		for _, problem := range problems {
			t.Error(problem)
		}
		t.Log(r)
	}
}

// TestRoomsFindArrowsUp shows that the test above would fail.
func TestRoomsFindArrowsUp(t *testing.T) {
	h := newHouse([]string{"low", "high"})
	up := fmt.Sprintf("package low\nimport %q\nvar X = high.Y", modulePath+"high")
	if _, problems := h.add("low", map[string]string{"x.go": up}); len(problems) == 0 {
		t.Error("an import of a later room passes")
	}
	for size, want := range map[int]bool{mostInKnot: true, mostInKnot + 1: false} {
		ring := map[string]string{}
		for i := range size {
			ring[fmt.Sprintf("%d.go", i)] = fmt.Sprintf("package high\ntype t%d struct{}\nfunc (*t%d) f() { (*t%d).f(nil) }", i, i, (i+1)%size)
		}
		if _, problems := newHouse([]string{"high"}).add("high", ring); (len(problems) == 0) != want {
			t.Errorf("a knot of %d files: %v", size, problems)
		}
	}
	long := map[string]string{"x.go": "package high\nfunc f() {\n" + strings.Repeat("\n", mostFuncRows) + "}\n" + strings.Repeat("\n", mostLines)}
	if _, problems := newHouse([]string{"high"}).add("high", long); len(problems) != 2 {
		t.Errorf("a long function in a long file: %v", problems)
	}
}

// house is the rooms that have been read.
type house struct {
	order    []string
	fset     *token.FileSet
	packages map[string]*types.Package // by path from the root of the module
	standard types.Importer
}

func newHouse(order []string) *house {
	fset := token.NewFileSet()
	return &house{order, fset, map[string]*types.Package{}, importer.ForCompiler(fset, "source", nil)}
}

// Import is the rooms before, the standard library, and nothing in the place of other modules.
func (h *house) Import(name string) (*types.Package, error) {
	if room, mine := strings.CutPrefix(name, modulePath); mine {
		if p := h.packages[room]; p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("%s has no place before", room)
	}
	if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		return p, nil
	}
	return h.standard.Import(name)
}

// roomGraph is what a room consists of: its files, and what they refer to.
type roomGraph struct {
	name    string
	imports []string
	lines   map[string]int
	uses    map[string]map[string]bool // of files, by files of the room
	longest string                     // function
	rows    int                        // of it
}

// add checks a room from the text of its files.
func (h *house) add(room string, sources map[string]string) (r *roomGraph, problems []string) {
	r = &roomGraph{name: room, lines: map[string]int{}, uses: map[string]map[string]bool{}}
	complain := func(format string, args ...any) {
		problems = append(problems, room+": "+fmt.Sprintf(format, args...))
	}
	var files []*ast.File
	foreign := map[string]bool{} // files that use other modules, which are not read
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		f, err := parser.ParseFile(h.fset, name, sources[name], parser.ParseComments)
		if err != nil {
			complain("%v", err)
			continue
		}
		files = append(files, f)
		r.uses[name] = map[string]bool{}
		r.lines[name] = strings.Count(sources[name], "\n")
		if r.lines[name] > mostLines && !ast.IsGenerated(f) {
			complain("%s has %d lines, want at most %d", name, r.lines[name], mostLines)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && !ast.IsGenerated(f) {
				if rows := h.fset.Position(d.End()).Line - h.fset.Position(d.Pos()).Line + 1; rows > r.rows {
					r.longest, r.rows = d.Name.Name, rows
				}
			}
		}
		for _, i := range f.Imports {
			foreign[name] = foreign[name] || strings.Contains(i.Path.Value, ".") && !strings.Contains(i.Path.Value, modulePath)
			if other, mine := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), modulePath); mine && !slices.Contains(r.imports, other) {
				r.imports = append(r.imports, other)
				if at := slices.Index(h.order, other); at < 0 || at >= slices.Index(h.order, room) {
					complain("%s imports %s, which is not before it", name, other)
				}
			}
		}
	}
	if r.rows > mostFuncRows {
		complain("%s has %d lines, want at most %d", r.longest, r.rows, mostFuncRows)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: h, Error: func(err error) {
		if e := err.(types.Error); !foreign[h.fset.Position(e.Pos).Filename] {
			complain("%v", err)
		}
	}}
	p, _ := config.Check(modulePath+room, h.fset, files, &info)
	h.packages[room] = p
	for id, o := range info.Uses {
		from, to := h.fset.Position(id.Pos()).Filename, ""
		if o.Pkg() == p && o.Pos().IsValid() {
			to = h.fset.Position(o.Pos()).Filename
		}
		if to != "" && to != from {
			r.uses[from][to] = true
		}
	}
	for _, knot := range r.knots() {
		if len(knot) > mostInKnot {
			complain("%d files all reach each other, want at most %d: %v", len(knot), mostInKnot, knot)
		}
	}
	return r, problems
}

// reach is the files that a file reaches, over others too.
func (r *roomGraph) reach(from string, seen map[string]bool) map[string]bool {
	for to := range r.uses[from] {
		if !seen[to] {
			seen[to] = true
			r.reach(to, seen)
		}
	}
	return seen
}

// knots are the sets of files that all reach each other.
func (r *roomGraph) knots() (knots [][]string) {
	reach, done := map[string]map[string]bool{}, map[string]bool{}
	names := slices.Sorted(maps.Keys(r.uses))
	for _, name := range names {
		reach[name] = r.reach(name, map[string]bool{})
	}
	for _, name := range names {
		if !reach[name][name] || done[name] {
			continue
		}
		var knot []string
		for _, other := range names {
			if reach[name][other] && reach[other][name] {
				knot, done[other] = append(knot, other), true
			}
		}
		knots = append(knots, knot)
	}
	return knots
}

// String is a table of the files and of what they refer to.
func (r *roomGraph) String() string {
	var b strings.Builder
	total := 0
	for _, n := range r.lines {
		total += n
	}
	fmt.Fprintf(&b, "%s: %d files, %d lines, longest function %s of %d; imports %v; knots %v\n", r.name, len(r.lines), total, r.longest, r.rows, r.imports, r.knots())
	for _, name := range slices.Sorted(maps.Keys(r.uses)) {
		fmt.Fprintf(&b, "  %-28s %5d  %s\n", name, r.lines[name], strings.Join(slices.Sorted(maps.Keys(r.uses[name])), " "))
	}
	return b.String()
}
