package product

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels/internal/simd"
	"github.com/avoformer/avoformer/kernels/internal/tune"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// TestWays expects some product to take each way. With -v it prints the table.
func TestWays(t *testing.T) {
	packed := func(f weights.Format) *weights.Record { return weights.Of(f, simd.Active()) }
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	for w, s := range [...]struct {
		a left
		b right
	}{
		rowByRows:    {left{m: 1, k: 768, ld: 768}, right{n: 768, ld: 768}},
		dots:         {left{m: 10, k: 512, ld: 512}, right{n: 512, ld: 512, trans: true}},
		near:         {left{m: 4, k: 64, ld: 64}, right{n: 64, ld: 64}},
		inPlace:      {left{m: 4, k: 4096, ld: 4096}, right{n: 4096, ld: 4096}},
		packedHere:   {left{m: 512, k: 4096, ld: 4096}, right{n: 4096, ld: 4096}},
		integers:     {left{m: 128, k: 768, ld: 768}, right{n: 768, format: packed(weights.Q4_K)}},
		pairsOf16:    {left{m: 1, k: 768, ld: 768}, right{n: 768, format: &weights.Record{Format: weights.BF16Fast, PairsOf16: true}}},
		rowByPanels:  {left{m: 1, k: 768, ld: 768}, right{n: 768, format: packed(weights.BF16)}},
		halves:       {left{m: 4, k: 768, ld: 768}, right{n: 768, format: packed(weights.F16)}},
		widened:      {left{m: 512, k: 768, ld: 768}, right{n: 768, format: packed(weights.F16)}},
		packedBefore: {left{m: 512, k: 768, ld: 768}, right{n: 768, format: packed(weights.F32)}},
	} {
		r := &ways[w]
		t.Logf("%-18s %s (%s)", r.name, r.why, strings.Join(strings.Fields(r.reads), ", "))
		isa := simd.Active()
		if way(w) == halves && !s.b.format.HasPanel() || way(w) == near && simd.KernelGemmNear.On(isa).ISA != isa {
			continue // this tier has no kernel for it
		}
		if got := wayOf(s.a, s.b); got != way(w) {
			t.Errorf("%+v goes by %s, want %s", s, ways[got].name, r.name)
		}
	}
}

// TestWaysNameTheirFigures expects the figures of package tune in the source of a way's condition,
// including functions of this file that it calls, to be the ones in the table, and the conditions to be in
// the table's order.
func TestWaysNameTheirFigures(t *testing.T) {
	figures := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeOf(tune.Gemm{})) {
		figures[f.Name] = true
	}
	text, err := os.ReadFile("ways.go")
	if err != nil {
		t.Skip(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "ways.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]*ast.FuncDecl{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			functions[f.Name.Name] = f
		}
	}
	figuresOf := func(of ast.Node) (names []string) {
		names = []string{}
		seen := map[string]bool{}
		var visit func(n ast.Node) bool
		visit = func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
				seen[id.Name] = true
				if figures[id.Name] {
					names = append(names, id.Name)
				}
				if f := functions[id.Name]; f != nil {
					ast.Inspect(f.Body, visit)
				}
			}
			return true
		}
		ast.Inspect(of, visit)
		slices.Sort(names)
		return names
	}
	names := map[string]way{"rowByRows": rowByRows, "dots": dots, "near": near, "inPlace": inPlace, "packedHere": packedHere,
		"integers": integers, "pairsOf16": pairsOf16, "rowByPanels": rowByPanels, "halves": halves, "widened": widened, "packedBefore": packedBefore}
	var order []way
	check := func(name ast.Expr, condition ast.Expr) {
		w := names[fmt.Sprint(name)]
		order = append(order, w)
		want, read := strings.Fields(ways[w].reads), []string{}
		if condition != nil {
			read = figuresOf(condition)
		}
		if slices.Sort(want); !slices.Equal(want, read) {
			t.Errorf("%s names %v, and reads %v", ways[w].name, want, read)
		}
	}
	for _, f := range []string{"wayOf", "wayOfPacked"} {
		for _, s := range functions[f].Body.List {
			switch s := s.(type) {
			case *ast.SwitchStmt:
				for _, c := range s.Body.List {
					c := c.(*ast.CaseClause)
					check(c.Body[0].(*ast.ReturnStmt).Results[0], c.List[0])
				}
			case *ast.ReturnStmt:
				check(s.Results[0], nil)
			}
		}
	}
	if len(order) != len(ways) || !slices.IsSorted(order) {
		t.Errorf("ways are tried in the order %v, want that of the table", order)
	}
}

// TestFitsLines expects B in place up to the tiles of the family if its rows fill lines and do
// not evict each other.
func TestFitsLines(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.SapphireRapids
	for _, c := range []struct {
		m, k, ld int
		want     bool
	}{{560, 768, 768, true}, {561, 768, 768, false}, {128, 3072, 768, true}, {128, 768, 776, false}, {128, 768, 3072, false}, {128, 256, 3072, true}, {100, 1024, 1024, false}, {100, 1040, 1040, true}} {
		if got := fitsLines(left{m: c.m, k: c.k}, right{ld: c.ld}, 14, 32); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if tune.Used = tune.Zen4; fitsLines(left{m: 1, k: 8}, right{ld: 16}, 14, 32) {
		t.Error("not for zen4")
	}
}

// TestFitsTiles: with several tiles, rows of one line must not have evicted each other.
func TestFitsTiles(t *testing.T) {
	kept := tune.Used
	t.Cleanup(func() { tune.Used = kept })
	tune.Used = tune.Zen4
	for _, c := range []struct {
		m, nr, k, ld int
		want         bool
	}{{7, 16, 768, 3072, false}, {7, 16, 256, 3072, true}, {7, 16, 768, 3080, true}, {18, 16, 768, 768, true},
		{19, 16, 768, 768, false}, {18, 32, 768, 3072, true}} {
		if got := fitsTiles(left{m: c.m, k: c.k}, right{ld: c.ld}, 6, c.nr); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
