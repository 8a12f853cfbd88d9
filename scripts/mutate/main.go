// Command mutate shows that the tests notice a wrong kernel on arm64:
//
//	mutate [-run REGEXP] [KERNEL...]
//
// In a copy of the module it breaks one instruction of one kernel's assembly,
// such as an addition turned into a subtraction, runs the short tests of package
// kernels under qemu-aarch64-static, and expects them to fail. It does so twice
// for every NEON kernel, or for those named: with an instruction of the first
// loop, and with the last one there is, which belongs to the ends of rows or to
// the narrowest tile. It fails where a broken kernel passes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	pattern := flag.String("run", ".", "run only the tests that match `regexp`")
	flag.Parse()
	if err := run(*pattern, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(pattern string, only []string) error {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
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
	if out, err := test(dir, pattern); err != nil {
		return fmt.Errorf("the tests fail without a mutation: %w\n%s", err, out)
	}

	files, err := filepath.Glob(filepath.Join(dir, "kernels", "*_neon_arm64.s"))
	if err != nil {
		return err
	}
	kernels, survived := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := strings.Split(string(text), "\n")
		for _, f := range functions(lines) {
			if len(only) > 0 && !slices.Contains(only, f.name) {
				continue
			}
			kernels++
			places := f.places(lines)
			if len(places) == 0 {
				return fmt.Errorf("%s has no instruction to break", f.name)
			}
			for _, i := range slices.Compact([]int{places[0], places[len(places)-1]}) {
				broken := slices.Clone(lines)
				what := ""
				broken[i], what = mutate(lines[i])
				if err := os.WriteFile(file, []byte(strings.Join(broken, "\n")), 0o644); err != nil {
					return err
				}
				out, err := test(dir, pattern)
				verdict := "noticed by " + firstFailure(out)
				switch {
				case err == nil:
					survived++
					verdict = "NOT NOTICED"
				case firstFailure(out) == "":
					return fmt.Errorf("%s: the tests did not run: %w\n%s", f.name, err, out)
				}
				fmt.Printf("%s, %s:%d, %s: %s\n", f.name, filepath.Base(file), i+1, what, verdict)
			}
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
		}
	}
	if kernels == 0 {
		return errors.New("no kernel of that name")
	}
	fmt.Printf("%d kernels broken\n", kernels)
	if survived > 0 {
		return fmt.Errorf("%d broken kernels passed the tests", survived)
	}
	return nil
}

// test builds and runs the tests of package kernels.
func test(dir, pattern string) (string, error) {
	cmd := exec.Command("go", "test", "-short", "-failfast", "-run", pattern, "-exec", "qemu-aarch64-static -cpu neoverse-n1", "./kernels")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0", "GOWORK=off", "AVOFORMER_REQUIRE=neon")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// firstFailure is the name of the innermost test named first.
func firstFailure(out string) string {
	name := ""
	for _, m := range failure.FindAllStringSubmatch(out, -1) {
		if !strings.HasPrefix(m[1], name) {
			break
		}
		name = m[1]
	}
	return name
}

// function is where a function is in a file's lines.
type function struct {
	name       string
	start, end int
}

var textLine = regexp.MustCompile(`^TEXT ·(\w+)NEON\(SB\)`)

func functions(lines []string) []function {
	var list []function
	for i, line := range lines {
		if m := textLine.FindStringSubmatch(line); m != nil {
			list = append(list, function{name: m[1], start: i})
		}
		if len(list) > 0 {
			list[len(list)-1].end = i
		}
	}
	return list
}

// places lists the lines that can be broken, from the first loop on.
func (f function) places(lines []string) []int {
	var list []int
	inLoop := false
	for i := f.start + 1; i < f.end; i++ {
		inLoop = inLoop || strings.HasPrefix(lines[i], "loop")
		if _, what := mutate(lines[i]); inLoop && what != "" {
			list = append(list, i)
		}
	}
	return list
}

// mutations of words, by the mnemonic in their comment: the bits to flip.
var mutations = []struct {
	op, to string
	lane   bool // multiplies by one lane
	flip   uint32
}{
	{"fadd", "fsub", false, 1 << 23},
	{"fsub", "fadd", false, 1 << 23},
	{"fmax", "fmin", false, 1 << 23},
	{"fmin", "fmax", false, 1 << 23},
	{"fmul", "fadd", false, 0x6e20dc00 ^ 0x4e20d400},
	{"fmla", "fmls", true, 1 << 14},
}

var wordLine = regexp.MustCompile(`WORD(\s+)\$0x([0-9a-f]{8}) // (\w+) (.*)$`)

// mutate returns the line with another instruction, and what was done; or
// nothing for instructions it has no mutation for.
func mutate(line string) (broken, what string) {
	if strings.Contains(line, "VFMLA ") {
		return strings.Replace(line, "VFMLA ", "VFMLS ", 1), "fmla to fmls"
	}
	m := wordLine.FindStringSubmatch(line)
	if m == nil {
		return "", ""
	}
	for _, mutation := range mutations {
		if mutation.op == m[3] && mutation.lane == strings.Contains(m[4], "[") {
			word, err := strconv.ParseUint(m[2], 16, 32)
			if err != nil {
				return "", ""
			}
			return fmt.Sprintf("\tWORD $0x%08x", uint32(word)^mutation.flip), mutation.op + " to " + mutation.to
		}
	}
	return "", ""
}
