package models_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

// Rules for the code of architectures.

// TestPassesStop wants a pass to stop at its first error. cmp.Or evaluates all its arguments, so that those
// after an error would compute with what is not there.
func TestPassesStop(t *testing.T) {
	t.Parallel()
	read := 0
	for _, pattern := range []string{"*.go", "../transformer/*.go", "../examples/*/*.go"} {
		for _, path := range tftest.Must(filepath.Glob(pattern))(t) {
			files := token.NewFileSet()
			file := tftest.Must(parser.ParseFile(files, path, nil, parser.SkipObjectResolution))(t)
			read++
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && selects(call.Fun, "cmp", "Or") {
					for _, arg := range call.Args {
						if computes(arg) {
							t.Errorf("%v: cmp.Or computes further after an error", files.Position(arg.Pos()))
						}
					}
				}
				return true
			})
		}
	}
	if read < 100 {
		t.Errorf("%d files", read)
	}
}

// selects reports whether an expression is pkg.name.
func selects(e ast.Expr, pkg, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// computes reports whether an expression is a call with a workspace, such as Forward(ws, ...). One of a method named check only looks.
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

// TestRegisterTwice wants a model type to be registered once.
func TestRegisterTwice(t *testing.T) {
	const want = `models.Register: model type "llama" is registered already`
	defer func() {
		if got := recover(); got != want {
			t.Errorf("panic %v, want %s", got, want)
		}
	}()
	models.Register(func(*models.Checkpoint) (*models.Model, error) { return nil, nil }, "llama")
}
