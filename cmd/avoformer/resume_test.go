package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// writeTexts writes n lines, each with some words.
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

// TestResume interrupts and kills runs and starts them again. The output is that of a run without
// interruptions. Each run reads some lines, and ends when a chunk of them is done.
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

// breakOff starts a run that waits for more input, ends it when some chunks are done, and returns
// the number of chunks that are done.
func breakOff(t *testing.T, input []byte, output string, chunks int, interrupt bool) int {
	t.Helper()
	c := process("embed", testdata+"embed", "-o", output)
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

// linesDone returns the number of lines in OUT.part.json, 0 while there is no such file.
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

// halfChunk adds the bytes that a run leaves if it is killed while it writes.
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

// TestResumeRefused: a run does not continue if the input, the output and its state do not belong
// together.
func TestResumeRefused(t *testing.T) {
	dir := t.TempDir()
	input, output := filepath.Join(dir, "texts.txt"), filepath.Join(dir, "out.jsonl")
	writeTexts(t, input, 3*chunkLines)
	// This run fails in its last chunk.
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
		"other input":   {other, nil, "have changed"},
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

// TestNothingLeft: a run that fails before its first chunk leaves no file.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := call(t, "no object\n", "embed", testdata+"embed", "-input", "jsonl", "-o", filepath.Join(dir, "out.npy")); code != exitFailed {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
