package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// kindsBelongToFault finds kinds of errors that a published package other than fault declares,
// under a name of its own or under the name in fault.
func kindsBelongToFault(t *tree) (problems []string) {
	for _, f := range t.outside("internal", "examples", "asm", "bench", "scripts", "doc") {
		if f.Name.Name == "fault" {
			continue
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					if strings.HasPrefix(n.Name, "Err") {
						problems = append(problems, fmt.Sprintf("%s declares %s", f.path, n.Name))
					}
				}
			}
		}
	}
	return problems
}
