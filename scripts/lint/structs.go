package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// structs holds the words with which the names of structs of arguments end, and the packages that
// use each word. All other packages use Options.
var structs = map[string][]string{
	"Params": {"kernels", "kernels/ref"},
	"Config": {"transformer", "models", "models/classic", "generation", "text/tokenizer"}, // in text/tokenizer it is tokenizer_config.json
}

// structsAreNamed finds structs of arguments whose names end in another word than the rule for
// their package requires.
func structsAreNamed(t *tree) (problems []string) {
	for _, f := range t.outside("internal", "examples", "asm", "bench", "scripts", "cmd", "doc") {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				s, ok := s.(*ast.TypeSpec)
				if !ok || !s.Name.IsExported() {
					continue
				}
				for word, dirs := range structs {
					if strings.HasSuffix(s.Name.Name, word) && !slices.Contains(dirs, f.dir) {
						problems = append(problems, fmt.Sprintf("%s declares %s, want Options", f.path, s.Name.Name))
					}
				}
			}
		}
	}
	return problems
}
