package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// kept holds the structs with a context that live as long as one call, or as long as the program.
var kept = map[string]string{
	"cmd/avoformer/app.go: app":             "the program",
	"generation/job.go: job":                "a text in the scheduler, from the call to its end",
	"hub/request.go: watched":               "the body of an answer: Read has no argument for a context",
	"internal/modelfiles/digest.go: reader": "a file while it is read: Read has no argument for a context",
	"text/sound/sound.go: sink":             "a sound file while it is decoded",
}

// contextsAreArguments finds structs that keep a context. They may outlive the call that the
// context is for.
func contextsAreArguments(t *tree) (problems []string) {
	for _, f := range t.outside("bench", "scripts") {
		of := "" // the current type; "" for a struct without a name
		var look func(n ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				of = n.Name.Name
				ast.Inspect(n.Type, look)
				of = ""
				return false
			case *ast.StructType:
				for _, field := range n.Fields.List {
					if place := f.path + ": " + of; types.ExprString(field.Type) == "context.Context" && kept[place] == "" {
						problems = append(problems, place+" keeps a context")
					}
				}
			}
			return true
		}
		ast.Inspect(f.File, look)
	}
	return problems
}

// contextsGiveTheirCause finds errors that are a context's Err, which says only that the context
// has ended. Its cause says why. Err is right for asking whether the context has ended.
func contextsGiveTheirCause(t *tree) (problems []string) {
	for _, f := range t.outside("bench", "scripts") {
		asked := map[ast.Expr]bool{} // the operands of == and !=
		ast.Inspect(f.File, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					asked[n.X] = true
				}
			case *ast.CallExpr:
				if name := types.ExprString(n.Fun); (name == "ctx.Err" || strings.HasSuffix(name, ".ctx.Err")) && !asked[n] {
					problems = append(problems, fmt.Sprintf("%s: %s() where context.Cause says why", t.fset.Position(n.Pos()), name))
				}
			}
			return true
		})
	}
	return problems
}
