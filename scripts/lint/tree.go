package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const modulePath = "github.com/avoformer/avoformer/"

// A file is a file of Go code that is not a test.
type file struct {
	path, dir string // relative to the root of the tree, with slashes
	text      string
	*ast.File
}

// A tree holds the files of all modules, without test data.
type tree struct {
	files   []file
	fset    *token.FileSet
	verbose bool
}

// read parses a tree.
func read(root fs.FS) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == "testdata" || d.Name() == "node_modules" || len(name) > 1 && name[0] == '.' {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(t.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		t.files = append(t.files, file{name, path.Dir(name), string(text), parsed})
		return nil
	})
	return t, err
}

// outside returns the files that are not below one of the folders.
func (t *tree) outside(folders ...string) (files []file) {
	for _, f := range t.files {
		if !slices.ContainsFunc(strings.Split(f.dir, "/"), func(part string) bool { return slices.Contains(folders, part) }) {
			files = append(files, f)
		}
	}
	return files
}

// in returns the files of one folder.
func (t *tree) in(dir string) (files []file) {
	for _, f := range t.files {
		if f.dir == dir {
			files = append(files, f)
		}
	}
	return files
}

// below reports whether the folder dir is top, or is in it.
func below(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

// own returns the folder that an import of this tree is in.
func own(i *ast.ImportSpec) (dir string, ok bool) {
	return strings.CutPrefix(strings.Trim(i.Path.Value, `"`), modulePath)
}
