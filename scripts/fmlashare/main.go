// Command fmlashare computes the share of vector multiply-adds among the instructions that a whole
// matrix product executes on arm64. It runs the product under qemu-aarch64-static with a trace of
// every translated block:
//
//	fmlashare
//
// It prints a Markdown table with the instructions of one product by function. To leave out the
// start of the program, it subtracts a run with one product from a run with three. The counts say
// nothing about time. Together with the throughput of the inner loop (see command estimate) they
// show how much edges, packing and calls add to it.
package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const pkg = "github.com/avoformer/avoformer/"

// count holds the number of executed instructions, and the number of multiply-adds among them.
type count struct{ all, fmla int }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fmlashare:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "fmlashare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "product")
	build := exec.Command("go", "build", "-o", binary, "./scripts/fmlashare/product")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	one, err := trace(binary, "1")
	if err != nil {
		return err
	}
	three, err := trace(binary, "3")
	if err != nil {
		return err
	}

	var total count
	each := map[string]count{}
	for name, c := range three {
		c = count{(c.all - one[name].all) / 2, (c.fmla - one[name].fmla) / 2}
		if !strings.HasPrefix(name, pkg) {
			name = "everything else"
		}
		sum := each[name]
		each[name] = count{sum.all + c.all, sum.fmla + c.fmla}
		total = count{total.all + c.all, total.fmla + c.fmla}
	}
	const lanes, m, n, k = 4, 128, 768, 768
	if least := m * n * k / lanes; total.fmla < least {
		return fmt.Errorf("%d multiply-adds counted, want at least the %d of a product", total.fmla, least)
	}
	fmt.Println("| function | instructions | of all | multiply-adds | of its own |")
	fmt.Println("| --- | ---: | ---: | ---: | ---: |")
	row := func(name string, c count) {
		fmt.Printf("| %s | %d | %.2f%% | %d | %.2f%% |\n", name, c.all,
			100*float64(c.all)/float64(total.all), c.fmla, 100*float64(c.fmla)/float64(c.all))
	}
	names := slices.SortedFunc(maps.Keys(each), func(a, b string) int { return -cmp.Compare(each[a].all, each[b].all) })
	for _, name := range names {
		if each[name].all*1000 > total.all {
			row("`"+strings.TrimSuffix(strings.TrimPrefix(name, pkg), ".abi0")+"`", each[name])
		}
	}
	row("all", total)
	return nil
}

// trace runs the program and counts by function.
func trace(binary, products string) (map[string]count, error) {
	log := filepath.Join(filepath.Dir(binary), "log"+products)
	cmd := exec.Command("qemu-aarch64-static", "-d", "in_asm,exec,nochain", "-D", log, binary, products)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "AVOFORMER_ISA=neon")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("qemu-aarch64-static: %w\n%s", err, out)
	}
	f, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return countTrace(f)
}

// countTrace reads qemu's log. The log has each block of code when it is translated,
func countTrace(r io.Reader) (map[string]count, error) {
	blocks := map[uint64]count{}
	counts := map[string]count{}
	var start uint64
	in := false // a block
	scan := bufio.NewScanner(r)
	for scan.Scan() {
		line := scan.Text()
		switch {
		case strings.HasPrefix(line, "IN:"):
			in, start = true, 0
		case in && strings.HasPrefix(line, "0x"):
			fields := strings.Fields(line)
			if len(fields) < 3 {
				return nil, fmt.Errorf("not an instruction: %q", line)
			}
			if start == 0 {
				if _, err := fmt.Sscanf(line, "0x%x:", &start); err != nil {
					return nil, fmt.Errorf("%q: %w", line, err)
				}
				blocks[start] = count{}
			}
			c := blocks[start]
			c.all++
			if fields[2] == "fmla" || fields[2] == "fmls" {
				c.fmla++
			}
			blocks[start] = c
		case strings.HasPrefix(line, "Trace "):
			in = false
			_, rest, ok := strings.Cut(line, "/")
			address, _, ok2 := strings.Cut(rest, "/")
			var pc uint64
			if _, err := fmt.Sscanf(address, "%x", &pc); err != nil || !ok || !ok2 {
				return nil, fmt.Errorf("not a trace: %q", line)
			}
			b, ok := blocks[pc]
			if !ok {
				return nil, fmt.Errorf("block at %#x was not translated", pc)
			}
			name := line[strings.LastIndexByte(line, ']')+1:]
			c := counts[strings.TrimSpace(name)]
			counts[strings.TrimSpace(name)] = count{c.all + b.all, c.fmla + b.fmla}
		default:
			in = in && line != ""
		}
	}
	if len(counts) == 0 {
		return nil, errors.New("qemu wrote no trace")
	}
	return counts, scan.Err()
}
