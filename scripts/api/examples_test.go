package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample holds exported functions that no example calls, with the reasons.
var withoutExample = map[string]string{
	"hub.Pull":                     "its example would use the network",
	"machine.AllowAffinityChanges": "changes the process",
	"machine.StopWorkers":          "changes the process",
	"machine.Use":                  "changes the process",
	"models.OpenCrossEncoder":      "for package text",
	"models.ModulesUse":            "for package text",
	"models.TokenizerFields":       "for package text",
	"models.TokenizerFolder":       "for package text",
	"machine.Features":             "its result depends on the machine",
	"models.TraitsOf":              "for package text",
	"models.UseOfGGUF":             "as UseOf",
	"bundle.Apply":                 "for the packages beside it",
	"bundle.Register":              "for the packages beside it",
}

// TestExamples: for each exported function of the published packages there is an example with
// checked output that calls it, so that go doc and pkg.go.dev show its use. For Open and OpenFS,
// which differ only in where the files are, one example is enough. The pipelines of Beam are
// examples themselves, in a folder of their own.
func TestExamples(t *testing.T) {
	t.Chdir("../..")
	packages, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range packages {
		err := filepath.WalkDir(m, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			path = filepath.ToSlash(path)
			if slices.ContainsFunc([]string{"internal", "testdata", "examples", "classic", "ref", "beam", "asm", "bench", "scripts", "cmd", "deploy", "doc"}, func(s string) bool { return d.Name() == s }) ||
				path != m && slices.Contains(packages, path) || len(d.Name()) > 1 && d.Name()[0] == '.' {
				return filepath.SkipDir
			}
			functions, called := examplesOf(t, path)
			found += len(functions)
			for _, f := range functions {
				_, name, _ := strings.Cut(f, ".")
				if !called[name] && !(strings.HasSuffix(name, "FS") && called[strings.TrimSuffix(name, "FS")]) && withoutExample[f] == "" {
					t.Errorf("%s: no example calls %s", path, f)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 150 {
		t.Errorf("%d functions found", found)
	}
}

// examplesOf returns the exported functions of a package in the form package.Name, and the names
// that its examples with output call.
func examplesOf(t *testing.T, dir string) (functions []string, called map[string]bool) {
	called = map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			switch test := strings.HasSuffix(name, "_test.go"); {
			case !ok || f.Name.Name == "main":
			case !test && d.Recv == nil && d.Name.IsExported():
				functions = append(functions, f.Name.Name+"."+d.Name.Name)
			case test && isExample(name, f, d):
				ast.Inspect(d, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := s.X.(*ast.Ident); ok && x.Name == strings.TrimSuffix(f.Name.Name, "_test") {
							called[s.Sel.Name] = true
						}
					}
					return true
				})
			}
		}
	}
	return functions, called
}

// isExample reports whether a function is an example with checked output, or a helper in a file
// whose name begins with example.
func isExample(file string, f *ast.File, d *ast.FuncDecl) bool {
	if strings.HasPrefix(d.Name.Name, "Example") {
		return hasOutput(f, d)
	}
	return strings.HasPrefix(filepath.Base(file), "example")
}

// hasOutput reports whether a function has an output comment.
func hasOutput(f *ast.File, d *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Comments, func(c *ast.CommentGroup) bool {
		return c.Pos() > d.Pos() && c.End() < d.End() && strings.HasPrefix(strings.ToLower(c.Text()), "output:")
	})
}

// TestWithoutExample: the functions that need no example exist.
func TestWithoutExample(t *testing.T) {
	t.Chdir("../..")
	for _, name := range slices.Sorted(maps.Keys(withoutExample)) {
		dirs := map[string]string{"hub": "hub", "kernels": "kernels", "machine": "kernels/machine", "models": "models", "text": "text", "bundle": "bulk/beam/bundle"}
		pkg, _, _ := strings.Cut(name, ".")
		if functions, _ := examplesOf(t, dirs[pkg]); !slices.Contains(functions, name) {
			t.Errorf("there is no %s", name)
		}
	}
}
