// Command code shows which changes of the Go code no test notices:
//
//	code [-n N] [-from I] [-seed SEED] [-j JOBS] [-short] [-v] [-list] [-run REGEXP] [FOLDER...]
//
// It draws N mutants of the packages in the folders (generation, models, transformer, text, cmd,
// hub), the same number of each kind: a constant changes its value, an operator becomes another
// one, a comparison includes or excludes its bound, a condition is negated, a statement is left
// out, two arguments are swapped. A mutant's place in the draw depends on the seed and on its own
// line, so that changes elsewhere do not change the draw. Mutants that do not compile are replaced
// by the next ones.
//
// Everything happens in a copy of the working tree. A mutant replaces one file of the copy. First
// every test package runs once, and its coverage shows the code that it reaches. Then the packages
// that reach a mutant test it: first with their short tests, beginning with the mutant's own
// package, and if those pass, with all their tests, unless -short is given.
//
// Command code fails if a mutant passes all tests, unless doc/mutants.md states why it changes
// nothing that a test could notice. Mutants in that list are not tried, and a line of it that no
// longer fits any code is an error.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	m := mutator{}
	flag.IntVar(&m.n, "n", 200, "mutants to draw")
	flag.IntVar(&m.from, "from", 0, "mutants at the beginning of the draw to pass over, those that do not compile among them")
	flag.BoolVar(&m.short, "short", false, "try short tests only")
	flag.Uint64Var(&m.seed, "seed", 1, "of the draw")
	flag.IntVar(&m.jobs, "j", 2, "mutants to try at once")
	flag.BoolVar(&m.verbose, "v", false, "print every mutant, not only those that pass")
	flag.BoolVar(&m.list, "list", false, "print the mutants in the order of the draw, those that do not compile among them, and try none")
	run := flag.String("run", "", "draw only what matches this regular `expression`, of a line as -list prints it")
	flag.Parse()
	m.folders, m.match = flag.Args(), regexp.MustCompile(*run)
	if len(m.folders) == 0 {
		m.folders = []string{"generation", "models", "transformer", "text", "cmd", "hub"}
	}
	if err := m.run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate/code:", err)
		os.Exit(1)
	}
}

type mutator struct {
	n, from, jobs        int
	seed                 uint64
	short, verbose, list bool
	match                *regexp.Regexp
	folders              []string

	dir      string // the folder of this run: the copy and the programs that are built
	root     string // the root of the copy
	packages []*testedPackage
	reasons  map[string]string // the reasons in doc/mutants.md, by the key of a mutant
}

func (m *mutator) run() error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m.dir, m.root = dir, filepath.Join(dir, "copy")
	if err := m.copyTree(); err != nil {
		return err
	}
	if err := m.listPackages(); err != nil {
		return err
	}
	drawn, err := m.draw()
	if err != nil {
		return err
	}
	drawn = drawn[min(m.from, len(drawn)):]
	if m.list {
		for _, u := range drawn {
			fmt.Println(u)
		}
		return nil
	}
	if err := m.measure(); err != nil {
		return err
	}
	return m.hunt(drawn)
}

// copyTree copies the files that git tracks, and untracked files that it does not ignore.
func (m *mutator) copyTree() error {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(name)
		if os.IsNotExist(err) {
			continue // removed, but the removal is not committed
		} else if err != nil {
			return err
		}
		to := filepath.Join(m.root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, to); err != nil {
				return err
			}
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, b, info.Mode().Perm()); err != nil {
			return err
		}
	}
	return nil
}
