// Command mutate shows that the tests of packages kernels and simd notice a wrong kernel:
//
//	mutate [-arch ARCH] [-n N] [-j JOBS] [-v] [-list] [-run REGEXP] [KERNEL...]
//
// It breaks every kernel on every tier of the architecture, or those named, in
// four ways: a constant gets another exponent, the code for the last, partial
// vector is left out, a store is left out, or an arithmetic instruction becomes
// another one. Of the stores and of the instructions of a kernel it takes N,
// spread over its length; of the constants and the tails all.
//
// The broken functions are added, beside the right ones, to a copy of the
// module, in which the dispatching functions choose among them: so one build is
// enough for all. For each, first the kernel's own part of TestCatalog runs,
// then the tests that are about it, and if those pass, all short tests do. Those
// of arm64 run under qemu, the tests that are about a kernel in their small form
// first, and those for a tier that the machine lacks not at all.
//
// Mutate fails where a broken kernel passes all tests. Where a mutation changes
// nothing that could be wrong, equivalent says so, and why.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// mutant is a broken kernel.
type mutant struct {
	id           int
	kernel, tier string
	at           string // file and line
	what         string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s%s, %s, %s", m.kernel, m.tier, m.at, m.what)
}

func (m mutant) symbol() string { return fmt.Sprintf("%s%sM%d", m.kernel, m.tier, m.id) }

// equivalent lists mutations that leave a kernel right, by kernel and a prefix
// of what was done to it, with the reason.
var equivalent = map[[2]string]string{
	{"tanhVec", "another constant for 0x41110000"}:          "it doubles the limit on x to 18.1, where exp(2x) is finite and the quotient 1 still",
	{"tanhVec", "another constant for 0xc1110000"}:          "the same below 0",
	{"siluVec", "another constant for 0x42af7218"}:          "it halves the limit on x to 43.9, where 1 + exp(-x) is 1 already",
	{"sigmoidVec", "another constant for 0x42af7218"}:       "the same",
	{"finishSiLU", "another constant for 0x42af7218"}:       "the same",
	{"addLayerNormRows", "another constant for 0x3d800000"}: "it makes a guess of the mean, and any number is right for a guess",
	{"sumExpVec", "another constant for 0xff800000"}:        "it fills the lanes past the end, whose exponentials are not added",
}

type mutator struct {
	arch    string
	n, jobs int
	verbose bool
	list    bool
	only    []string
	match   *regexp.Regexp

	root    string // of the copy of the module
	dir     string // of package simd in it
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

// hunt runs the tests on each mutant.
func (m *mutator) hunt() error {
	queue := make(chan mutant)
	var mu sync.Mutex
	noticed, passed, excused, skipped := 0, 0, 0, 0
	var wg sync.WaitGroup
	for range m.jobs {
		wg.Go(func() {
			for u := range queue {
				verdict := m.try(u)
				mu.Lock()
				switch reason := excuse(u); {
				case verdict == skip:
					skipped++
				case verdict != "":
					noticed++
					if m.verbose {
						fmt.Printf("%v: %s\n", u, verdict)
					}
				case reason != "":
					excused++
					if m.verbose {
						fmt.Printf("%v: no matter: %s\n", u, reason)
					}
				default:
					passed++
					fmt.Printf("%v: NOT NOTICED\n", u)
				}
				mu.Unlock()
			}
		})
	}
	for _, u := range m.mutants {
		queue <- u
	}
	close(queue)
	wg.Wait()
	fmt.Printf("%s: %d broken kernels noticed, %d harmless by their nature, %d not noticed, %d not run for lack of the tier\n",
		m.arch, noticed, excused, passed, skipped)
	if passed > 0 {
		return fmt.Errorf("%d broken kernels passed the tests", passed)
	}
	return nil
}

func excuse(u mutant) string {
	for k, reason := range equivalent {
		if k[0] == u.kernel && strings.HasPrefix(u.what, k[1]) {
			return reason
		}
	}
	return ""
}

const skip = "skipped"

// closest are tests that are about the kernels of a file, by how its name
// begins. They run before the others, which seldom notice what these do not.
var closest = map[string]string{
	"attention":   "Attn|Attention",
	"elementwise": "Elementwise",
	"exp":         "Elementwise|Finish|Exp",
	"gemm":        "Finish|Gemm",
	"gemv":        "Gemm",
	"layernorm":   "Norm",
	"softmax":     "Softmax",
}

// try says what notices the mutant, "" if nothing does.
func (m *mutator) try(u mutant) string {
	file, _, _ := strings.Cut(u.at, "_")
	about := cmp.Or(closest[file], u.kernel)
	for _, t := range []struct {
		tests string
		small bool
	}{
		{"^TestCatalog$/^" + u.kernel + "$/^" + strings.ToLower(u.tier) + "$", false},
		{about, true},
		{about, false},
		{".", false},
	} {
		if t.small && !m.emulated() {
			continue
		}
		out, err := m.test(u.id, t.tests, t.small)
		switch {
		case err != nil && firstFailure(out) != "":
			return "noticed by " + firstFailure(out)
		case err != nil:
			return "ends the tests: " + err.Error()
		case strings.Contains(out, "this machine lacks"):
			return skip
		}
	}
	return ""
}

// emulated says whether tests run under qemu.
func (m *mutator) emulated() bool { return m.arch == "arm64" && runtime.GOARCH != "arm64" }

// packages are those whose tests a mutant must not pass: of the kernels themselves and of their callers.
var packages = []string{"kernels/internal/simd", "kernels"}

// test runs tests, or their small form, with one mutant, or none for 0.
func (m *mutator) test(id int, tests string, small bool) (string, error) {
	var all strings.Builder
	for _, pkg := range packages {
		out, err := m.testPackage(pkg, id, tests, small)
		all.WriteString(out)
		if err != nil {
			return all.String(), err
		}
		if strings.HasPrefix(tests, "^TestCatalog") {
			break
		}
	}
	return all.String(), nil
}

// testPackage is test for one package. Of TestCatalog, which calls the kernels one by
// one, it runs a part only if that is what tests are.
func (m *mutator) testPackage(pkg string, id int, tests string, small bool) (string, error) {
	args := []string{"./mutants.test", "-test.short", "-test.failfast", "-test.v", "-test.timeout=0", "-test.run", tests}
	if id != 0 && !strings.HasPrefix(tests, "^TestCatalog") {
		args = append(args, "-test.skip", "^TestCatalog$")
	}
	if m.emulated() {
		args = append([]string{"qemu-aarch64-static", "-cpu", "neoverse-n1"}, args...)
	}
	// Processor time, so that a busy machine does not look like an endless loop.
	args = append([]string{"-c", `ulimit -t 900; exec "$@"`, "sh"}, args...)
	cmd := exec.Command("sh", args...)
	cmd.Dir = filepath.Join(m.root, pkg)
	cmd.Env = append(os.Environ(), fmt.Sprintf("AVOFORMER_MUTANT=%d", id))
	if small {
		cmd.Env = append(cmd.Env, "AVOFORMER_EMULATED=1")
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure is the name of the innermost test of those that failed first.
func firstFailure(out string) string {
	name := ""
	for _, f := range failure.FindAllStringSubmatch(out, -1) {
		if !strings.HasPrefix(f[1], name) {
			break
		}
		name = f[1]
	}
	return name
}

// textLine begins a function: of a kernel, for a tier and features.
var textLine = regexp.MustCompile(`^TEXT ·(\w+?)((?:AVX2|AVX512|NEON)\w*)\(SB\)`)

// breakAll appends the broken functions to the files they come from.
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
			// Constants may lie between two functions.
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

// wire declares the broken functions and lets them be chosen.
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
