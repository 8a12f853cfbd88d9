package main

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/scripts/lint/arrows"
)

// These are the limits of every package.
const (
	mostInKnot = 4 // files
	mostUp     = 5 // percent of the arrows, but at least one
)

// A limit replaces those limits for one package.
type limit struct {
	knot int // files in the largest knot; 0: mostInKnot
	up   int // arrows up; 0: mostUp percent
}

// limits holds the packages that exceed the common limits, with the reasons. Limits may only become
// smaller.
var limits = map[string]limit{
	// Files for one architecture resolve declarations in the files for all architectures, and vice
	// versa.
	"kernels/internal/simd": {up: 6},
	// Workers, jobs and the pool are one state machine in three files.
	"kernels/internal/par": {up: 4},
	// A matrix packs itself in its format, which is one of blocks or one of int8.
	"kernels/internal/weights": {up: 3},
	// A call has a plan, and a plan is made for a call. The loops read panels from sources, which
	// depend on the loops.
	"kernels/internal/product": {up: 3},
	// The scheduler's loop is one type in five files.
	"generation": {knot: 5, up: 6},
	// An assembler is one type, Function: its operands, words and memory are methods in a file for
	// each.
	"asm/arm64": {knot: 8, up: 5},
	// A machine is one type, whose instructions are methods. There is a file for each kind.
	"asm/vec/neon": {up: 3},
	"asm/vec/x86":  {knot: 8, up: 7},
	// A family of kernels has a file with its entry, which the files with its parts call back.
	"asm/kernel": {up: 3},
	// A pattern has sets, whose elements are parsed like patterns. An expression builds the machine
	// that matches it.
	"text/tokenizer/internal/onig": {up: 2},
	// A package of a protocol has a file with its routes, which pass requests to the files for each
	// route. These files use code of the first file for their answers.
	"serve/internal/engine":      {up: 3},
	"serve/internal/wire":        {up: 2},
	"serve/internal/anthropic":   {up: 3},
	"serve/internal/tei":         {up: 3},
	"serve/internal/huggingface": {up: 3},
	"serve/internal/ollama":      {knot: 5, up: 4},
	"serve/internal/openai":      {knot: 6, up: 5},
}

// patterns are the packages whose files have an order.
var patterns = []string{"./kernels/...", "./transformer/...", "./models/...", "./generation/...", "./grammar/...", "./search/...", "./hub/...",
	"./asm/...", "./text/...", "./serve/...", "./bulk/", "./cmd/avoformer/..."}

// arrowsLeadDown: the files of each package have an order in which nearly all uses lead down.
func arrowsLeadDown(t *tree) (problems []string) {
	exports, err := listExports()
	if err != nil {
		return []string{err.Error()}
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		name, ok := exports.of[path]
		if !ok {
			return nil, fmt.Errorf("%s: not listed", path)
		}
		return os.Open(name)
	})
	for dir := range limits {
		if !slices.Contains(exports.dirs, dir) {
			problems = append(problems, "limits for "+dir+", which is not a package")
		}
	}
	for _, dir := range exports.dirs {
		g, err := arrows.Of(dir, imports)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s: %v", dir, err))
			continue
		}
		if t.verbose {
			fmt.Printf("%s: %s", dir, g)
		}
		problems = append(problems, exceeded(dir, g, limits[dir])...)
	}
	return problems
}

// exceeded returns a problem for each limit that the graph of a package exceeds.
func exceeded(dir string, g *arrows.Graph, l limit) (problems []string) {
	if up, most := g.Up(), max(l.up, g.Arrows()*mostUp/100, 1); len(up) > most {
		problems = append(problems, fmt.Sprintf("%s: %d of %d arrows run up, want at most %d: %v", dir, len(up), g.Arrows(), most, up))
	}
	for _, knot := range g.Knots() {
		if most := max(l.knot, mostInKnot); len(knot) > most {
			problems = append(problems, fmt.Sprintf("%s: %d files all reach each other, want at most %d: %v", dir, len(knot), most, knot))
		}
	}
	return problems
}

// exports are the packages in patterns and those that they import.
type exports struct {
	dirs []string          // the folders of the packages in patterns
	of   map[string]string // the export data of these packages and of those that they import, by import path
}

// listExports lists the packages in patterns.
func listExports() (*exports, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	args := append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{if not .DepOnly}}{{.Dir}}{{end}}"}, patterns...)
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
