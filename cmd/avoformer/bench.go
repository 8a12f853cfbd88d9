// avoformer bench: speed and memory on this machine.

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/text"
)

//go:embed bench_peers.py
var peersScript string

// benchLengths are the words of the texts of a bulk run, mixed as in a search
// index: many short ones and few long.
var benchLengths = []int{3, 5, 8, 8, 12, 16, 20, 24, 30, 30, 40, 60, 90, 120, 8, 16}

// measurement is one engine's, by the names of the JSON that peers print.
type measurement struct {
	Engine  string  `json:"engine"`
	Load    float64 `json:"load"`   // seconds to the first result
	P50     float64 `json:"p50"`    // seconds for one text of 16 words
	P99     float64 `json:"p99"`    //
	Texts   float64 `json:"texts"`  // a second in bulk
	Tokens  float64 `json:"tokens"` // a second in bulk
	Memory  float64 `json:"memory"` // peak in MB
	Problem string  `json:"problem,omitempty"`
}

func bench(a *app, args []string) error {
	f := a.flags("bench")
	threads := f.Int("threads", runtime.GOMAXPROCS(0), "threads")
	seconds := f.Float64("seconds", 3, "time for each measurement")
	python := f.String("python", "python3", "the `interpreter` that may have torch or onnxruntime; empty: no peers")
	weights := f.String("weights", "f32", weightsUsage)
	rest, err := f.parse(args, 1, 1)
	if err != nil {
		return err
	}
	if *threads < 1 || !(*seconds > 0) {
		return usagef("-threads %d -seconds %g, want more", *threads, *seconds)
	}
	format, err := weightsOption(*weights)
	if err != nil {
		return err
	}
	begin := time.Now()
	m, err := text.OpenEmbedder(rest[0], text.Threads(*threads), format)
	if err != nil {
		if g, failed := text.OpenGenerator(rest[0], text.Threads(*threads), format); failed == nil {
			return a.benchGenerator(g, begin, *seconds)
		}
		return err
	}
	ours, err := a.measure(m, "avoformer "+*weights, begin, *seconds)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%-24s %10s %10s %10s %10s %10s %9s\n", fmt.Sprintf("%d threads", *threads), "first ms", "p50 ms", "p99 ms", "texts/s", "tokens/s", "peak MB")
	a.printMeasurement(ours)
	for _, p := range a.peers(*python, rest[0], *threads, *seconds) {
		a.printMeasurement(p)
	}
	return nil
}

func (a *app) printMeasurement(m measurement) {
	if m.Problem != "" {
		fmt.Fprintf(a.out, "%-24s %s\n", m.Engine, m.Problem)
		return
	}
	fmt.Fprintf(a.out, "%-24s %10.1f %10.2f %10.2f %10.0f %10.0f %9.0f\n", m.Engine, m.Load*1e3, m.P50*1e3, m.P99*1e3, m.Texts, m.Tokens, m.Memory)
	_ = a.out.Flush()
}

// benchText is a text of some words; i varies it.
func benchText(words, i int) string {
	const all = "the cat reads a long letter and nobody forgets three numbers in French because it has to while a small dog computes the matrix product of its own weights again"
	list := strings.Fields(all)
	var b strings.Builder
	for j := range words {
		b.WriteString(list[(i*7+j*3)%len(list)] + " ")
	}
	return b.String()
}

// benchTexts are those of a bulk run.
func benchTexts() []string {
	var texts []string
	for i := range 8 * len(benchLengths) {
		texts = append(texts, benchText(benchLengths[i%len(benchLengths)], i))
	}
	return texts
}

func (a *app) measure(m *text.Embedder, name string, begin time.Time, seconds float64) (measurement, error) {
	r := measurement{Engine: name}
	if _, err := m.Embed(a.ctx, []string{benchText(16, 0)}); err != nil {
		return r, err
	}
	r.Load = time.Since(begin).Seconds()
	var times []float64
	for start := time.Now(); time.Since(start).Seconds() < seconds; {
		t := time.Now()
		if _, err := m.Embed(a.ctx, []string{benchText(16, len(times))}); err != nil {
			return r, err
		}
		times = append(times, time.Since(t).Seconds())
	}
	slices.Sort(times)
	r.P50, r.P99 = times[len(times)/2], times[len(times)*99/100]
	texts := benchTexts()
	tokens, err := m.Tokens(texts)
	if err != nil {
		return r, err
	}
	rounds, start := 0, time.Now()
	for ; rounds == 0 || time.Since(start).Seconds() < seconds; rounds++ {
		if _, err := m.Embed(a.ctx, texts); err != nil {
			return r, err
		}
	}
	took := time.Since(start).Seconds()
	r.Texts, r.Tokens = float64(rounds*len(texts))/took, float64(rounds*tokens)/took
	r.Memory = peakMemory()
	return r, nil
}

func (a *app) benchGenerator(g *text.Generator, begin time.Time, seconds float64) error {
	o := text.GenerateOptions{MaxTokens: 1 << 20}
	first, tokens := 0.0, 0
	ctx, cancel := context.WithTimeout(a.ctx, time.Duration((seconds+time.Since(begin).Seconds())*float64(time.Second)))
	defer cancel()
	start := time.Now()
	for _, err := range g.Tokens(ctx, benchText(16, 0), o) {
		if errors.Is(err, context.DeadlineExceeded) {
			break
		} else if err != nil {
			return err
		}
		if tokens++; tokens == 1 {
			first, start = time.Since(begin).Seconds(), time.Now()
		}
	}
	fmt.Fprintf(a.out, "first token after %.1f ms, then %.1f tokens a second; peak %.0f MB\n", first*1e3, float64(tokens-1)/time.Since(start).Seconds(), peakMemory())
	return nil
}

// peers measures the engines that a Python interpreter has, each in a process
// of its own.
func (a *app) peers(python, dir string, threads int, seconds float64) []measurement {
	if python == "" {
		return nil
	}
	work, err := json.Marshal(map[string]any{"dir": dir, "threads": threads, "seconds": seconds, "one": benchText(16, 0), "texts": benchTexts()})
	if err != nil {
		return nil
	}
	var all []measurement
	for _, engine := range []string{"torch", "torch-bf16", "onnxruntime", "onnxruntime-int8"} {
		ctx, cancel := context.WithTimeout(a.ctx, 2*time.Minute)
		c := exec.CommandContext(ctx, python, "-c", peersScript, engine)
		c.Stdin = strings.NewReader(string(work))
		out, err := c.Output()
		cancel()
		r := measurement{Engine: engine}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || json.Unmarshal([]byte(lines[len(lines)-1]), &r) != nil {
			r.Problem = "not measured: no " + python + " that can"
		}
		all = append(all, r)
	}
	return all
}

// peakMemory is the process' largest resident size in MB, 0 where unknown.
func peakMemory() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "VmHWM:")
	var kb float64
	if !ok {
		return 0
	}
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		return 0
	}
	return kb / 1e3
}
