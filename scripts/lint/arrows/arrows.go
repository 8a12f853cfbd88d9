// Package arrows measures how the files of a package depend on each other.
//
// The files are nodes, and an arrow leads from a file to each other file whose names it uses:
// package-level names, methods and fields. Files that all reach each other are a knot. An arrow
// runs up if it must be removed before the files can be put in an order in which every arrow leads
// down; the measure is the smallest number of such arrows.
package arrows

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"math/bits"
	"path/filepath"
	"slices"
	"strings"
)

// A Graph is the files of a package and the arrows between them.
type Graph struct {
	Files  []string // in alphabetical order
	arrows []uint64 // for each file, one bit for each file that it uses; see words
	words  int      // the number of 64-bit words for each file
}

// Of returns the graph of the package in the folder dir. Tests are not part of it.
func Of(dir string, imports types.Importer) (*Graph, error) {
	p, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return graph(fset, files, imports)
}

// graph returns the graph of parsed files.
func graph(fset *token.FileSet, files []*ast.File, imports types.Importer) (*Graph, error) {
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	p, err := (&types.Config{Importer: imports}).Check("p", fset, files, &info)
	if err != nil {
		return nil, err
	}
	name := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	var names []string
	for _, f := range files {
		names = append(names, name(f.Pos()))
	}
	g := newGraph(names)
	for id, object := range info.Uses {
		if object.Pkg() == p && object.Pos().IsValid() && !local(object, p) {
			g.add(name(id.Pos()), name(object.Pos()))
		}
	}
	return g, nil
}

// local reports whether an object is declared within a function of the package. A function is in
// one file, so uses of its objects are never arrows.
func local(object types.Object, p *types.Package) bool {
	return object.Parent() != nil && object.Parent() != p.Scope()
}

func newGraph(files []string) *Graph {
	files = slices.Sorted(slices.Values(files))
	words := (len(files) + 63) / 64
	return &Graph{Files: files, arrows: make([]uint64, len(files)*words), words: words}
}

// New returns a graph of files. uses lists the files that each file uses.
func New(files []string, uses map[string][]string) *Graph {
	g := newGraph(files)
	for from, others := range uses {
		for _, to := range others {
			g.add(from, to)
		}
	}
	return g
}

// add adds an arrow, unless it leads from a file to itself.
func (g *Graph) add(from, to string) {
	f, _ := slices.BinarySearch(g.Files, from)
	t, _ := slices.BinarySearch(g.Files, to)
	if f != t {
		g.arrows[f*g.words+t/64] |= 1 << (t % 64)
	}
}

// uses reports whether there is an arrow between two files, given by their indices.
func (g *Graph) uses(from, to int) bool {
	return g.arrows[from*g.words+to/64]>>(to%64)&1 != 0
}

// Arrows returns the number of arrows.
func (g *Graph) Arrows() int {
	n := 0
	for _, w := range g.arrows {
		n += bits.OnesCount64(w)
	}
	return n
}

// Knots returns the sets of two and more files that all reach each other, the largest first.
func (g *Graph) Knots() [][]string {
	var all [][]string
	for _, k := range g.knots() {
		var names []string
		for _, i := range k {
			names = append(names, g.Files[i])
		}
		all = append(all, names)
	}
	return all
}

// knots returns the files' indices for Knots.
func (g *Graph) knots() [][]int {
	n := len(g.Files)
	reach := make([]map[int]bool, n)
	for i := range reach {
		reach[i] = map[int]bool{}
		g.follow(i, reach[i])
	}
	var all [][]int
	done := map[int]bool{}
	for i := range n {
		if done[i] || !reach[i][i] {
			continue
		}
		var knot []int
		for j := range n {
			if reach[i][j] && reach[j][i] {
				knot, done[j] = append(knot, j), true
			}
		}
		all = append(all, knot)
	}
	slices.SortStableFunc(all, func(a, b []int) int { return len(b) - len(a) })
	return all
}

// follow marks the files that a file reaches.
func (g *Graph) follow(from int, seen map[int]bool) {
	for to := range g.Files {
		if g.uses(from, to) && !seen[to] {
			seen[to] = true
			g.follow(to, seen)
		}
	}
}

// An Arrow leads from a file to another one.
type Arrow struct{ From, To string }

func (a Arrow) String() string { return a.From + " -> " + a.To }

// Up returns a smallest set of arrows whose removal allows an order of the files in which every
// arrow leads down. For a knot of more than exact files, the set may not be the smallest.
func (g *Graph) Up() []Arrow {
	var up []Arrow
	for _, knot := range g.knots() {
		order := g.order(knot) // from the bottom up
		for i, from := range order {
			for _, to := range order[i+1:] {
				if g.uses(from, to) {
					up = append(up, Arrow{g.Files[from], g.Files[to]})
				}
			}
		}
	}
	slices.SortFunc(up, func(a, b Arrow) int { return strings.Compare(a.String(), b.String()) })
	return up
}

// exact is the size of the largest knot for which every order is considered.
const exact = 18

// order returns the files of a knot in an order with few arrows up, the lowest file first.
func (g *Graph) order(knot []int) []int {
	if len(knot) > exact {
		return g.greedy(knot)
	}
	// uses[i] is the set of files that file i of the knot uses. cost[s] is the smallest number of
	// arrows up among the files in set s if they are the lowest, and last[s] is the highest of
	// them.
	uses := make([]uint32, len(knot))
	for i, from := range knot {
		for j, to := range knot {
			if g.uses(from, to) {
				uses[i] |= 1 << j
			}
		}
	}
	cost, last := make([]int, 1<<len(knot)), make([]int, 1<<len(knot))
	for s := 1; s < len(cost); s++ {
		cost[s] = -1
		for top := range knot {
			below := s &^ (1 << top)
			if below == s {
				continue
			}
			c := cost[below]
			for i := range knot {
				if below>>i&1 != 0 {
					c += int(uses[i] >> top & 1)
				}
			}
			if cost[s] < 0 || c < cost[s] {
				cost[s], last[s] = c, top
			}
		}
	}
	order := make([]int, len(knot))
	for i, s := len(knot)-1, len(cost)-1; i >= 0; i-- {
		order[i] = knot[last[s]]
		s &^= 1 << last[s]
	}
	return order
}

// greedy repeatedly chooses the file that uses the fewest of the remaining files. Of several such
// files, it chooses the one that most of the remaining files use.
func (g *Graph) greedy(knot []int) []int {
	left := slices.Clone(knot)
	var order []int
	for len(left) > 0 {
		balance := func(i int) int {
			n := 0
			for _, j := range left {
				if g.uses(i, j) {
					n++
				}
				if g.uses(j, i) {
					n--
				}
			}
			return n
		}
		lowest := slices.MinFunc(left, func(a, b int) int { return balance(a) - balance(b) })
		order = append(order, lowest)
		left = slices.DeleteFunc(left, func(i int) bool { return i == lowest })
	}
	return order
}

// String lists what each file uses.
func (g *Graph) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d files, %d arrows, %d up %v, knots %v\n", len(g.Files), g.Arrows(), len(g.Up()), g.Up(), g.Knots())
	for i, name := range g.Files {
		fmt.Fprintf(&b, "  %-28s", name)
		for j, other := range g.Files {
			if g.uses(i, j) {
				fmt.Fprintf(&b, " %s", other)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
