// Start measures whole processes of the command, with packed weights in a file and without one: times in rounds in turn, and on Linux the memory of
// eight servers of one model.
//
//	go run -C bench ./cmd/start [-rounds 10] [-llama-bench PATH] AVOFORMER FOLDER MODEL.gguf
//
// AVOFORMER is the command, FOLDER an embedder and MODEL.gguf a language model. llama-bench, if it is given, makes one token too.
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
)

var (
	rounds     = flag.Int("rounds", 10, "rounds")
	llamaBench = flag.String("llama-bench", "", "path of llama.cpp's llama-bench")
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

// process is one kind of process: its times, and those with packed weights in a file.
type process struct {
	name     string
	args     []string
	ready    bool // whether there is something to keep
	ms, kept []float64
}

func run(command, folder, model string) error {
	dir, err := os.MkdirTemp("", "start")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	empty, text, ready := filepath.Join(dir, "empty"), filepath.Join(dir, "text"), filepath.Join(dir, "ready")
	if err := os.WriteFile(empty+".go", []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(text, []byte("A sentence of some words.\n"), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", empty, empty+".go").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	all := []*process{
		{name: "an empty Go program", args: []string{empty}},
		{name: "version", args: []string{command, "version"}},
		{name: "one sentence, float32", args: []string{command, "embed", folder, text}, ready: true},
		{name: "one sentence, int8", args: []string{command, "embed", "-weights", "int8", folder, text}, ready: true},
		{name: "first token", args: []string{command, "generate", "-max-tokens", "1", model, "Hello"}, ready: true},
	}
	if *llamaBench != "" {
		all = append(all, &process{name: "one token, llama.cpp", args: []string{*llamaBench, "-m", model, "-p", "0", "-n", "1", "-r", "1", "--no-warmup"}})
	}
	for round := range *rounds + 1 { // the first one fills caches
		for i := range all {
			p := all[(i+round)%len(all)]
			ms, err := timed(p.args, "")
			if err != nil {
				return err
			}
			kept := 0.0
			if p.ready {
				if kept, err = timed(p.args, ready); err != nil {
					return err
				}
			}
			if round > 0 {
				p.ms, p.kept = append(p.ms, ms), append(p.kept, kept)
			}
		}
	}
	fmt.Printf("Medians of %d rounds in turn, in ms, the fastest to the slowest, on %d CPUs:\n\n| process | | with packed weights in a file | median of the ratios |\n| --- | ---: | ---: | ---: |\n", *rounds, runtime.NumCPU())
	for _, p := range all {
		if !p.ready {
			fmt.Printf("| %s | %s | | |\n", p.name, spread(p.ms))
			continue
		}
		ratios := make([]float64, len(p.ms))
		for i := range ratios {
			ratios[i] = p.kept[i] / p.ms[i]
		}
		fmt.Printf("| %s | %s | %s | %.2f |\n", p.name, spread(p.ms), spread(p.kept), median(ratios))
	}
	if runtime.GOOS != "linux" {
		return nil
	}
	fmt.Print("\nProportional set size (PSS) of servers that have answered a request, in MB:\n\n| | one process | sum of eight | quotient |\n| --- | ---: | ---: | ---: |\n")
	for _, row := range []struct{ name, ready string }{{"without a file", ""}, {"with packed weights in a file", ready}} {
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

// timed runs a process, and returns its milliseconds.
func timed(args []string, ready string) (float64, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "AVOFORMER_READY="+ready)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	ms := float64(time.Since(begin).Microseconds()) / 1000
	if err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return ms, nil
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

func spread(x []float64) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", median(x), slices.Min(x), slices.Max(x))
}

// memory starts n servers of a model, has each answer a request, and returns the sum of their proportional set sizes in MB.
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

// ask sends a request as soon as a server takes it.
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
