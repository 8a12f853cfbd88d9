package main

// This file adds broken kernels next to the right ones in the copy of the module.

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is a broken kernel.
type mutant struct {
	id           int
	kernel, tier string
	at           string // its file and line
	what         string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s%s, %s, %s", m.kernel, m.tier, m.at, m.what)
}

func (m mutant) symbol() string { return fmt.Sprintf("%s%sM%d", m.kernel, m.tier, m.id) }

// textLine matches the beginning of a function: a kernel for a tier and features.
var textLine = regexp.MustCompile(`^TEXT ·(\w+?)((?:AVX2|AVX512|NEON)\w*)\(SB\)`)

// breakAll appends the broken functions to the files that have the right ones.
func (m *mutator) breakAll() error {
	files, err := filepath.Glob(filepath.Join(m.dir, "*_*_"+m.arch+".s"))
	if err != nil {
		return err
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := strings.Split(string(b), "\n")
		var starts []int
		for i, line := range lines {
			if textLine.MatchString(line) {
				starts = append(starts, i)
			}
		}
		for k, start := range starts {
			f := textLine.FindStringSubmatch(lines[start])
			if len(m.only) > 0 && !slices.Contains(m.only, f[1]) {
				continue
			}
			stop := len(lines)
			if k+1 < len(starts) {
				stop = starts[k+1]
			}
			// There may be constants between two functions.
			if i := slices.IndexFunc(lines[start:stop], func(l string) bool { return strings.HasPrefix(l, "DATA ") }); i >= 0 {
				stop = start + i
			}
			for _, e := range edits(lines, start, stop, m.n) {
				u := mutant{id: len(m.mutants) + 1, kernel: f[1], tier: f[2],
					at: fmt.Sprintf("%s:%d", filepath.Base(file), e.line+1), what: e.what}
				if !m.match.MatchString(u.String()) {
					continue
				}
				m.mutants = append(m.mutants, u)
				body := slices.Clone(lines[start:stop])
				body[0] = strings.Replace(body[0], f[1]+f[2], u.symbol(), 1)
				for i := range body {
					body[i] = strings.ReplaceAll(e.apply(start+i, body[i]), mutantData, fmt.Sprint("mutant", u.id, "<>"))
				}
				b = append(b, "\n"+strings.Join(body, "\n")+"\n"...) // its last line may be a comment
				b = append(b, strings.ReplaceAll(strings.Join(e.data, "\n"), mutantData, fmt.Sprint("mutant", u.id, "<>"))...)
				b = append(b, '\n')
			}
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// wire declares the broken functions, and changes the dispatching functions so that they can choose
// them.
func (m *mutator) wire() error {
	byKernel := map[string][]mutant{}
	for _, u := range m.mutants {
		byKernel[u.kernel+u.tier] = append(byKernel[u.kernel+u.tier], u)
	}

	stubs, err := os.ReadFile(filepath.Join(m.dir, "stubs_"+m.arch+".go"))
	if err != nil {
		return err
	}
	declared := regexp.MustCompile(`(?m)^func (\w+)(\(.*)$`).FindAllStringSubmatch(string(stubs), -1)
	var decls, table bytes.Buffer
	fmt.Fprintf(&decls, "package simd\n\nimport (\n\"os\"\n\"strconv\"\n)\n\nvar mutant, _ = strconv.Atoi(os.Getenv(\"AVOFORMER_MUTANT\"))\n")
	fmt.Fprintf(&table, "package simd\n\nfunc init() {\nfor i := range catalog {\nim := &catalog[i]\nswitch {\n")
	for _, d := range declared {
		for _, u := range byKernel[d[1]] {
			fmt.Fprintf(&decls, "\n//go:noescape\nfunc %s%s\n", u.symbol(), d[2])
			fmt.Fprintf(&table, "case mutant == %d && kernelNames[im.kernel] == %q && im.Name == %q:\nim.fn = %s\n",
				u.id, u.kernel, strings.ToLower(u.tier), u.symbol())
		}
	}
	fmt.Fprintf(&table, "}\n}\n}\n")

	path := filepath.Join(m.dir, "dispatch_"+m.arch+".go")
	dispatch, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	called := regexp.MustCompile(`(?m)^\t\t(return )?(\w+)(\(.*\))$`)
	dispatch = called.ReplaceAllFunc(dispatch, func(line []byte) []byte {
		c := called.FindSubmatch(line)
		if len(byKernel[string(c[2])]) == 0 {
			return line
		}
		var w bytes.Buffer
		fmt.Fprintf(&w, "switch mutant {\n")
		for _, u := range byKernel[string(c[2])] {
			fmt.Fprintf(&w, "case %d:\n%s%s%s\n", u.id, c[1], u.symbol(), c[3])
		}
		fmt.Fprintf(&w, "default:\n%s\n}", line)
		return w.Bytes()
	})
	for name, src := range map[string][]byte{path: dispatch,
		filepath.Join(m.dir, "mutants.go"): decls.Bytes(), filepath.Join(m.dir, "mutants_test.go"): table.Bytes()} {
		text, err := format.Source(src)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
