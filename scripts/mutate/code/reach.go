package main

// This file finds the packages, and the lines that their tests reach.

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// testedPackage is a package of the folders.
type testedPackage struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	Deps                  []string
	TestGoFiles           []string
	XTestGoFiles          []string

	needs   map[string]bool    // the packages that its tests are built from
	takes   time.Duration      // processor time of its tests
	covered map[string][]block // by the path of a file, relative to the root of the copy
}

// block is a sequence of statements that run together.
type block struct {
	from, to [2]int // line, column
	reached  bool
}

// goCommand returns the go command in the copy, with all modules in the workspace.
func (m *mutator) goCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = m.root
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(m.root, "go.work"), "GOFLAGS=")
	return cmd
}

// goList lists packages.
func (m *mutator) goList(args ...string) ([]*testedPackage, error) {
	cmd := m.goCommand(append([]string{"list", "-json=ImportPath,Dir,Name,GoFiles,Deps,TestGoFiles,XTestGoFiles"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var list []*testedPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := new(testedPackage)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		list = append(list, p)
	}
}

// listPackages finds the packages in the folders, and the packages that their tests are built from.
func (m *mutator) listPackages() error {
	out, err := m.goCommand("list", "-m", "-f", "{{.Dir}}/...").Output() // a pattern for each module of the workspace
	if err != nil {
		return fmt.Errorf("go list -m: %w", err)
	}
	if m.packages, err = m.goList(strings.Fields(string(out))...); err != nil {
		return err
	}
	m.packages = slices.DeleteFunc(m.packages, func(p *testedPackage) bool {
		inFolder := func(f string) bool {
			return p.Dir == filepath.Join(m.root, f) || strings.HasPrefix(p.Dir, filepath.Join(m.root, f)+"/")
		}
		return len(p.GoFiles) == 0 || !slices.ContainsFunc(m.folders, inFolder)
	})
	for _, p := range m.packages {
		if len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
			continue
		}
		tests, err := m.goList("-test", p.ImportPath)
		if err != nil {
			return err
		}
		p.needs = map[string]bool{}
		for _, t := range tests {
			for _, d := range t.Deps {
				d, _, _ = strings.Cut(d, " ") // a package that is rebuilt for a test has the test's name after it
				p.needs[d] = true
			}
		}
	}
	return nil
}

// draw puts the mutants of the packages in the order of the draw.
func (m *mutator) draw() ([]mutant, error) {
	byKind := map[string][]mutant{}
	var every []mutant
	for _, p := range m.packages {
		imported := slices.ContainsFunc(m.packages, func(q *testedPackage) bool { return slices.Contains(q.Deps, p.ImportPath) })
		if p.needs == nil && !imported { // only tests use it
			continue
		}
		for _, name := range p.GoFiles {
			file, err := filepath.Rel(m.root, filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(filepath.ToSlash(file), src)
			if err != nil {
				return nil, err
			}
			for _, u := range found {
				every = append(every, u)
				if m.match.MatchString(u.String()) {
					byKind[u.kind] = append(byKind[u.kind], u)
				}
			}
		}
	}
	if err := m.readReasons(every); err != nil {
		return nil, err
	}
	for _, list := range byKind {
		slices.SortFunc(list, func(a, b mutant) int {
			return cmp.Or(cmp.Compare(m.rank(a), m.rank(b)), cmp.Compare(a.key(), b.key()))
		})
	}
	var drawn []mutant
	for i := 0; len(drawn) == 0 || len(byKind) > 0; i++ {
		if len(byKind) == 0 {
			return nil, errors.New("nothing to change")
		}
		kind := kinds[i%len(kinds)]
		if list := byKind[kind]; len(list) > 0 {
			drawn = append(drawn, list[0])
			byKind[kind] = list[1:]
		} else {
			delete(byKind, kind)
		}
	}
	return drawn, nil
}

// rank returns the mutant's position among the mutants of its kind.
func (m *mutator) rank(u mutant) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, "\t", u.key())
	// The last bytes of the input affect the high bits of the hash only slightly.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}

// measure runs the unchanged tests of every package, to measure their coverage and time.
func (m *mutator) measure() error {
	var names []string
	for _, p := range m.packages {
		names = append(names, p.ImportPath)
	}
	for i, p := range m.packages {
		if p.needs == nil {
			continue
		}
		bin, profile := filepath.Join(m.dir, fmt.Sprint("covered", i)), filepath.Join(m.dir, "profile")
		if out, err := m.goCommand("test", "-c", "-vet=off", "-coverpkg="+strings.Join(names, ","), "-o", bin, p.ImportPath).CombinedOutput(); err != nil {
			return fmt.Errorf("building the tests of %s: %w\n%s", p.ImportPath, err, out)
		}
		run := limited(time.Hour, bin, "-test.coverprofile="+profile, fmt.Sprint("-test.short=", m.short))
		run.Dir = p.Dir
		run.Env = append(os.Environ(), "GOCOVERDIR="+m.dir) // otherwise the command, which tests start, warns on stderr
		if out, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("the tests of %s fail without a mutation: %w\n%s", p.ImportPath, err, out)
		}
		p.takes = run.ProcessState.UserTime() + run.ProcessState.SystemTime()
		if err := m.readCoverage(p, profile); err != nil {
			return err
		}
		if err := os.Remove(bin); err != nil {
			return err
		}
	}
	return nil
}

// readCoverage reads lines of the form "import/path/file.go:1.2,3.4 statements count".
func (m *mutator) readCoverage(p *testedPackage, profile string) error {
	f, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer f.Close()
	dirs := map[string]string{}
	for _, q := range m.packages {
		rel, err := filepath.Rel(m.root, q.Dir)
		if err != nil {
			return err
		}
		dirs[q.ImportPath] = filepath.ToSlash(rel)
	}
	p.covered = map[string][]block{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), ":")
		if name == "mode" {
			continue
		}
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from[0], &b.from[1], &b.to[0], &b.to[1], &statements, &count); !ok || err != nil {
			return fmt.Errorf("coverage of %s: line %s", p.ImportPath, strconv.Quote(lines.Text()))
		}
		b.reached = count > 0
		file := path.Join(dirs[path.Dir(name)], path.Base(name))
		p.covered[file] = append(p.covered[file], b)
	}
	return lines.Err()
}

// reaches reports whether the tests of p run the code that u changes. If that code is in no
// statement, it reports whether they are built from its package.
func (p *testedPackage) reaches(u mutant, pkg *testedPackage) bool {
	if !p.needs[pkg.ImportPath] && p != pkg {
		return false
	}
	inside, at := false, [2]int{u.from.Line, u.from.Column}
	for _, b := range p.covered[u.file] {
		if slices.Compare(b.from[:], at[:]) <= 0 && slices.Compare(at[:], b.to[:]) < 0 {
			if b.reached {
				return true
			}
			inside = true
		}
	}
	return !inside
}
