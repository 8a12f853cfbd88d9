// Package native runs the C, C++ and Python libraries that the kernels are compared with.
package native

import (
	"bufio"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bench/internal/onnx"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/internal/peerenv"
)

//go:embed src
var sources embed.FS

// A Peer is a library on this machine, started with a number of threads.
type Peer struct {
	name, version string
	threads       int
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	stderr        *tail
	dir           string
	open          *job
	library       Library
	isa           string
	ended         bool // it crashed or hung; the next case starts it anew
}

// Name implements [workload.Contestant].
func (p *Peer) Name() string { return p.name }

// Version implements [workload.Contestant].
func (p *Peer) Version() string { return p.version }

// Start builds the program that the library needs and runs it, limited to the instruction set isa
// unless that is "".
func (l Library) Start(threads int, isa string) (*Peer, error) {
	dir, err := os.MkdirTemp(scratchRoot(), "peer")
	if err != nil {
		return nil, err
	}
	p := &Peer{name: l.Name, threads: threads, dir: dir, library: l, isa: isa}
	if err := p.start(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	return p, nil
}

func (p *Peer) start() error {
	argv, err := p.library.command(p.threads)
	if err != nil {
		return err
	}
	p.cmd, p.stderr, p.ended = exec.Command(argv[0], argv[1:]...), new(tail), false
	n := strconv.Itoa(p.threads)
	p.cmd.Dir = p.dir // commands then contain no paths, which could have spaces
	p.cmd.Env = append(peerenv.Here().Env, "OMP_NUM_THREADS="+n, "OPENBLAS_NUM_THREADS="+n, "BLIS_NUM_THREADS="+n,
		"MKL_NUM_THREADS="+n, "MKL_THREADING_LAYER=INTEL", "OMP_DYNAMIC=false")
	p.cmd.Env = append(p.cmd.Env, p.library.env...)
	p.cmd.Env = append(p.cmd.Env, held[p.isa].env...)
	p.cmd.Stderr = p.stderr
	p.in, _ = p.cmd.StdinPipe()
	stdout, _ := p.cmd.StdoutPipe()
	p.out = bufio.NewReader(stdout)
	p.apart()
	if err := p.cmd.Start(); err != nil {
		return err
	}
	line, err := p.read()
	version, ready := strings.CutPrefix(line, "ready ")
	if err == nil && !ready {
		err = errors.New(line)
	}
	if err != nil {
		p.stop()
		return err
	}
	p.version = strings.TrimSpace(version)
	p.pause()
	return nil
}

// scratchRoot returns a folder for a peer's inputs, in memory if possible and otherwise on disk.
func scratchRoot() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// Close ends the process.
func (p *Peer) Close() error {
	p.stop()
	return os.RemoveAll(p.dir)
}

func (p *Peer) stop() {
	if p.cmd.Process == nil {
		return
	}
	p.resume()
	p.in.Close()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
		p.cmd.Process.Kill()
		<-done
	}
}

// patience is the time for an answer after which the process counts as hung.
const patience = 2 * time.Minute

func (p *Peer) read() (string, error) {
	process := p.cmd.Process
	timer := time.AfterFunc(patience, func() { process.Kill() })
	defer timer.Stop()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.ended = true
		time.Sleep(50 * time.Millisecond) // wait for the last output on standard error
		return "", fmt.Errorf("the program ended: %w %s", err, p.stderr)
	}
	return strings.TrimSpace(line), nil
}

// ask sends a command and returns the answer.
func (p *Peer) ask(format string, args ...any) (string, error) {
	p.resume()
	defer p.pause()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.ended = true
		return "", fmt.Errorf("%s: %w %s", p.name, err, p.stderr)
	}
	line, err := p.read()
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.name, err)
	}
	return line, nil
}

// Variants implements [workload.Contestant].
func (p *Peer) Variants(c workload.Case) []string {
	switch family(p.name) {
	case "onnxruntime":
		return onnx.Variants(c)
	case "torch":
		switch {
		case c.Op == workload.SDPA || c.Op == workload.SDPADecode:
			return []string{"sdpa", "bmm"}
		case c.Int8: // the engine
			return []string{"fbgemm", "x86", "onednn"}
		}
		return []string{"eager"}
	case "onednn", "gonum", "archsimd":
		return []string{"primitive"}
	}
	switch c.Op {
	case workload.GemmNN, workload.GemmNT:
		if c.Dims[0] == 1 {
			return []string{"sgemm", "sgemv"}
		}
		return []string{"sgemm"}
	case workload.BatchGemmNN, workload.BatchGemmNT:
		return []string{"sgemm", "batch"}
	case workload.GemmPacked:
		return []string{"pack"}
	}
	return nil
}

// family returns the library's name without the part that distinguishes several builds of it.
func family(name string) string {
	f, _, _ := strings.Cut(name, "-")
	return f
}

type job struct {
	p      *Peer
	d      *workload.Data
	decode func([]float32) []float32
	dir    string // the folder of the case's files
	open   string // the command that opens the case
}

// Open implements [workload.Contestant]. It writes the inputs to files, which the process reads. A
// process holds one case at a time, so a second variant of the case is opened again in every turn.
func (p *Peer) Open(d *workload.Data, variant string) (workload.Job, error) {
	if p.ended {
		p.stop()
		p.open = nil
		if err := p.start(); err != nil {
			p.ended = true
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	dir := filepath.Join(p.dir, strings.NewReplacer(" ", "_").Replace(d.Case.String())+"_"+variant)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	in, decode := d.In, func(x []float32) []float32 { return x }
	if family(p.name) == "onnxruntime" {
		model := onnx.Build(d, variant)
		if model == nil {
			return nil, workload.ErrUnsupported
		}
		in, decode = model.In, model.Decode
		if err := os.WriteFile(filepath.Join(dir, "model.onnx"), model.Bytes, 0o600); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "shapes"), []byte(model.Shapes), 0o600); err != nil {
			return nil, err
		}
	}
	for i, x := range in {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%d", i)), workload.Encode(x), 0o600); err != nil {
			return nil, err
		}
	}
	j := &job{p: p, d: d, decode: decode, dir: dir}
	j.open = fmt.Sprintf("case %s %s %s %s", d.Name(), variant, filepath.Base(dir), strings.ReplaceAll(d.Shape(), "x", " "))
	if err := j.enter(); err != nil {
		return nil, err
	}
	return j, nil
}

// enter opens the job's case in the process, unless the process holds it.
func (j *job) enter() error {
	if j.p.open == j {
		return nil
	}
	j.p.open = nil
	line, err := j.p.ask("%s", j.open)
	if err != nil {
		return err
	}
	if line != "ok" {
		return fmt.Errorf("%w: %s", workload.ErrUnsupported, line)
	}
	j.p.open = j
	return nil
}

// Output implements [workload.Job].
func (j *job) Output() ([]float32, error) {
	if err := j.enter(); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(j.dir, "out"))
	if err != nil {
		return nil, err
	}
	return j.decode(workload.Decode(b)), nil
}

// Time implements [workload.Job].
func (j *job) Time(reps int) (time.Duration, error) {
	if err := j.enter(); err != nil {
		return 0, err
	}
	line, err := j.p.ask("time %d", reps)
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %s", j.p.name, line)
	}
	return time.Duration(ns), nil
}

// Close implements [workload.Job].
func (j *job) Close() error {
	if j.p.open == j {
		j.p.open = nil
		if _, err := j.p.ask("free"); err != nil {
			return err
		}
	}
	return os.RemoveAll(j.dir)
}

// tail keeps the end of a process's output on standard error.
type tail struct{ b []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-400):]
	return len(p), nil
}

func (t *tail) String() string { return strings.Join(strings.Fields(string(t.b)), " ") }
