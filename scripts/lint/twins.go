package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"strings"
)

// twins finds functions of package kernels that differ from the methods of Threads(1). Each
// function must have the parameters of its method and only call it. Each method must have a
// function, except Run, which computes nothing itself.
func twins(t *tree) (problems []string) {
	functions, methods := map[string]*ast.FuncDecl{}, map[string]*ast.FuncDecl{}
	for _, f := range t.in("kernels") {
		for _, d := range f.Decls {
			switch d, ok := d.(*ast.FuncDecl); {
			case !ok || !d.Name.IsExported():
			case d.Recv == nil:
				functions[d.Name.Name] = d
			case types.ExprString(d.Recv.List[0].Type) == "Threads" && d.Name.Name != "Run":
				methods[d.Name.Name] = d
			}
		}
	}
	for name, method := range methods {
		f := functions[name]
		if f == nil {
			problems = append(problems, "Threads."+name+" is not a function of the package")
			continue
		}
		if got, want := printed(f.Type), printed(method.Type); got != want {
			problems = append(problems, fmt.Sprintf("%s is %s, and the method %s", name, got, want))
		}
		var args []string
		for _, p := range f.Type.Params.List {
			for _, n := range p.Names {
				args = append(args, n.Name)
			}
		}
		want := "Threads(1)." + name + "(" + strings.Join(args, ", ") + ")"
		if body := printed(f.Body); body != "{ "+want+" }" && body != "{ return "+want+" }" {
			problems = append(problems, fmt.Sprintf("the body of %s is %s, want only %s", name, body, want))
		}
	}
	return problems
}

// printed returns the text of a node on one line.
func printed(node any) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
