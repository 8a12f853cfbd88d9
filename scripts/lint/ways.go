package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// waysNameFigures checks the table of ways through a product. The field reads must list the figures
// of package tune that the way's condition reads, directly or in functions of its file that it
// calls. The conditions must be in the table's order.
func waysNameFigures(t *tree) (problems []string) {
	figures := map[string]bool{}
	for _, f := range t.in("kernels/internal/tune") {
		ast.Inspect(f.File, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "Gemm" {
				if of, ok := s.Type.(*ast.StructType); ok {
					for _, field := range of.Fields.List {
						for _, name := range field.Names {
							figures[name.Name] = true
						}
					}
				}
			}
			return true
		})
	}
	functions := map[string]*ast.FuncDecl{}
	var table *ast.CompositeLit
	for _, f := range t.in("kernels/internal/product") {
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Body != nil && n.Recv == nil && f.path == "kernels/internal/product/ways.go" {
					functions[n.Name.Name] = n
				}
			case *ast.ValueSpec:
				if n.Names[0].Name == "ways" && len(n.Values) == 1 {
					table, _ = n.Values[0].(*ast.CompositeLit)
				}
			}
			return true
		})
	}
	if table == nil {
		return nil
	}
	var order []string
	said := map[string][]string{}
	for _, e := range table.Elts {
		row, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		name := types.ExprString(row.Key)
		order = append(order, name)
		ast.Inspect(row.Value, func(n ast.Node) bool {
			if f, ok := n.(*ast.KeyValueExpr); ok && types.ExprString(f.Key) == "reads" {
				text, _ := strconv.Unquote(types.ExprString(f.Value))
				said[name] = slices.Sorted(slices.Values(strings.Fields(text)))
			}
			return true
		})
	}
	var tried []string
	for _, name := range []string{"wayOf", "wayOfPacked"} {
		for _, c := range conditions(functions[name]) {
			tried = append(tried, c.way)
			if read := figuresRead(c.on, figures, functions); !slices.Equal(read, said[c.way]) {
				problems = append(problems, fmt.Sprintf("%s says that it reads %v, and reads %v", c.way, said[c.way], read))
			}
		}
	}
	if !slices.Equal(tried, order) {
		problems = append(problems, fmt.Sprintf("ways are tried in the order %v, want that of the table, %v", tried, order))
	}
	return problems
}

// A condition is the condition of a way: a case of a switch, or nil for the last way, which needs
// none.
type condition struct {
	way string
	on  ast.Node
}

// conditions returns the cases of a function's switch that return a way, and the way that the
// function returns at its end.
func conditions(f *ast.FuncDecl) (all []condition) {
	if f == nil {
		return nil
	}
	returned := func(body []ast.Stmt) string {
		if len(body) == 0 {
			return ""
		}
		r, ok := body[len(body)-1].(*ast.ReturnStmt)
		if !ok || len(r.Results) != 1 {
			return ""
		}
		name, _ := r.Results[0].(*ast.Ident)
		if name == nil {
			return ""
		}
		return name.Name
	}
	for _, s := range f.Body.List {
		if s, ok := s.(*ast.SwitchStmt); ok {
			for _, c := range s.Body.List {
				if c := c.(*ast.CaseClause); len(c.List) == 1 {
					all = append(all, condition{returned(c.Body), c.List[0]})
				}
			}
		}
	}
	if last := returned(f.Body.List); last != "" {
		all = append(all, condition{way: last})
	}
	return all
}

// figuresRead returns the sorted figures that a node names, directly or in the functions that it
// calls.
func figuresRead(of ast.Node, figures map[string]bool, functions map[string]*ast.FuncDecl) []string {
	read, seen := map[string]bool{}, map[string]bool{}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !seen[id.Name] {
			seen[id.Name] = true
			read[id.Name] = figures[id.Name]
			if f := functions[id.Name]; f != nil {
				ast.Inspect(f.Body, visit)
			}
		}
		return true
	}
	if of != nil {
		ast.Inspect(of, visit)
	}
	maps.DeleteFunc(read, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(read))
}
