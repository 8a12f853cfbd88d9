package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// These are the limits for the longest file and function of kernels, in lines.
const mostInFile, mostInFunction = 400, 80

// shortKernels finds files and functions that are too long, except for generated ones.
func shortKernels(t *tree) (problems []string) {
	for _, f := range t.files {
		if !slices.Contains(kernelParts, f.dir) || ast.IsGenerated(f.File) {
			continue
		}
		if n := strings.Count(f.text, "\n"); n > mostInFile {
			problems = append(problems, fmt.Sprintf("%s has %d lines, want at most %d", f.path, n, mostInFile))
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if n := t.fset.Position(d.End()).Line - t.fset.Position(d.Pos()).Line + 1; n > mostInFunction {
					problems = append(problems, fmt.Sprintf("%s: %s has %d lines, want at most %d", f.path, d.Name.Name, n, mostInFunction))
				}
			}
		}
	}
	return problems
}
