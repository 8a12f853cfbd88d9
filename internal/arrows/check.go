package arrows

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The limits of every package.
const (
	mostInKnot = 4 // files
	mostUp     = 5 // percent of the arrows, and one in any case
)

// A Limit replaces those limits for one package. A comment next to it says why.
type Limit struct {
	Knot int // files in the largest knot; 0: mostInKnot
	Up   int // arrows up; 0: mostUp percent
}

// Check holds the packages in folders, and in all folders below them, to what
// every package keeps to, or to a limit of their own. With -v it prints the graphs.
func Check(t *testing.T, limits map[string]Limit, roots ...string) {
	t.Helper()
	if _, err := os.Stat("go.mod"); err != nil {
		t.Skip("only the package is here: ", err)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("an emulator without a toolchain: ", err)
	}
	exports, err := listExports(roots)
	if err != nil {
		t.Fatal(err)
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exports.of[path]
		if !ok {
			return nil, fmt.Errorf("%s: not listed", path)
		}
		return os.Open(file)
	})
	if len(exports.dirs) == 0 {
		t.Fatalf("no packages in %v", roots)
	}
	for dir := range limits {
		if !slices.Contains(exports.dirs, dir) {
			t.Errorf("limits for %s, which is not a package", dir)
		}
	}
	for _, dir := range exports.dirs {
		t.Run(dir, func(t *testing.T) {
			g, err := Of(dir, imports)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(g)
			for _, problem := range g.problems(limits[dir]) {
				t.Error(problem)
			}
		})
	}
}

// problems are what a graph has more of than its limit allows.
func (g *Graph) problems(l Limit) []string {
	var all []string
	if up, most := g.Up(), max(l.Up, g.Arrows()*mostUp/100, 1); len(up) > most {
		all = append(all, fmt.Sprintf("%d of %d arrows run up, want at most %d: %v", len(up), g.Arrows(), most, up))
	}
	for _, knot := range g.Knots() {
		if most := max(l.Knot, mostInKnot); len(knot) > most {
			all = append(all, fmt.Sprintf("%d files all reach each other, want at most %d: %v", len(knot), most, knot))
		}
	}
	return all
}

// exports are packages.
type exports struct {
	dirs []string          // of those that are asked for
	of   map[string]string // the export data of these and of what they import, by import path
}

// listExports lists the packages of this module in folders and below them.
func listExports(roots []string) (*exports, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{if not .DepOnly}}{{.Dir}}{{end}}"}
	for _, root := range roots {
		args = append(args, "./"+path.Join(root, "..."))
	}
	out, err := exec.Command("go", args...).Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return nil, fmt.Errorf("go list: %w: %s", err, failed.Stderr)
	} else if err != nil {
		return nil, err
	}
	e := &exports{of: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("go list: %q", line)
		}
		if fields[1] != "" {
			e.of[fields[0]] = fields[1]
		}
		if fields[2] != "" {
			dir, err := filepath.Rel(here, fields[2])
			if err != nil {
				return nil, err
			}
			e.dirs = append(e.dirs, filepath.ToSlash(dir))
		}
	}
	return e, nil
}
