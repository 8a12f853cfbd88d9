package kernels

import (
	"bytes"
	"go/ast"
	"go/printer"
	"go/token"
	"strings"
	"testing"
)

// TestTwins expects the package's functions to be the methods of Threads(1): each has the
// parameters of its method and only calls it, and each method has its function, except Run.
func TestTwins(t *testing.T) {
	text := func(node any) string {
		var b bytes.Buffer
		if err := printer.Fprint(&b, token.NewFileSet(), node); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	all := exportedFunctions(t)
	twins := 0
	for key, method := range all {
		name, ok := strings.CutPrefix(key, "Threads.")
		if !ok || name == "Run" { // Run computes nothing itself
			continue
		}
		twins++
		f := all[name]
		if f == nil {
			t.Errorf("Threads.%s is not a function of the package", name)
			continue
		}
		if got, want := text(f.Type), text(method.Type); got != want {
			t.Errorf("%s is %s, and the method %s", name, got, want)
		}
		var args []string
		for _, p := range f.Type.Params.List {
			for _, n := range p.Names {
				args = append(args, n.Name)
			}
		}
		want := "Threads(1)." + name + "(" + strings.Join(args, ", ") + ")"
		if body := f.Body.List; len(body) != 1 || text(body[0].(*ast.ExprStmt).X) != want {
			t.Errorf("the body of %s is not %s", name, want)
		}
	}
	if twins < 20 {
		t.Errorf("%d methods of Threads found", twins)
	}
}
