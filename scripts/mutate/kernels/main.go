// Command mutate shows that the tests of packages kernels and simd notice a wrong kernel:
//
//	mutate [-arch ARCH] [-n N] [-j JOBS] [-v] [-list] [-run REGEXP] [KERNEL...]
//
// It breaks every kernel on every tier of the architecture, or the named kernels, in four ways: a
// constant gets another exponent, the code for the last, partial vector is left out, a store is
// left out, or an arithmetic instruction becomes another one. It breaks N of the stores and N of
// the instructions of a kernel, spread over its length, and all constants and all code for partial
// vectors.
//
// The broken functions are added to a copy of the module, next to the right ones, and the
// dispatching functions choose among them: one build is enough for all. For each, the kernel's own
// part of TestCatalog runs first, then the tests for that kernel, and if those pass, all short
// tests. Tests of arm64 run under qemu; there the tests for the kernel run with small sizes first.
// Tests for a tier that the machine lacks do not run.
//
// Command mutate fails if a broken kernel passes all tests. If a mutation cannot make a result
// wrong, equivalent lists it with the reason.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
)

func main() {
	arch := flag.String("arch", runtime.GOARCH, "amd64 or arm64")
	n := flag.Int("n", 6, "stores, and instructions, to break in each kernel")
	jobs := flag.Int("j", runtime.GOMAXPROCS(0), "tests to run at once")
	verbose := flag.Bool("v", false, "print every mutant, not only those that pass")
	run := flag.String("run", "", "break only what matches this regular `expression`, of a line as -v prints it")
	list := flag.Bool("list", false, "print the mutants and run nothing")
	flag.Parse()
	m := mutator{arch: *arch, n: *n, jobs: *jobs, verbose: *verbose, list: *list, only: flag.Args(), match: regexp.MustCompile(*run)}
	if err := m.run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

type mutator struct {
	arch    string
	n, jobs int
	verbose bool
	list    bool
	only    []string
	match   *regexp.Regexp

	root    string // the root of the copy of the module
	dir     string // the folder of package simd in the copy
	mutants []mutant
}

func (m *mutator) run() error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	m.root, m.dir = dir, filepath.Join(dir, "kernels", "internal", "simd")
	for _, part := range []string{"kernels", "internal"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(part)); err != nil {
			return err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	if err := m.breakAll(); err != nil {
		return err
	}
	if len(m.mutants) == 0 {
		return errors.New("nothing to break")
	}
	if m.list {
		for _, u := range m.mutants {
			fmt.Println(u)
		}
		fmt.Printf("%s: %d broken kernels\n", m.arch, len(m.mutants))
		return nil
	}
	if err := m.wire(); err != nil {
		return err
	}
	for _, pkg := range packages {
		build := exec.Command("go", "test", "-c", "-o", "mutants.test", ".")
		build.Dir = filepath.Join(m.root, pkg)
		build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+m.arch, "CGO_ENABLED=0", "GOWORK=off")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the broken kernels: %w\n%s", err, out)
		}
	}
	for _, small := range []bool{true, false} {
		if small && !m.emulated() {
			continue
		}
		if out, err := m.test(0, ".", small); err != nil {
			return fmt.Errorf("the tests fail without a mutation: %w\n%s", err, out)
		}
	}
	return m.hunt()
}
