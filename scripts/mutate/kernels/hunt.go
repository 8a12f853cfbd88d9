package main

// This file finds the tests that notice a mutant.

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// equivalent lists mutations that do not make a kernel wrong, with the reasons. Its keys are the
// kernel and a prefix of the change.
var equivalent = map[[2]string]string{
	{"tanhVec", "another constant for 0x41110000"}:          "it doubles the limit on x to 18.1, where exp(2x) is finite and the quotient 1 still",
	{"tanhVec", "another constant for 0xc1110000"}:          "the same below 0",
	{"siluVec", "another constant for 0x42af7218"}:          "it halves the limit on x to 43.9, where 1 + exp(-x) is 1 already",
	{"sigmoidVec", "another constant for 0x42af7218"}:       "the same",
	{"finishSiLU", "another constant for 0x42af7218"}:       "the same",
	{"addLayerNormRows", "another constant for 0x3d800000"}: "it makes a guess of the mean, and any number is right for a guess",
	{"quantizeInt8", "VADDPS to VSUBPS"}:                    "what is added is 0 or NaN",
	{"quantizeInt16", "VADDPS to VSUBPS"}:                   "the same",
	{"quantizeInt8By32", "VADDPS to VSUBPS"}:                "the same",
	{"quantizeInt8By16", "VADDPS to VSUBPS"}:                "the same",
	{"quantizeInt8By64", "VADDPS to VSUBPS"}:                "the same",
	{"quantizeInt16By32", "VADDPS to VSUBPS"}:               "the same",
	{"quantizeInt16By64", "VADDPS to VSUBPS"}:               "the same",
	{"wordColumns", "VADDPS to VSUBPS"}:                     "the same",
	{"quantizeInt8By64", "fadd to fsub"}:                    "the same",
	{"quantizeInt8", "fadd to fsub"}:                        "the same",
	{"quantizeInt8By32", "fadd to fsub"}:                    "the same",
	{"quantizeInt8By16", "fadd to fsub"}:                    "the same",
	{"sumExpVec", "another constant for 0xff800000"}:        "it fills the lanes past the end, whose exponentials are not added",
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

// closest has the tests for the kernels of a file, by the beginning of the file's name. They run
// before all other tests, which seldom notice a mutant that these tests miss.
var closest = map[string]string{
	"attention":   "Attn|Attention",
	"blocks":      "Blocks",
	"convert":     "Formats|PackBRows",
	"elementwise": "Elementwise",
	"exp":         "Elementwise|Finish|Exp",
	"gemm":        "Finish|Gemm",
	"gemv":        "Gemm|Formats",
	"int8":        "Int8|Quantize",
	"layernorm":   "Norm",
	"softmax":     "Softmax",
}

// try returns what notices the mutant, or "" if nothing does.
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

// emulated reports whether tests run under qemu.
func (m *mutator) emulated() bool { return m.arch == "arm64" && runtime.GOARCH != "arm64" }

// packages are the packages whose tests a mutant must not pass: that of the kernels and that of
// their callers.
var packages = []string{"kernels/internal/simd", "kernels"}

// test runs the tests that match, with one mutant. id 0 means no mutant, and small runs the tests
// with their small sizes.
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

// testPackage does the same for one package. It runs a part of TestCatalog, which calls the kernels
// one by one, only if tests asks for TestCatalog.
func (m *mutator) testPackage(pkg string, id int, tests string, small bool) (string, error) {
	skipped := "^TestPauses$" // it measures time, while other tests run
	if id != 0 && !strings.HasPrefix(tests, "^TestCatalog") {
		skipped += "|^TestCatalog$"
	}
	args := []string{"./mutants.test", "-test.short", "-test.failfast", "-test.v", "-test.timeout=0", "-test.run", tests, "-test.skip", skipped}
	if m.emulated() {
		args = append([]string{"qemu-aarch64-static", "-cpu", "max"}, args...)
	}
	// The limit is processor time, so that a busy machine does not look like an endless loop.
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

// firstFailure returns the name of the innermost test that failed first.
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
