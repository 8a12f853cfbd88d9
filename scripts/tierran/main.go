// Command tierran reads coverage profiles, lists the kernels of an instruction set that were
// called, and fails unless all of them were:
//
//	tierran ISA PROFILE...
//
// ISA is the suffix of the kernels' names, such as AVX512. The command runs at the root of the
// repository, with profiles of package kernels/internal/simd.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

const dir = "kernels/internal/simd"

func main() {
	if len(os.Args) < 3 {
		fatal("usage: tierran ISA PROFILE...")
	}
	isa := os.Args[1]
	covered, err := readProfiles(os.Args[2:])
	if err != nil {
		fatal(err)
	}
	called, err := kernels(isa, covered)
	if err != nil {
		fatal(err)
	}
	if len(called) == 0 {
		fatal("no kernel is declared for ", isa)
	}
	var missed []string
	for name, ran := range called {
		if !ran {
			missed = append(missed, name)
		}
	}
	fmt.Printf("%d of %d %s kernels ran\n", len(called)-len(missed), len(called), isa)
	if len(missed) > 0 {
		fatal("never called: ", strings.Join(missed, " "))
	}
}

func fatal(args ...any) {
	fmt.Fprintln(os.Stderr, append([]any{"tierran:"}, args...)...)
	os.Exit(1)
}

// block is a sequence of statements that run together.
type block struct{ line0, col0, line1, col1, statements, count int }

func (b block) contains(p token.Position) bool {
	return (p.Line > b.line0 || p.Line == b.line0 && p.Column >= b.col0) &&
		(p.Line < b.line1 || p.Line == b.line1 && p.Column < b.col1)
}

// readProfiles returns the executed blocks of each file in the directory.
func readProfiles(names []string) (map[string][]block, error) {
	covered := map[string][]block{}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			file, rest, _ := strings.Cut(lines.Text(), ".go:")
			if !strings.HasSuffix(filepath.Dir(file), "/"+dir) {
				continue
			}
			var b block
			if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
				&b.line0, &b.col0, &b.line1, &b.col1, &b.statements, &b.count); err != nil {
				return nil, fmt.Errorf("%s: %q: %w", name, lines.Text(), err)
			}
			if b.count > 0 {
				base := filepath.Base(file) + ".go"
				covered[base] = append(covered[base], b)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return covered, nil
}

// kernels returns the functions without a body whose names end in isa. The value of each says
// whether an executed block calls it.
func kernels(isa string, covered map[string][]block) (map[string]bool, error) {
	fset := token.NewFileSet()
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, f)
		}
	}
	called := map[string]bool{}
	for _, f := range files {
		for _, decl := range f.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body == nil && strings.HasSuffix(f.Name.Name, isa) {
				called[f.Name.Name] = false
			}
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if !ok {
				return true
			}
			if _, ok := called[name.Name]; ok {
				at := fset.Position(call.Pos())
				for _, b := range covered[filepath.Base(at.Filename)] {
					if b.contains(at) {
						called[name.Name] = true
					}
				}
			}
			return true
		})
	}
	return called, nil
}
