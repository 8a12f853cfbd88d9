package main

// This file finds the tests that notice a mutant.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	outside = "does not compile"
	passes  = ""
)

// hunt runs the tests on the first mutants that compile.
func (m *mutator) hunt(drawn []mutant) error {
	var mu sync.Mutex
	var next atomic.Int64
	var failed error
	var survivors []mutant
	tried, noticed, argued := 0, 0, 0
	var wg sync.WaitGroup
	for range m.jobs {
		wg.Go(func() {
			for {
				mu.Lock()
				enough := tried >= m.n || failed != nil
				tried++ // decremented below if the mutant does not compile
				mu.Unlock()
				i := int(next.Add(1)) - 1
				if enough || i >= len(drawn) {
					mu.Lock()
					tried--
					mu.Unlock()
					return
				}
				u := drawn[i]
				reason, verdict := m.reasons[u.key()], passes
				var err error
				if reason == "" {
					verdict, err = m.try(i, u)
				}
				mu.Lock()
				switch {
				case err != nil:
					failed = errors.Join(failed, err)
				case verdict == outside:
					tried--
				case verdict != passes:
					noticed++
				case reason != "":
					argued++
					verdict = "no matter: " + reason
				default:
					verdict = "NOT NOTICED"
					survivors = append(survivors, u)
				}
				if m.verbose && verdict != outside || verdict == "NOT NOTICED" {
					fmt.Printf("%v: %s\n", u, verdict)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if failed != nil {
		return failed
	}
	fmt.Printf("seed %d: %d mutants, %d noticed, %d in %s, %d not noticed\n", m.seed, tried, noticed, argued, reasonsFile, len(survivors))
	if len(survivors) > 0 {
		fmt.Printf("lines for %s, each with its reason, where no test could notice:\n", reasonsFile)
		for _, u := range survivors {
			fmt.Println(row(u, "?"))
		}
		return fmt.Errorf("%d mutants passed the tests", len(survivors))
	}
	return nil
}

// try returns what notices a mutant, or passes if nothing does.
func (m *mutator) try(id int, u mutant) (string, error) {
	overlay, err := m.lay(id, u)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(filepath.Dir(overlay))
	pkg := m.packageOf(u.file)
	if out, err := m.goCommand("build", "-overlay="+overlay, "-o", os.DevNull, pkg.ImportPath).CombinedOutput(); err != nil {
		if !strings.Contains(string(out), filepath.Base(u.file)+":") {
			return "", fmt.Errorf("building %v: %w\n%s", u, err, out)
		}
		return outside, nil
	}
	var about []*testedPackage
	for _, p := range m.packages {
		if p.needs != nil && p.reaches(u, pkg) {
			about = append(about, p)
		}
	}
	slices.SortStableFunc(about, func(p, q *testedPackage) int {
		if (p == pkg) != (q == pkg) {
			return map[bool]int{true: -1, false: 1}[p == pkg]
		}
		return int(p.takes - q.takes)
	})
	for _, short := range []bool{true, false} {
		if !short && m.short {
			break
		}
		for i, p := range about {
			bin := filepath.Join(filepath.Dir(overlay), fmt.Sprint("test", i))
			if short {
				if out, err := m.goCommand("test", "-c", "-vet=off", "-overlay="+overlay, "-o", bin, p.ImportPath).CombinedOutput(); err != nil {
					return "does not compile with its tests: " + lastLine(out), nil
				}
			}
			if verdict := m.test(p, bin, short); verdict != passes {
				return verdict, nil
			}
		}
	}
	return passes, nil
}

// lay writes the changed file, and the overlay that replaces the original by it.
func (m *mutator) lay(id int, u mutant) (overlay string, err error) {
	dir := filepath.Join(m.dir, fmt.Sprint("mutant", id))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	original := filepath.Join(m.root, filepath.FromSlash(u.file))
	src, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(u.file))
	if err := os.WriteFile(changed, slices.Concat(src[:u.start], []byte(u.with), src[u.end:]), 0o644); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, b, 0o644)
}

func (m *mutator) packageOf(file string) *testedPackage {
	dir := filepath.Dir(filepath.Join(m.root, filepath.FromSlash(file)))
	return m.packages[slices.IndexFunc(m.packages, func(p *testedPackage) bool { return p.Dir == dir })]
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// test runs the tests of p in the program bin.
func (m *mutator) test(p *testedPackage, bin string, short bool) string {
	limit := 10*p.takes + time.Minute
	args := []string{"-test.failfast", fmt.Sprintf("-test.timeout=%v", 4*limit)}
	if short {
		args = append(args, "-test.short")
	}
	cmd := limited(limit, bin, args...)
	cmd.Dir = p.Dir
	out, err := cmd.CombinedOutput()
	name := "of " + filepath.Base(p.Dir)
	if f := failure.FindAllSubmatch(out, -1); len(f) > 0 {
		name = string(f[len(f)-1][1])
	}
	if err != nil {
		return "noticed by " + name
	}
	return passes
}

// limited returns a command with a limit for its processor time, so that a busy machine does not
// look like an endless loop, and with enough memory for the tests.
func limited(limit time.Duration, name string, args ...string) *exec.Cmd {
	script := fmt.Sprintf(`ulimit -t %d && ulimit -v %d && exec "$@"`, int(limit.Seconds()), 16<<20)
	return exec.Command("sh", append([]string{"-c", script, "sh", name}, args...)...)
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
