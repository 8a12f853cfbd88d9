// Command estimate predicts the speed of a kernel's inner loop on CPUs that are not available, with
// llvm-mca, LLVM's model of their pipelines:
//
//	estimate [-min PERCENT] [-elements N] [-around N] GOARCH SYMBOL CPU...
//
// It builds the tests of package simd for GOARCH, disassembles SYMBOL, and finds its innermost loop
// with the most multiply-adds of floats, words or bytes. For each CPU model it prints a row of a
// Markdown table: cycles per iteration, the bound that the multiply-adds by themselves would set on
// that model, and the ratio of the two. With -min it fails if the ratio is less. With -elements,
// the number of elements that an iteration of the loop processes, it prints the cycles per element
// instead of a bound. With -around it uses the loop around the inner loop; each of its iterations
// has N iterations of the inner loop.
//
// The figures are static estimates: they leave out memory, and the models have errors. They help to
// find a loop that is limited by something other than its arithmetic, and to notice when a change
// makes it slower.
package main

import (
	"bytes"
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

// target has the properties in which architectures differ.
type target struct {
	triple string
	fma    *regexp.Regexp // a multiply-add of vectors
	// branch matches a branch within a function and finds its destination.
	branch *regexp.Regexp
	// independent returns the i-th of run multiply-adds that do not depend on each other. They use
	// the instruction of like, a multiply-add of the loop.
	independent func(like string, i int) string
	run         int
}

var targets = map[string]target{
	"amd64": {
		triple: "x86_64-linux-gnu",
		fma:    regexp.MustCompile(`^(vfn?m(add|sub)[0-9]*ps|vpmaddwd)\s`),
		branch: regexp.MustCompile(`^j[a-z]+\s+0x([0-9a-f]+)`),
		independent: func(like string, i int) string {
			r := regexp.MustCompile(`[xyz]mm`).FindString(like)
			return fmt.Sprintf("vfmadd231ps %%%s0, %%%s1, %%%s%d", r, r, r, i+2)
		},
		run: 14,
	},
	"arm64": {
		triple: "aarch64-linux-gnu",
		fma:    regexp.MustCompile(`^(fml[as]|sdot|smmla)\s+v`),
		branch: regexp.MustCompile(`^(?:b\.[a-z]+|b|cbn?z\s+[xw][0-9]+,|tbn?z\s+[xw][0-9]+, #[^,]*,)\s+0x([0-9a-f]+)`),
		independent: func(like string, i int) string {
			registers := []string{fmt.Sprint("v", i+2), "v0", "v1"}
			return regexp.MustCompile(`\bv\d+`).ReplaceAllStringFunc(like, func(string) (v string) {
				v, registers = registers[0], registers[1:]
				return v
			})
		},
		run: 28,
	},
}

func main() {
	minimum := flag.Float64("min", 0, "fail when a loop is below this `percent` of its bound")
	elements := flag.Int("elements", 0, "print cycles an element, for `N` elements an iteration")
	around := flag.Int("around", 0, "take the loop around, with `N` iterations of the innermost")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: estimate [-min PERCENT] [-elements N] [-around N] GOARCH SYMBOL CPU...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() < 3 {
		flag.Usage()
		os.Exit(2)
	}
	goarch, symbol := flag.Arg(0), flag.Arg(1)
	t, ok := targets[goarch]
	if !ok {
		fatal(fmt.Errorf("no target for GOARCH %s", goarch))
	}
	code, err := disassemble(goarch, symbol)
	if err != nil {
		fatal(err)
	}
	loop := t.hottestLoop(code, *around)
	if len(loop) == 0 {
		fatal(fmt.Errorf("%s has no loop with multiply-adds", symbol))
	}
	fmas, like := t.countFMAs(loop)

	if *elements > 0 {
		fmt.Println("| loop | model | instructions | multiply-adds | cycles | cycles an element |")
		fmt.Println("| --- | --- | ---: | ---: | ---: | ---: |")
	} else {
		fmt.Println("| loop | model | instructions | multiply-adds | cycles | bound | of bound |")
		fmt.Println("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
	}
	failed := false
	for _, cpu := range flag.Args()[2:] {
		cycles, err := t.cycles(cpu, t.texts(loop))
		if err != nil {
			fatal(err)
		}
		if *elements > 0 {
			fmt.Printf("| `%s`, %s | %s | %d | %d | %.2f | %.2f |\n",
				symbol, loop[0].source, cpu, len(loop), fmas, cycles, cycles/float64(*elements))
			continue
		}
		var only []string
		for i := range t.run {
			only = append(only, t.independent(like, i))
		}
		unit, err := t.cycles(cpu, only)
		if err != nil {
			fatal(err)
		}
		bound := unit / float64(t.run) * float64(fmas)
		percent := 100 * bound / cycles
		fmt.Printf("| `%s`, %s | %s | %d | %d | %.2f | %.2f | %.1f%% |\n",
			symbol, loop[0].source, cpu, len(loop), fmas, cycles, bound, percent)
		failed = failed || percent < *minimum
	}
	if failed {
		fatal(fmt.Errorf("%s is below %g%% of its bound", symbol, *minimum))
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "estimate:", err)
	os.Exit(1)
}

// instruction is one line of a disassembly.
type instruction struct {
	address uint64
	text    string
	source  string // file:line of the assembly source
}

// disassemble returns a function of package simd, in AT&T syntax on amd64.
func disassemble(goarch, symbol string) ([]instruction, error) {
	dir, err := os.MkdirTemp("", "estimate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "simd.test")
	build := exec.Command("go", "test", "-c", "-o", binary, "./kernels/internal/simd")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+goarch, "CGO_ENABLED=0")
	if _, err := output(build); err != nil {
		return nil, err
	}
	text, err := output(exec.Command("llvm-objdump-19", "-d", "-l", "--no-show-raw-insn", "--mattr=+all",
		"--disassemble-symbols=github.com/avoformer/avoformer/kernels/internal/simd."+symbol+".abi0", binary))
	if err != nil {
		return nil, err
	}
	var code []instruction
	var source string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if file, ok := strings.CutPrefix(line, "; "); ok && strings.Contains(file, ".s:") {
			source = filepath.Base(file)
			continue
		}
		address, text, ok := strings.Cut(line, ":")
		n, err := strconv.ParseUint(address, 16, 64)
		if !ok || err != nil || text == "" {
			continue
		}
		text, _, _ = strings.Cut(text, " <") // the name of a branch's destination
		code = append(code, instruction{n, strings.TrimSpace(text), source})
	}
	if len(code) == 0 {
		return nil, fmt.Errorf("%s is not in the %s build of package simd", symbol, goarch)
	}
	return code, nil
}

// hottestLoop returns the innermost loop with the most multiply-adds. If around is not 0, it
// returns the smallest loop around that one, with around iterations of the inner loop. It returns
// nil if there is no such loop.
func (t target) hottestLoop(code []instruction, around int) []instruction {
	index := map[uint64]int{}
	for i, in := range code {
		index[in.address] = i
	}
	type loop struct{ start, end int }
	var loops []loop // ordered by their ends
	for end, in := range code {
		m := t.branch.FindStringSubmatch(in.text)
		if m == nil {
			continue
		}
		to, _ := strconv.ParseUint(m[1], 16, 64)
		if start, ok := index[to]; ok && start <= end {
			loops = append(loops, loop{start, end + 1})
		}
	}
	var best loop
	most := 0
	for _, l := range loops {
		if t.turnsBack(code[l.start : l.end-1]) {
			continue // it is not the innermost loop
		}
		if n, _ := t.countFMAs(code[l.start:l.end]); n > most {
			best, most = l, n
		}
	}
	if around == 0 || most == 0 {
		return code[best.start:best.end]
	}
	for _, l := range loops {
		if l.start <= best.start && l.end > best.end {
			inner := slices.Repeat(code[best.start:best.end], around)
			return slices.Concat(code[l.start:best.start], inner, code[best.end:l.end])
		}
	}
	return nil
}

// turnsBack reports whether code contains a loop.
func (t target) turnsBack(code []instruction) bool {
	for _, in := range code {
		if m := t.branch.FindStringSubmatch(in.text); m != nil {
			if to, _ := strconv.ParseUint(m[1], 16, 64); to <= in.address {
				return true
			}
		}
	}
	return false
}

// countFMAs returns the number of multiply-adds, and one of them.
func (t target) countFMAs(code []instruction) (n int, like string) {
	for _, in := range code {
		if t.fma.MatchString(in.text) {
			n, like = n+1, in.text
		}
	}
	return n, like
}

// texts returns the lines to assemble. Branches lead to address 0, because their destinations are
// outside the few instructions of the loop.
func (t target) texts(code []instruction) []string {
	var list []string
	for _, in := range code {
		text := in.text
		if m := t.branch.FindStringSubmatch(text); m != nil {
			text = strings.TrimSuffix(text, "0x"+m[1]) + "0"
		}
		list = append(list, text)
	}
	return list
}

var totalCycles = regexp.MustCompile(`Total Cycles:\s+([0-9]+)`)

// cycles returns the model's cycles per iteration of a loop body in the steady state.
func (t target) cycles(cpu string, body []string) (float64, error) {
	var total [2]float64
	iterations := [2]int{200, 1200}
	for i, n := range iterations {
		mca := exec.Command("llvm-mca-19", "-mtriple="+t.triple, "-mcpu="+cpu, "-iterations="+strconv.Itoa(n))
		mca.Stdin = strings.NewReader(strings.Join(body, "\n") + "\n")
		text, err := output(mca)
		if err != nil {
			return 0, err
		}
		m := totalCycles.FindStringSubmatch(text)
		if m == nil {
			return 0, fmt.Errorf("llvm-mca for %s printed no cycles", cpu)
		}
		total[i], _ = strconv.ParseFloat(m[1], 64)
	}
	return (total[1] - total[0]) / float64(iterations[1]-iterations[0]), nil
}

func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.Bytes())
	}
	return stdout.String(), nil
}
