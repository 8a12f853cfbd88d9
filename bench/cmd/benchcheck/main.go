// Benchcheck compares the speed of a revision of this library with that of the working tree, and
// fails if the working tree is slower by more than a threshold.
//
//	go run -C bench ./cmd/benchcheck -base main -bench 'Gemm|Softmax'
//
// Both run the working tree's benchmarks: two test binaries that differ only in the library take
// turns, and benchstat's statistics decide. If these benchmarks do not build with the revision,
// because the library's API has changed, the revision runs its own benchmarks. Benchcheck prints
// the geometric mean of all ratios for each number of threads: of the medians, and of the smallest
// times, which other programs disturb less.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"

	"github.com/avoformer/avoformer/bench/internal/source"
)

type options struct {
	base, bench, cases string
	count              int
	benchtime          string
	threshold          float64
	threads, isa       string
}

func main() {
	var o options
	flag.StringVar(&o.base, "base", "", "the `revision` to compare with")
	flag.StringVar(&o.bench, "bench", ".", "benchmarks to run, as in go test -bench")
	flag.StringVar(&o.isa, "isa", "avx2,avx512,neon", "tiers, as in the benchmarks' own flag")
	flag.StringVar(&o.cases, "cases", "", "cases, as in the benchmarks' own flag")
	flag.StringVar(&o.threads, "threads", "1,2", "thread counts, as in the benchmarks' own flag")
	flag.IntVar(&o.count, "count", 8, "runs of each")
	flag.StringVar(&o.benchtime, "benchtime", "50ms", "time of each run")
	flag.Float64Var(&o.threshold, "threshold", 5, "percent by which the working tree may be slower")
	flag.Parse()
	slower, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcheck:", err)
		os.Exit(2)
	}
	if len(slower) > 0 {
		fmt.Printf("\nslower than %s by more than %g%%:\n", o.base, o.threshold)
		for _, s := range slower {
			fmt.Println(s)
		}
		os.Exit(1)
	}
	fmt.Printf("\nnothing slower than %s by more than %g%%\n", o.base, o.threshold)
}

// run returns a line for every benchmark that became slower.
func run(o options) ([]string, error) {
	if o.base == "" {
		return nil, errors.New("-base is missing: the revision to compare with")
	}
	dir, err := os.MkdirTemp("", "benchcheck")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if err := checkout(o.base, tree); err != nil {
		return nil, err
	}
	modfile, err := replaced(dir, tree)
	if err != nil {
		return nil, err
	}
	old, new := filepath.Join(dir, "old.test"), filepath.Join(dir, "new.test")
	if err := goCommand("test", "-c", "-modfile="+modfile, "-o", old, "."); err != nil {
		fmt.Fprintf(os.Stderr, "these benchmarks do not build with %s: it runs its own\n", o.base)
		if err := goCommand("-C", filepath.Join(tree, "bench"), "test", "-c", "-o", old, "."); err != nil {
			return nil, fmt.Errorf("the benchmarks of %s do not build: %w", o.base, err)
		}
	}
	if err := goCommand("test", "-c", "-o", new, "."); err != nil {
		return nil, err
	}
	var text [2]bytes.Buffer
	for i := range o.count {
		fmt.Fprintf(os.Stderr, "run %d of %d\n", i+1, o.count)
		for turn := range 2 {
			side := (i + turn) % 2 // both sides begin equally often
			cmd := exec.Command([]string{old, new}[side], "-test.run=^$", "-test.bench="+o.bench, "-test.benchtime="+o.benchtime,
				"-threads="+o.threads, "-cases="+o.cases, "-isa="+o.isa, "-go-peers=false")
			cmd.Stdout, cmd.Stderr = &text[side], os.Stderr
			if err := cmd.Run(); err != nil {
				return nil, fmt.Errorf("%s: %w\n%s", filepath.Base(cmd.Path), err, text[side].String())
			}
		}
	}
	var samples [2]map[string][]float64
	names := []string{filepath.Join(dir, "base.txt"), filepath.Join(dir, "tree.txt")}
	for side := range text {
		if err := os.WriteFile(names[side], text[side].Bytes(), 0o644); err != nil {
			return nil, err
		}
		if samples[side], err = read(&text[side]); err != nil {
			return nil, err
		}
	}
	if err := goCommand("tool", "benchstat", "-filter", ".unit:sec/op", o.base+"="+names[0], "tree="+names[1]); err != nil {
		return nil, err
	}
	fmt.Println()
	for _, line := range means(samples[0], samples[1]) {
		fmt.Println(line)
	}
	return worse(samples[0], samples[1], o.threshold), nil
}

var threadsPart = regexp.MustCompile(`/threads=(\d+)`)

// means returns a line for each number of threads with the geometric means of old time / new time
// over the benchmarks of both sides.
func means(old, new map[string][]float64) (lines []string) {
	type logs struct{ medians, least []float64 }
	of := map[int]logs{}
	for name := range new {
		part := threadsPart.FindStringSubmatch(name)
		if part == nil || len(old[name]) == 0 {
			continue
		}
		threads, err := strconv.Atoi(part[1])
		if err != nil {
			continue
		}
		l := of[threads]
		l.medians = append(l.medians, math.Log(median(old[name])/median(new[name])))
		l.least = append(l.least, math.Log(slices.Min(old[name])/slices.Min(new[name])))
		of[threads] = l
	}
	mean := func(logs []float64) float64 {
		sum := 0.0
		for _, v := range logs {
			sum += v
		}
		return math.Exp(sum / float64(len(logs)))
	}
	for _, threads := range slices.Sorted(maps.Keys(of)) {
		l := of[threads]
		lines = append(lines, fmt.Sprintf("threads=%d: geometric mean of base/tree %.3f, of the least times %.3f, of which the worst %.3f (%d benchmarks)", threads, mean(l.medians), mean(l.least), math.Exp(slices.Min(l.least)), len(l.least)))
	}
	return lines
}

func median(sample []float64) float64 {
	s := benchmath.NewSample(sample, &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(s, 0.95).Center
}

// worse returns the benchmarks whose median grew by more than a threshold in percent, if the
// difference of the runs is too large for chance.
func worse(old, new map[string][]float64, threshold float64) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(new)) {
		if len(old[name]) == 0 {
			continue
		}
		a := benchmath.NewSample(old[name], &benchmath.DefaultThresholds)
		b := benchmath.NewSample(new[name], &benchmath.DefaultThresholds)
		before, after := median(old[name]), median(new[name])
		c := benchmath.AssumeNothing.Compare(a, b)
		if percent := 100 * (after/before - 1); percent > threshold && c.P < c.Alpha {
			out = append(out, fmt.Sprintf("%s: %+.1f%% (p=%.3f)", name, percent, c.P))
		}
	}
	return out
}

// read collects the seconds per operation of every benchmark.
func read(r io.Reader) (map[string][]float64, error) {
	out := map[string][]float64{}
	reader := benchfmt.NewReader(r, "")
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.Result:
			if v, ok := rec.Value("sec/op"); ok {
				name := rec.Name.String()
				out[name] = append(out[name], v)
			}
		case *benchfmt.SyntaxError:
			return nil, rec
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no benchmark ran")
	}
	return out, reader.Err()
}

// checkout writes the files of a revision into dir.
func checkout(revision, dir string) error {
	cmd := exec.Command("git", "-C", "..", "archive", "--format=tar", revision)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("git archive %s: %w %s", revision, err, stderr.String())
	}
	files := tar.NewReader(bytes.NewReader(out))
	for {
		h, err := files.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		path := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		b, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
	}
}

var replacement = regexp.MustCompile(`(?m)^(replace github.com/avoformer/avoformer => ).*$`)

// replaced copies this module's go.mod and go.sum, with tree as the library's folder.
func replaced(dir, tree string) (string, error) {
	module, err := source.Dir()
	if err != nil {
		return "", err
	}
	mod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, replacement.ReplaceAll(mod, []byte("${1}"+tree)), 0o644)
}

func goCommand(args ...string) error {
	cmd, err := source.Go(args...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
