package main

import "go/ast"

// passesStop finds passes of a model that do not stop at their first error. cmp.Or evaluates all
// its arguments, so arguments after an error would compute with values that do not exist.
func passesStop(t *tree) (problems []string) {
	for _, f := range t.files {
		if f.dir != "models" && f.dir != "transformer" && !below(f.dir, "examples") && !below(f.dir, "models/internal/block") {
			continue
		}
		ast.Inspect(f.File, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && selects(call.Fun, "cmp", "Or") {
				for _, arg := range call.Args {
					if computes(arg) {
						problems = append(problems, t.fset.Position(arg.Pos()).String()+": cmp.Or computes further after an error")
					}
				}
			}
			return true
		})
	}
	return problems
}

// computes reports whether an expression is a call with a workspace, such as Forward(ws, ...). A
// method named check computes nothing.
func computes(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "check" {
		return false
	}
	x, ok := call.Args[0].(*ast.Ident)
	return ok && x.Name == "ws"
}
