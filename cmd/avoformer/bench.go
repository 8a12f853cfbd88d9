// This file has the command bench, which measures speed and memory on this machine.
//
// Each engine, including this program, runs in a process of its own. Engines compute the same texts
// and take turns, so that other load on the machine affects all of them equally.

package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/peerenv"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/text"
)

//go:embed bench_peers.py
var peersScript string

// benchLengths are the lengths in words of the texts that are embedded at a time. They are mixed as
// in a search index: many short texts, and few long ones.
var benchLengths = []int{3, 5, 8, 8, 12, 16, 20, 24, 30, 30, 40, 60, 90, 120, 8, 16}

// benchWork describes the work for an engine, with the names that bench_peers.py reads.
type benchWork struct {
	Dir     string   `json:"dir"`
	Engine  string   `json:"engine"`
	Threads int      `json:"threads"`
	Short   string   `json:"short"`
	Long    string   `json:"long"`
	Texts   []string `json:"texts"`
}

// engine is a process that measures. It answers "short", "long" and "texts" with the time of this
// job in seconds, "vectors" with the vectors of Texts, and "memory" with its peak in MB.
type engine struct {
	name    string
	threads int
	problem string
	first   float64 // seconds from its start to the first vector
	times   map[string][]float64
	memory  float64
	vectors [][]float32

	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// benchReps is the number of times that an engine does each job in a turn.
var benchReps = map[string]int{"short": 9, "long": 3, "texts": 1}

func bench(a *app, args []string) error {
	defer func() { a.opened = nil }() // the texts are made up, so cuts are not reported
	f := a.flags("bench")
	threads := numbers{replica.Threads()}
	f.Var(&threads, "threads", "most threads, or several `numbers` separated by commas, each of which is measured; default: one for each core")
	decoder := f.decoderOn(&threads[0])
	rounds := f.Int("rounds", 10, "how often each engine is measured")
	texts := f.Int("texts", 64, "texts in the measurement of many texts")
	engines := f.String("engines", "avoformer,avoformer-bf16,avoformer-int8,onnxruntime,onnxruntime-int8,openvino,openvino-bf16,torch,torch-bf16", "what to measure")
	python := f.String("python", "python3", "the `interpreter` that has torch, onnxruntime or openvino")
	seconds := f.Float64("seconds", 3, "seconds to generate text for; -weights, -prompts and -cache apply only to models that generate")
	asJSON := f.json("a line for each engine, with medians in seconds and memory in MB; of what generates text, one")
	worker := f.Bool("worker", false, "measure as the standard input says (for bench itself)")
	rest, err := f.parse(args, 0, 1)
	if err != nil {
		return err
	}
	if *worker {
		return a.benchWorker()
	}
	if *rounds < 1 || *texts < 1 || !(*seconds > 0) || len(rest) != 1 {
		return usagef("%s; numbers from 1 on", f.usage)
	}
	names := strings.Split(*engines, ",")
	for _, name := range names {
		if kind, _, _ := strings.Cut(name, "-"); !slices.Contains([]string{"avoformer", "onnxruntime", "openvino", "torch"}, kind) {
			return usagef("-engines: no engine %q, want avoformer, onnxruntime, openvino or torch, with or without a format as -int8", name)
		}
	}
	noDecoder := a.benchDecoders(rest[0], decoder, threads, *seconds, *asJSON)
	if !errors.Is(noDecoder, fault.ErrFolder) || f.given("weights", "prompts", "cache") {
		return noDecoder
	}
	m, err := openModel(a, text.OpenEmbedder, rest[0], text.Options{Threads: threads[0]})
	if errors.Is(err, fault.ErrFolder) && err.Error() != noDecoder.Error() {
		return fmt.Errorf("%w; %w", err, noDecoder)
	} else if err != nil {
		return err
	}
	work := benchWork{Dir: rest[0], Texts: benchTexts(*texts)}
	tokens, err := m.Tokens(work.Texts)
	if err != nil {
		return err
	}
	if work.Short, err = textOfTokens(m, 16); err != nil {
		return err
	}
	if work.Long, err = textOfTokens(m, 256); err != nil {
		return err
	}
	var all []*engine
	defer func() {
		for _, e := range all {
			e.stop()
		}
	}()
	for _, name := range names {
		for _, n := range threads {
			work.Engine, work.Threads = name, n
			all = append(all, a.startEngine(work, *python))
		}
	}
	for range *rounds {
		for _, e := range all {
			e.turn()
		}
	}
	for _, e := range all {
		e.ask("memory", &e.memory)
		e.ask("vectors", &e.vectors)
	}
	if err := context.Cause(a.ctx); err != nil {
		return err
	}
	if *asJSON {
		return a.enginesAsJSON(all, *rounds, tokens, *texts)
	}
	return a.printEngines(all, threads, *rounds, tokens, *texts)
}

// textOfTokens returns a text of at most n tokens, as close to n as whole words allow.
func textOfTokens(m *text.Embedder, n int) (string, error) {
	best := benchText(1, 0)
	for words := 1; words <= n; words++ {
		s := benchText(words, 0)
		have, err := m.Tokens([]string{s})
		if err != nil {
			return "", err
		}
		if have > n {
			break
		}
		best = s
	}
	return best, nil
}

// benchTexts returns n texts, which are embedded at a time.
func benchTexts(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = benchText(benchLengths[i%len(benchLengths)], i)
	}
	return texts
}

// startEngine starts a process and waits for its first vector.
func (a *app) startEngine(work benchWork, python string) *engine {
	e := &engine{name: work.Engine, threads: work.Threads, times: map[string][]float64{}}
	fail := func(err error) *engine {
		e.problem = "not measured: " + oneLine(err)
		return e
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	e.command = exec.CommandContext(a.ctx, self, "bench", "-worker")
	if !e.isOurs() {
		e.command = exec.CommandContext(a.ctx, python, "-c", peersScript)
		e.command.Env = append(peerenv.Here().Env, fmt.Sprintf("OMP_NUM_THREADS=%d", work.Threads))
	}
	if e.in, err = e.command.StdinPipe(); err != nil {
		return fail(err)
	}
	out, err := e.command.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	begin := time.Now()
	if err := e.command.Start(); err != nil {
		return fail(err)
	}
	e.out = bufio.NewReader(out)
	line, err := json.Marshal(work)
	if err != nil {
		return fail(err)
	}
	var ready string
	e.ask(string(line), &ready)
	e.first = time.Since(begin).Seconds()
	if e.problem == "" && ready != "ready" {
		e.problem = ready
	}
	return e
}

// ask writes a line to an engine, and reads the answer.
func (e *engine) ask(line string, answer any) {
	if e.problem != "" {
		return
	}
	_, err := io.WriteString(e.in, line+"\n")
	if err == nil {
		var text []byte
		if text, err = e.out.ReadBytes('\n'); err == nil {
			err = pyjson.Unmarshal(text, answer)
		}
	}
	if err != nil {
		e.problem = "not measured: " + oneLine(err)
	}
}

// turn measures each job once. It pauses first, so that the threads of the previous engine go to
// sleep.
func (e *engine) turn() {
	time.Sleep(20 * time.Millisecond)
	for job, reps := range benchReps {
		var times []float64
		for range reps {
			var t float64
			e.ask(job, &t)
			times = append(times, t)
		}
		e.times[job] = append(e.times[job], median(times))
	}
}

func (e *engine) isOurs() bool { return strings.HasPrefix(e.name, "avoformer") }

// isPeer reports whether the engine is another library, and its process has started.
func (e *engine) isPeer() bool { return !e.isOurs() && e.command.Process != nil }

func (e *engine) stop() {
	if e.in != nil {
		_ = e.in.Close()
	}
	if e.command != nil && e.command.Process != nil {
		_ = e.command.Wait()
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// spread returns a mark for measurements whose middle half spans more than a tenth.
func spread(x []float64) string {
	x = slices.Sorted(slices.Values(x))
	if x[len(x)*3/4]-x[len(x)/4] > 0.1*median(x) {
		return "?"
	}
	return " "
}

// leastCosine returns the least cosine between the vectors of two engines.
func (e *engine) leastCosine(other *engine) float64 {
	least := 1.0
	for i, v := range e.vectors {
		if len(other.vectors) == len(e.vectors) {
			least = min(least, cosine(v, other.vectors[i]))
		}
	}
	return least
}

// enginesAsJSON does the same as printEngines, in JSON.
func (a *app) enginesAsJSON(all []*engine, rounds, tokens, texts int) error {
	for _, e := range all {
		said := map[string]any{"engine": e.name}
		if e.problem != "" {
			said["problem"] = e.problem
		} else {
			bulk := median(e.times["texts"])
			said["threads"], said["rounds"], said["first"], said["short"], said["long"] = e.threads, rounds, e.first, median(e.times["short"]), median(e.times["long"])
			said["texts_per_second"], said["tokens_per_second"] = float64(texts)/bulk, float64(tokens)/bulk
			said["peak_mb"], said["least_cosine"] = e.memory, e.leastCosine(all[0])
		}
		if e.isPeer() {
			said["environment"] = peerenv.Here().Notes()
		}
		if err := a.printJSON(said); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printEngines(all []*engine, threads numbers, rounds, tokens, texts int) error {
	fmt.Fprintf(a.out, "%s threads, medians of %d rounds in turn; %d texts of %d tokens; ? marks a spread over 10%%\n", &threads, rounds, texts, tokens)
	fmt.Fprintf(a.out, "%-18s %9s %10s %11s %9s %10s %8s %10s\n", "", "first ms", "short ms", "long ms", "texts/s", "tokens/s", "peak MB", "least cos")
	for _, e := range all {
		name := e.name
		if len(threads) > 1 {
			name = fmt.Sprintf("%s %d", name, e.threads)
		}
		if e.problem != "" {
			fmt.Fprintf(a.out, "%-18s %s\n", name, e.problem)
			continue
		}
		bulk := median(e.times["texts"])
		fmt.Fprintf(a.out, "%-18s %9.0f %9.2f%s %10.2f%s %8.0f%s %10.0f %8.0f %10.5f\n", name, e.first*1e3, median(e.times["short"])*1e3, spread(e.times["short"]),
			median(e.times["long"])*1e3, spread(e.times["long"]), float64(texts)/bulk, spread(e.times["texts"]), float64(tokens)/bulk, e.memory, e.leastCosine(all[0]))
	}
	if slices.ContainsFunc(all, (*engine).isPeer) {
		for _, note := range peerenv.Here().Notes() {
			fmt.Fprintln(a.out, note)
		}
	}
	return a.out.Flush()
}

// benchWorker runs in the process that measures this library. It answers the lines of ask.
func (a *app) benchWorker() error {
	in := bufio.NewReader(a.in)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var work benchWork
	if err := pyjson.Unmarshal(line, &work); err != nil {
		return err
	}
	answer := func(v any) error { return errors.Join(a.printJSON(v), a.out.Flush()) }
	_, weights, _ := strings.Cut(work.Engine, "-")
	if weights == "" {
		weights = "f32"
	}
	o := text.Options{Threads: work.Threads}
	if err := setWeights(&o.Model, weights); err != nil {
		return answer("not measured: " + strings.TrimPrefix(err.Error(), errUsage.Error()+": "))
	}
	m, err := openModel(a, text.OpenEmbedder, work.Dir, o)
	if err != nil {
		return answer("not measured: " + oneLine(err))
	}
	jobs := map[string][]string{"short": {work.Short}, "long": {work.Long}, "texts": work.Texts}
	if _, err := m.Embed(a.ctx, text.Texts(jobs["short"]...), text.EmbedOptions{}); err != nil {
		return answer("not measured: " + oneLine(err))
	}
	if err := answer("ready"); err != nil {
		return err
	}
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch job := strings.TrimSpace(line); job {
		case "memory":
			err = answer(peakMemory())
		case "vectors":
			var v text.Results[[]float32]
			if v, err = m.Embed(a.ctx, text.Texts(work.Texts...), text.EmbedOptions{}); err == nil {
				err = answer(v.Outputs)
			}
		default:
			begin := time.Now()
			_, err = m.Embed(a.ctx, text.Texts(jobs[job]...), text.EmbedOptions{})
			err = errors.Join(err, answer(time.Since(begin).Seconds()))
		}
		if err != nil {
			return err
		}
	}
}
