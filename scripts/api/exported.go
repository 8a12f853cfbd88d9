// This file lists the exported names of a package, one in each line, from its sources.

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// platform is the platform whose files are read.
var platform = build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc", ReleaseTags: build.Default.ReleaseTags}

// exported returns the lines of a module's packages, sorted.
func exported(module string, modules []string) ([]string, error) {
	var all []string
	err := filepath.WalkDir(module, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		slash := filepath.ToSlash(path)
		switch base := d.Name(); {
		case path == module:
		case strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"), slices.Contains([]string{"testdata", "internal", "examples", "scripts"}, base), slices.Contains(modules, slash),
			module == "." && slices.Contains([]string{"asm", "bench", "cmd"}, slash):
			return filepath.SkipDir
		}
		lines, err := packageLines(path, slash)
		all = append(all, lines...)
		return err
	})
	slices.Sort(all)
	return slices.Compact(all), err
}

// packageLines returns the lines of the package in a folder. A program or a folder without a
// package has no lines.
func packageLines(dir, name string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	l := lister{fset: token.NewFileSet(), prefix: name + ": "}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		if ok, err := platform.MatchFile(dir, e.Name()); err != nil || !ok {
			if err != nil {
				return nil, err
			}
			continue
		}
		file, err := parser.ParseFile(l.fset, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if file.Name.Name == "main" {
			return nil, nil
		}
		for _, d := range file.Decls {
			l.declaration(d)
		}
	}
	return l.lines, nil
}

type lister struct {
	fset   *token.FileSet
	prefix string
	lines  []string
}

func (l *lister) add(format string, args ...any) {
	l.lines = append(l.lines, l.prefix+strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// source returns a node in the form of gofmt, without comments.
func (l *lister) source(node any) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, l.fset, node); err != nil {
		return err.Error()
	}
	return out.String()
}

func (l *lister) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() || d.Recv != nil && !ast.IsExported(receiver(d.Recv.List[0].Type)) {
			return
		}
		what := "func "
		if d.Recv != nil {
			what = "method (" + l.source(d.Recv.List[0].Type) + ") "
		}
		l.add("%s%s %s", what, d.Name.Name, strings.TrimPrefix(l.source(d.Type), "func"))
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				l.typeSpec(s)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						l.add("%s %s %s", d.Tok, n.Name, l.source(orNothing(s.Type)))
					}
				}
			}
		}
	}
}

func orNothing(e ast.Expr) ast.Expr {
	if e == nil {
		return ast.NewIdent("")
	}
	return e
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// typeSpec lists a type and, in lines of their own, its exported fields or methods, so that a new
// field or method changes no other line.
func (l *lister) typeSpec(s *ast.TypeSpec) {
	if !s.Name.IsExported() {
		return
	}
	equals := map[bool]string{true: "= "}[s.Assign.IsValid()]
	switch t := s.Type.(type) {
	case *ast.StructType:
		l.add("type %s %sstruct", s.Name.Name, equals)
		for _, f := range t.Fields.List {
			if len(f.Names) == 0 && ast.IsExported(l.base(f.Type)) {
				l.add("field %s.%s, embedded", s.Name.Name, l.source(f.Type))
			}
			for _, n := range f.Names {
				if n.IsExported() {
					l.add("field %s.%s %s", s.Name.Name, n.Name, l.source(f.Type))
				}
			}
		}
	case *ast.InterfaceType:
		l.add("type %s %sinterface", s.Name.Name, equals)
		for _, m := range t.Methods.List {
			switch {
			case len(m.Names) == 0:
				l.add("in interface %s: %s", s.Name.Name, l.source(m.Type))
			default:
				l.add("in interface %s: %s %s", s.Name.Name, m.Names[0].Name, strings.TrimPrefix(l.source(m.Type), "func"))
			}
		}
	default:
		l.add("type %s %s%s", s.Name.Name, equals, l.source(s.Type))
	}
}

// base returns the last name of an embedded type.
func (l *lister) base(e ast.Expr) string {
	s := strings.TrimLeft(l.source(e), "*")
	return s[strings.LastIndex(s, ".")+1:]
}

// nameOf returns the exported name in a line. For a field or a method this is its own name.
func nameOf(line string) string {
	_, rest, _ := strings.Cut(line, ": ")
	if in, ok := strings.CutPrefix(rest, "in interface "); ok {
		_, rest, _ = strings.Cut(in, ": ")
		name := strings.Fields(rest)[0]
		return name[strings.LastIndex(name, ".")+1:]
	}
	if after, ok := strings.CutPrefix(rest, "method ("); ok {
		_, after, _ = strings.Cut(after, ") ")
		return strings.Fields(after)[0]
	}
	name := strings.TrimRight(strings.Fields(rest)[1], ",")
	return name[strings.LastIndex(name, ".")+1:]
}
