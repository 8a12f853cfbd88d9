// Start measures whole processes with ready files and without: their times, in rounds in turn, and
// on Linux the memory of eight servers of one model.
//
//	go run -C bench ./cmd/start [-rounds 10] [-before BIN] [-llama-bench PATH] [-python PATH] BIN FOLDER MODEL.gguf
//
// BIN is a folder with the programs avoformer and tokenize of this tree, and the folder of -before
// has those of an earlier revision. FOLDER is an embedder and MODEL.gguf a language model.
// Tokenizers, and a Llama of 0.35 B in several formats, are random. llama-bench generates one token
// with each language model, and a Python with the package tokenizers opens each tokenizer.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/transformer/gguf"
)

var (
	rounds     = flag.Int("rounds", 10, "rounds")
	before     = flag.String("before", "", "folder of the programs of an earlier revision")
	llamaBench = flag.String("llama-bench", "", "path of llama.cpp's llama-bench")
	python     = flag.String("python", "", "path of a Python that has tokenizers")
	only       = flag.String("only", "", "measure only processes whose names match this regular expression")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if flag.NArg() != 3 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(flag.Arg(0), flag.Arg(1), flag.Arg(2)); err != nil {
		log.Fatal("start: ", err)
	}
}

// process is one kind of process, and its times.
type process struct {
	name    string
	program string // its name in a folder of programs; "": the first of args is the program
	args    []string
	ready   bool     // it can keep a ready file
	peer    []string // the command of another library
	told    bool     // the peer prints its time in ms

	ms [4][]float64 // of the earlier revision, without a ready file, with one, of the peer
}

// opening is a Python program that times the opening of a tokenizer, without the start of the
// process.
const opening = `import sys, time
from tokenizers import Tokenizer
t = time.perf_counter()
Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
print((time.perf_counter() - t) * 1e3)`

func run(bin, folder, model string) error {
	dir, err := os.MkdirTemp("", "start")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	all, err := processes(dir, filepath.Join(bin, "avoformer"), folder, model)
	if err != nil {
		return err
	}
	ready := filepath.Join(dir, "ready")
	for _, p := range all { // fills caches and writes ready files
		for range 2 {
			if err := p.round(bin, ready, 0); err != nil {
				return err
			}
		}
		p.ms = [4][]float64{}
	}
	time.Sleep(3 * time.Second) // files that have just changed are checked in full again
	for round := range *rounds + 1 {
		for i := range all {
			p := all[(i+round)%len(all)]
			if err := p.round(bin, ready, round); err != nil {
				return err
			}
			if round == 0 {
				p.ms = [4][]float64{}
			}
		}
	}
	fmt.Printf("Medians of %d rounds in turn, in ms, the fastest to the slowest, on %d CPUs; ratios are medians of the rounds:\n\n", *rounds, runtime.NumCPU())
	fmt.Print("| process | before | without a ready file | of before | with one | of before | peer | with one, of peer | without, of peer |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, p := range all {
		m := &p.ms
		fmt.Printf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", p.name, spread(m[0]), spread(m[1]), ratio(m[1], m[0]), spread(m[2]), ratio(m[2], m[0]), spread(m[3]), ratio(m[2], m[3]), ratio(m[1], m[3]))
	}
	if runtime.GOOS != "linux" || *only != "" {
		return nil
	}
	return memories(filepath.Join(bin, "avoformer"), folder, ready)
}

// processes returns the processes that are measured. It writes files to dir.
func processes(dir, command, folder, model string) ([]*process, error) {
	empty, text := filepath.Join(dir, "empty"), filepath.Join(dir, "text")
	if err := os.WriteFile(empty+".go", []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(text, []byte("A sentence of some words.\n"), 0o600); err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-o", empty, empty+".go")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	all := []*process{
		{name: "`avoformer version`; the peer is an empty Go program", program: "avoformer", args: []string{"version"}, peer: []string{empty}},
		{name: "one sentence, float32", program: "avoformer", args: []string{"embed", folder, text}, ready: true},
		{name: "one sentence, int8", program: "avoformer", args: []string{"embed", "-weights", "int8", folder, text}, ready: true},
	}
	models := []struct{ name, file, of, weights string }{
		{"first token, " + strings.TrimSuffix(filepath.Base(model), ".gguf"), model, "", ""},
		{"first token, Llama of 0.35 B, F32", filepath.Join(dir, "f32.gguf"), "", ""},
		{"first token, Llama of 0.35 B, BF16", filepath.Join(dir, "bf16.gguf"), "", ""},
		{"first token, Llama of 0.35 B, Q8_0", filepath.Join(dir, "q8_0.gguf"), "bf16.gguf", "q8_0"},
		{"first token, Llama of 0.35 B, Q4_K_M", filepath.Join(dir, "q4_k_m.gguf"), "bf16.gguf", "q4_k,output.*=q6_k,*attn_v*=q6_k"},
	}
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return nil, err
	}
	if wanted.MatchString("first token, Llama of 0.35 B") {
		for name, t := range map[string]gguf.Type{"f32.gguf": gguf.F32, "bf16.gguf": gguf.BF16} {
			if err := drawLlama(filepath.Join(dir, name), t); err != nil {
				return nil, err
			}
		}
	}
	for _, m := range models {
		p := &process{name: m.name, program: "avoformer", args: []string{"generate", "-max-tokens", "1", m.file, "Hello"}, ready: true}
		if *llamaBench != "" {
			p.peer = []string{*llamaBench, "-m", m.file, "-p", "0", "-n", "1", "-r", "1", "--no-warmup"}
		}
		if m.of != "" && wanted.MatchString(m.name) {
			if out, err := exec.Command(command, "quantize", "-weights", m.weights, "-o", m.file, filepath.Join(dir, m.of)).CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w: %s", err, out)
			}
		}
		all = append(all, p)
	}
	folders, err := drawTokenizers(dir)
	if err != nil {
		return nil, err
	}
	for i, name := range tokenizers {
		p := &process{name: "opening a tokenizer, " + name, program: "tokenize", args: []string{folders[i]}, ready: true, told: true}
		if *python != "" {
			p.peer = []string{*python, "-c", opening, folders[i]}
		}
		all = append(all, p)
	}
	return slices.DeleteFunc(all, func(p *process) bool { return !wanted.MatchString(p.name) }), nil
}

// round runs each program of a process once, in an order that depends on the round.
func (p *process) round(bin, ready string, round int) error {
	for i := range p.ms {
		i = (i + round) % len(p.ms)
		program, args, ready := filepath.Join(bin, p.program), p.args, ready
		switch {
		case i == 0 && *before == "" || i == 2 && !p.ready || i == 3 && p.peer == nil:
			continue
		case i == 0:
			program, ready = filepath.Join(*before, p.program), ""
		case i == 1:
			ready = ""
		case i == 3:
			program, args, ready = p.peer[0], p.peer[1:], ""
		}
		ms, out, err := timed(program, args, ready)
		if err == nil && i == 3 && p.told {
			ms, err = strconv.ParseFloat(strings.TrimSpace(out), 64)
		}
		if err != nil {
			return err
		}
		p.ms[i] = append(p.ms[i], ms)
	}
	return nil
}

// memories prints the memory of servers.
func memories(command, folder, ready string) error {
	fmt.Print("\nProportional set size (PSS) of servers that have answered a request, in MB:\n\n| | one process | sum of eight | quotient |\n| --- | ---: | ---: | ---: |\n")
	for _, row := range []struct{ name, ready string }{{"without a ready file", ""}, {"with one", ready}} {
		one, err := memory(command, folder, row.ready, 1)
		if err != nil {
			return err
		}
		eight, err := memory(command, folder, row.ready, 8)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %.0f | %.0f | %.2f |\n", row.name, one, eight, eight/one)
	}
	return nil
}

// timed runs a process, and returns its milliseconds and its output.
func timed(program string, args []string, ready string) (ms float64, out string, err error) {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "AVOFORMER_READY="+ready)
	var all strings.Builder
	cmd.Stdout, cmd.Stderr = &all, &all
	begin := time.Now()
	err = cmd.Run()
	ms = float64(time.Since(begin).Microseconds()) / 1000
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, &all)
	}
	return ms, all.String(), err
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func spread(x []float64) string {
	if len(x) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(x), slices.Min(x), slices.Max(x))
}

// ratio returns the median of x / y.
func ratio(x, y []float64) string {
	if len(x) == 0 || len(y) == 0 {
		return ""
	}
	all := make([]float64, len(x))
	for i := range x {
		all[i] = x[i] / y[i]
	}
	return fmt.Sprintf("%.2f", median(all))
}

// memory starts n servers of a model, has each answer a request, and returns the sum of their
// proportional set sizes in MB.
func memory(command, folder, ready string, n int) (sum float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var servers []*exec.Cmd
	defer func() {
		for _, s := range servers {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	}()
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free now
		if err != nil {
			return 0, err
		}
		address := l.Addr().String()
		l.Close()
		s := exec.Command(command, "serve", "-addr", address, folder)
		s.Env = append(os.Environ(), "AVOFORMER_READY="+ready)
		if err := s.Start(); err != nil {
			return 0, err
		}
		servers, addresses = append(servers, s), append(addresses, address)
	}
	for _, address := range addresses {
		if err := ask(ctx, "http://"+address); err != nil {
			return 0, err
		}
	}
	for _, s := range servers {
		mb, err := pss(s.Process.Pid)
		if err != nil {
			return 0, err
		}
		sum += mb
	}
	return sum, nil
}

// ask sends a request as soon as a server accepts it.
func ask(ctx context.Context, server string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/embed", strings.NewReader(`{"inputs": "hello"}`))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if ctx.Err() != nil {
			return errors.Join(fmt.Errorf("%s does not answer", server), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var pssLine = regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB`)

// pss returns the proportional set size of a process in MB.
func pss(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	m := pssLine.FindSubmatch(data)
	if m == nil {
		return 0, fmt.Errorf("no Pss of process %d", pid)
	}
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	return kb * 1024 / 1e6, err
}
