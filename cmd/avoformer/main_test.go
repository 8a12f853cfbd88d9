package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/avoformer/avoformer/text/tokenizer"
)

const testdata = "../../text/testdata/"

// TestMain runs the command itself where a test starts it as a process.
func TestMain(m *testing.M) {
	if os.Getenv("AVOFORMER_TEST_COMMAND") != "" {
		main()
	}
	os.Exit(m.Run())
}

// call runs the command here.
func call(t testing.TB, in string, args ...string) (code int, out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(in), &o, &e)
	return code, o.String(), e.String()
}

func TestCommands(t *testing.T) {
	texts := "hello world\nthe cat reads\n\nParis.\n"
	for _, c := range []struct {
		name, in string
		args     []string
		want     []string // somewhere in the output, in this order
	}{
		{"embed", texts, []string{"embed", testdata + "embed"}, []string{`{"index":0,"text":"hello world","embedding":[`, `{"index":2,"text":"",`, `{"index":3,"text":"Paris."`}},
		{"embed csv", texts, []string{"embed", testdata + "embed", "-format", "csv", "-dim=2"}, []string{",", "\n", ",", "\n", ",", "\n", ",", "\n"}},
		{"embed jsonl", "{\"body\": \"a\"}\n\"b\"\n", []string{"embed", "-input=jsonl", "-field", "body", testdata + "embed", "-prompt", "query"}, []string{`"text":"a"`, `"text":"b"`}},
		{"nearest", texts, []string{"embed", testdata + "embed", "-nearest", "Paris.", "-k", "2"}, []string{"\t4\tParis."}},
		{"check", texts, []string{"embed", testdata + "embed", "-check", "-weights", "bf16"}, []string{"bf16 beside f32 on 4 texts: mean cosine 1.0000", "least 1.0000"}},
		{"check int8", texts, []string{"embed", testdata + "embed", "-check", "-weights=int8"}, []string{"int8 beside f32 on 4 texts: mean cosine 0.99", "least 0.9"}},
		{"check rerank", texts, []string{"rerank", testdata + "rerank", "what?", "-check", "-weights", "int8"}, []string{"int8 beside f32 on 4 texts: scores differ by 0.0", "at most by 0.", "(line "}},
		{"check classify", texts, []string{"classify", testdata + "classify", "-check", "-weights=bf16"}, []string{"bf16 beside f32 on 4 texts: scores differ by 0.00", "the best label is the same for 4"}},
		{"blocks", texts, []string{"classify", testdata + "classify", "-check", "-weights=q8_0"}, []string{"q8_0 beside f32 on 4 texts: scores differ by 0.0"}},
		{"rerank", texts, []string{"rerank", testdata + "rerank", "what?", "-top", "2"}, []string{"\t", "\n", "\t", "\n"}},
		{"classify", texts, []string{"classify", testdata + "classify", "-top", "1"}, []string{`{"labels":[{"label":`, `"text":"hello world"}`, `"text":"Paris."}`}},
		{"marks", "\ufeffa\xffb\r\n", []string{"classify", testdata + "classify", "-top", "1"}, []string{"\"text\":\"a\ufffdb\"}\n"}},
		{"words", "The cat in Paris\n", []string{"classify", "-words", "first", testdata + "tokens"}, []string{`"entities":[`, `"text":"The cat in Paris"`}},
		{"image", "", []string{"classify", testdata + "image", "../../text/internal/vision/testdata/landscape.png"}, []string{`landscape.png`, `"label":`}},
		{"generate", "", []string{"generate", testdata + "generate", "The quick brown", "-max-tokens", "8"}, []string{"\n"}},
		{"generate cache", "", []string{"generate", testdata + "generate", "The quick brown", "-max-tokens", "8", "-weights", "bf16", "-cache", "int8"}, []string{"\n"}},
		{"chat", "Hello\nBye\n", []string{"generate", testdata + "generate", "-max-tokens=4", "-system", "x"}, []string{"\n", "\n"}},
		{"translate", texts, []string{"translate", testdata + "translate", "-beams", "2", "-max-tokens", "5"}, []string{"\n", "\n", "\n", "\n"}},
		{"transcribe", "", []string{"transcribe", testdata + "transcribe", testdata + "transcribe/sound0.wav", "-language=en"}, []string{"\n"}},
		{"info", "", []string{"info", testdata + "embed"}, []string{"bert", "2 layers", "works with", "embed"}},
		{"info gguf", "", []string{"info", "../../models/testdata/gguf/gemma3/q8_0.gguf"}, []string{"gemma3_text", "7 layers", "Q8_0", "101 tokens, ", "generate"}},
		{"info image", "", []string{"info", testdata + "image"}, []string{"works with   classify\n"}},
		{"info chat", "", []string{"info", "-json", testdata + "generate"}, []string{`"model_type":"qwen2"`, `"uses":["generate"]`}},
		{"help", "", []string{"help"}, []string{"embed", "bench"}},
		{"flags", "", []string{"embed", "-h"}, []string{"-nearest"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, stderr := call(t, c.in, c.args...)
			if code != exitOK || stderr != "" {
				t.Fatalf("exit code %d, %q", code, stderr)
			}
			rest := out
			for _, w := range c.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Fatalf("no %q in %q of %q", w, rest, out)
				}
				rest = after
			}
		})
	}
}

// TestBench measures this library in two formats, and what there is not.
func TestBench(t *testing.T) {
	t.Setenv("AVOFORMER_TEST_COMMAND", "1")
	code, out, stderr := call(t, "", "bench", testdata+"embed", "-rounds", "2", "-texts=3", "-engines", "avoformer,avoformer-int8,onnxruntime,avoformer-x", "-python", "/nowhere/python")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 6 || !strings.Contains(lines[0], "2 rounds") || !strings.HasPrefix(lines[2], "avoformer ") || !strings.HasSuffix(lines[2], " 1.00000") ||
		!strings.HasPrefix(lines[3], "avoformer-int8 ") || !strings.Contains(lines[3], " 0.9") || !strings.Contains(lines[4], "not measured") || !strings.Contains(lines[5], "not measured") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
	if code, out, stderr := call(t, "", "bench", testdata+"generate", "-seconds", "0.1", "-cache", "int8"); code != exitOK || !strings.Contains(out, "tokens a second") {
		t.Errorf("exit code %d, %q\n%s", code, stderr, out)
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	exists := filepath.Join(dir, "exists.npy")
	if err := os.WriteFile(exists, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		in   string
		code int
		want string
	}{
		{nil, "", exitUsage, "embed, rerank"},
		{[]string{"fly"}, "", exitUsage, `"fly"`},
		{[]string{"embed"}, "", exitUsage, "DIR [FILE]"},
		{[]string{"embed", "-fly", "x"}, "", exitUsage, "-fly"},
		{[]string{"embed", testdata + "embed", "a", "b"}, "", exitUsage, "DIR [FILE]"},
		{[]string{"embed", testdata + "embed", "-format", "xml"}, "", exitUsage, "xml"},
		{[]string{"embed", testdata + "embed", "-format", "npy"}, "", exitUsage, "-o FILE"},
		{[]string{"embed", testdata + "embed", "-input", "xml"}, "", exitUsage, "xml"},
		{[]string{"embed", testdata + "embed", "-weights", "f8"}, "", exitUsage, "f8"},
		{[]string{"generate", testdata + "generate", "x", "-cache", "q8_0"}, "", exitUsage, "q8_0"},
		{[]string{"bench", testdata + "embed", "-cache", "int8"}, "", exitFailed, "no decoder"},
		{[]string{"classify", testdata + "tokens", "-words", "all"}, "", exitUsage, "all"},
		{[]string{"embed", dir + "/none"}, "", exitFailed, "none"},
		{[]string{"embed", dir}, "", exitFailed, "config.json"},
		{[]string{"embed", testdata + "embed", dir + "/none"}, "", exitFailed, "none: no such file"},
		{[]string{"embed", testdata + "embed", "-prompt", "fly"}, "x\n", exitFailed, `"fly"`},
		{[]string{"embed", testdata + "embed", "-input", "jsonl"}, "{}\n", exitFailed, "line 1"},
		{[]string{"embed", testdata + "embed", "-refuse", "-max-length", "4"}, "a b c d e\n", exitFailed, "too many tokens"},
		{[]string{"embed", testdata + "embed", "-o", exists}, "", exitFailed, "-f replaces it"},
		{[]string{"embed", testdata + "embed", "-f", "-o", dir}, "", exitFailed, "no regular file"},
		{[]string{"classify", testdata + "image"}, "", exitFailed, "takes images, no texts"},
		{[]string{"generate", testdata + "generate", "x", "-top-k", "5"}, "", exitUsage, "-temperature above 0"},
		{[]string{"generate", testdata + "generate", "x", "-temperature", "-1"}, "", exitFailed, "Temperature = -1, want 0 to"},
		{[]string{"translate", testdata + "translate", "-to", "fr"}, "x\n", exitFailed, `no token of a language "fr"`},
		{[]string{"classify", testdata + "tokens", "-words=first", "-check"}, "", exitUsage, "not of -words"},
		{[]string{"rerank", testdata + "classify", "q"}, "", exitFailed, "one label"},
		{[]string{"generate", testdata + "embed", "q"}, "", exitFailed, "bert"},
		{[]string{"transcribe", testdata + "transcribe", "main.go"}, "", exitFailed, "no WAV file"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, out, stderr := call(t, c.in, c.args...)
			if code != c.code || out != "" {
				t.Errorf("exit code %d, output %q, want %d", code, out, c.code)
			}
			if !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("message %q, want one line with %q", stderr, c.want)
			}
		})
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestDiskFull(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"embed", "-h"}, {"embed", testdata + "embed"}, {"classify", testdata + "classify"}, {"rerank", testdata + "rerank", "q"}, {"info", testdata + "embed"},
		{"embed", testdata + "embed", "-nearest", "x"}, {"embed", testdata + "embed", "-check"}, {"translate", testdata + "translate", "-max-tokens=2"}, {"generate", testdata + "generate", "x", "-max-tokens=2"}} {
		var stderr bytes.Buffer
		if code := run(context.Background(), args, strings.NewReader("a\nb\n"), full{}, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "no space left") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

// writeTexts writes n lines of some words.
func writeTexts(t testing.TB, file string, n int) {
	t.Helper()
	words := strings.Fields("the cat reads a long letter and nobody forgets three numbers in French because it has to Paris attention Straße 東京 😀 unaffordable")
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		for range r.IntN(14) {
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteByte('\n')
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestResume interrupts and kills runs and starts them again: the output is that of a
// run that was left alone. A run gets some lines, and ends when a chunk of them is done.
func TestResume(t *testing.T) {
	const chunks = 10
	dir := t.TempDir()
	input := filepath.Join(dir, "texts.txt")
	writeTexts(t, input, chunks*chunkLines+100)
	data, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	all := bytes.SplitAfter(data, []byte("\n"))
	for _, format := range []string{"npy", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			whole, broken := filepath.Join(dir, "whole."+format), filepath.Join(dir, "broken."+format)
			if code, _, stderr := call(t, "", "embed", testdata+"embed", input, "-o", whole); code != exitOK {
				t.Fatal(stderr)
			}
			r := rand.New(rand.NewPCG(3, 4))
			for runs, done := 0, 0; done < chunks; runs++ {
				lines := min((done+1+r.IntN(3))*chunkLines+r.IntN(chunkLines), len(all))
				done = breakOff(t, bytes.Join(all[:lines], nil), broken, done+1, runs%2 == 0)
				halfChunk(t, broken+".part")
			}
			if code, _, stderr := call(t, "", "embed", testdata+"embed", input, "-o", broken); code != exitOK {
				t.Fatal(stderr)
			}
			compareFiles(t, broken, whole)
			left, err := filepath.Glob(broken + ".*")
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// breakOff starts a run that waits for more than the input, ends it when some chunks are
// done, and returns how many are.
func breakOff(t *testing.T, input []byte, output string, chunks int, interrupt bool) int {
	t.Helper()
	c := exec.Command(os.Args[0], "embed", testdata+"embed", "-o", output)
	c.Env = append(os.Environ(), "AVOFORMER_TEST_COMMAND=1")
	var stderr bytes.Buffer
	c.Stderr = &stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = stdin.Write(input) }() // it fails if the run ends before it has read all
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for linesDone(t, output) < chunks*chunkLines {
		select {
		case err := <-ended:
			t.Fatalf("%v, %s", err, stderr.String())
		case <-time.After(time.Millisecond):
		}
	}
	want := -1
	if interrupt && runtime.GOOS != "windows" {
		want = exitInterrupted
		err = c.Process.Signal(os.Interrupt)
	} else {
		err = c.Process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	if code := c.ProcessState.ExitCode(); code != want && runtime.GOOS != "windows" {
		t.Errorf("exit code %d, want %d", code, want)
	}
	if message := stderr.String(); want == exitInterrupted && !strings.Contains(message, "interrupted; ") {
		t.Errorf("message %q", message)
	}
	return linesDone(t, output) / chunkLines
}

// linesDone is what OUT.part.json says, 0 while there is none.
func linesDone(t *testing.T, output string) int {
	t.Helper()
	data, err := os.ReadFile(output + ".part.json")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	var s state
	if err = errors.Join(err, json.Unmarshal(data, &s)); err != nil {
		t.Fatal(err)
	}
	return s.Lines
}

// halfChunk adds what a run leaves that is killed while it writes.
func halfChunk(t *testing.T, part string) {
	t.Helper()
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("half a chunk"); err != nil {
		t.Fatal(err)
	}
}

func compareFiles(t *testing.T, got, want string) {
	t.Helper()
	a, err := os.ReadFile(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Errorf("%s and %s differ: %d and %d bytes", got, want, len(a), len(b))
	}
}

// TestInterruptedInput: an interrupt ends a run that waits for its input.
func TestInterruptedInput(t *testing.T) {
	for _, args := range [][]string{{"embed", testdata + "embed"}, {"rerank", testdata + "rerank", "q"}, {"generate", testdata + "generate"}, {"transcribe", testdata + "transcribe", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, w := io.Pipe()
		ended := make(chan int)
		var stderr bytes.Buffer
		go func() { ended <- run(ctx, args, in, io.Discard, &stderr) }()
		if _, err := w.Write([]byte("R")); err != nil { // once it reads
			t.Fatal(err)
		}
		cancel()
		if code := <-ended; code != exitInterrupted || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("%s: exit code %d, %q", args, code, stderr.String())
		}
	}
}

// TestResumeRefused does not go on with what does not belong together.
func TestResumeRefused(t *testing.T) {
	dir := t.TempDir()
	input, output := filepath.Join(dir, "texts.txt"), filepath.Join(dir, "out.jsonl")
	writeTexts(t, input, 3*chunkLines)
	// A run that fails in its last chunk.
	data, err := os.ReadFile(input)
	if err != nil {
		t.Fatal(err)
	}
	long := append(bytes.Clone(data), strings.Repeat("word ", 100)+"\n"...)
	embedIt := func(in []byte, more ...string) (int, string) {
		code, _, stderr := call(t, string(in), append([]string{"embed", testdata + "embed", "-refuse", "-o", output}, more...)...)
		return code, stderr
	}
	if code, stderr := embedIt(long); code != exitFailed || !strings.Contains(stderr, fmt.Sprint(3*chunkLines, " lines are done")) {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	other := bytes.Clone(data)
	other[10]++
	for name, c := range map[string]struct {
		in   []byte
		more []string
		want string
	}{
		"other input":   {other, nil, "others than before"},
		"shorter input": {data[:len(data)/2], nil, "are done"},
		"other flags":   {data, []string{"-dim", "8"}, "other flags"},
	} {
		if code, stderr := embedIt(c.in, c.more...); code != exitFailed || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
	}
	if code, stderr := embedIt(data); code != exitOK {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	got, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	rows := bytes.Split(bytes.TrimSuffix(got, []byte("\n")), []byte("\n"))
	if len(rows) != 3*chunkLines {
		t.Fatalf("%d rows, want %d", len(rows), 3*chunkLines)
	}
	for i, row := range rows {
		var r struct{ Index int }
		if err := json.Unmarshal(row, &r); err != nil || r.Index != i {
			t.Fatalf("row %d has index %d, %v", i, r.Index, err)
		}
	}
}

// TestNPY reads what was written.
func TestNPY(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out.npy")
	if code, _, stderr := call(t, "a\nb\nc\n", "embed", testdata+"embed", "-dim", "5", "-o", output); code != exitOK {
		t.Fatal(stderr)
	}
	data, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if head := string(data[:128]); !strings.HasPrefix(head, "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5), }") || head[127] != '\n' {
		t.Errorf("header %q", head)
	}
	if len(data) != 128+3*5*4 {
		t.Errorf("%d bytes", len(data))
	}
}

// TestHubCache gives commands a model's folder in the hub's cache.
func TestHubCache(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "refs"), 0o777),
		os.WriteFile(filepath.Join(dir, "refs", "main"), []byte("0123abcd\n"), 0o666),
		os.CopyFS(filepath.Join(dir, "snapshots", "0123abcd"), os.DirFS(testdata+"embed")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if code, out, stderr := call(t, "", "info", "-json", dir); code != exitOK || !strings.Contains(out, `"weights":39648`) || strings.Contains(out, "unsupported") {
		t.Errorf("info: exit code %d, %q\n%s", code, stderr, out)
	}
	if code, _, stderr := call(t, "a\n", "embed", dir); code != exitOK {
		t.Errorf("embed: exit code %d, %q", code, stderr)
	}
	if _, err := tokenizer.Open(dir); err != nil {
		t.Error(err)
	}
}
