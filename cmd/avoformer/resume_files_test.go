package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// begun starts a run that reads lines and waits for more. It returns when some chunks are in
// OUT.part. The process is killed at the test's end, unless it has ended before.
func begun(t *testing.T, lines []byte, output string, chunks int, args ...string) *exec.Cmd {
	t.Helper()
	c := process(append([]string{"embed", args[0], "-o", output}, args[1:]...)...)
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(c) })
	go func() { _, _ = stdin.Write(lines) }()
	for deadline := time.Now().Add(time.Minute); linesDone(t, output) < chunks*chunkLines; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the run makes no progress")
		}
	}
	return c
}

// kill ends a process like kill -9.
func kill(c *exec.Cmd) {
	if c.ProcessState == nil {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

// someLines returns n lines that writeTexts has written.
func someLines(t *testing.T, n int) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "texts.txt")
	writeTexts(t, file, n)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestStartOver: with -f a run does not continue the output of a killed run of the same job.
// Without -f it does, even if the killed run had -f and was going to replace an output.
func TestStartOver(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out.f32")
	texts := someLines(t, 3*chunkLines)
	if err := os.WriteFile(output, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	embedIt := func(in []byte, more ...string) (int, string) {
		code, _, stderr := call(t, string(in), append([]string{"embed", testdata + "embed", "-o", output}, more...)...)
		return code, stderr
	}
	if code, stderr := embedIt(texts); code != exitFailed || !strings.Contains(stderr, "exists; -f replaces it") {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	kill(begun(t, texts, output, 2, testdata+"embed", "-f"))
	if got, err := os.ReadFile(output); err != nil || string(got) != "before" {
		t.Errorf("an unfinished run has changed the output: %q, %v", got, err)
	}
	other := someLines(t, 2*chunkLines)
	other[0] ^= 1 // a run that continues refuses the change
	if code, stderr := embedIt(other); code != exitFailed || !strings.Contains(stderr, "have changed") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if code, stderr := embedIt(texts); code != exitOK { // continues, and replaces the output that -f was going to replace
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	whole, err := os.ReadFile(output)
	if err != nil || len(whole) != 3*chunkLines*128 {
		t.Fatalf("%d bytes, %v", len(whole), err)
	}
	kill(begun(t, texts, output, 2, testdata+"embed", "-f"))
	if code, stderr := embedIt(other, "-f"); code != exitOK {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	if got, err := os.ReadFile(output); err != nil || len(got) != 2*chunkLines*128 || bytes.Equal(got[:128], whole[:128]) {
		t.Errorf("%d bytes, %v, want the vectors of the other lines", len(got), err)
	}
	if left, err := filepath.Glob(output + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestChangedModel: a run does not continue with output of a model whose files have changed since,
// whether their sizes have changed or not.
func TestChangedModel(t *testing.T) {
	texts := someLines(t, 2*chunkLines)
	for _, name := range []string{"model.safetensors", "config.json", "tokenizer.json"} {
		t.Run(name, func(t *testing.T) {
			model, output := t.TempDir(), filepath.Join(t.TempDir(), "out.npy")
			if err := os.CopyFS(model, os.DirFS(testdata+"embed")); err != nil {
				t.Fatal(err)
			}
			kill(begun(t, texts, output, 1, model))
			path := filepath.Join(model, name)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if changed := bytes.Clone(data); name == "model.safetensors" {
				changed[len(changed)-100] ^= 1
				err = os.WriteFile(path, changed, 0o666)
			} else {
				err = os.WriteFile(path, append(changed, '\n'), 0o666)
			}
			if err == nil {
				err = os.Chtimes(path, time.Time{}, info.ModTime())
			}
			if err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := call(t, string(texts), "embed", model, "-o", output); code != exitFailed || !strings.Contains(stderr, ".part: the model was ") || !strings.Contains(stderr, "; -f starts over") {
				t.Errorf("exit code %d, %q", code, stderr)
			}
			// Files that the model does not use may change, and changed files may be restored.
			for path, data := range map[string][]byte{path: data, filepath.Join(model, "README.md"): nil} {
				if err := os.WriteFile(path, data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if code, _, stderr := call(t, string(texts), "embed", model, "-o", output); code != exitOK {
				t.Errorf("exit code %d, %q", code, stderr)
			}
		})
	}
}

// TestTwoProcesses: while one process writes an output, no other process does, for any flags. After
// the first one is killed, another one continues.
func TestTwoProcesses(t *testing.T) {
	switch runtime.GOOS {
	case "darwin", "dragonfly", "freebsd", "linux", "netbsd", "openbsd", "windows":
	default:
		t.Skip("no locks on " + runtime.GOOS)
	}
	output := filepath.Join(t.TempDir(), "out.npy")
	texts := someLines(t, 3*chunkLines)
	first := begun(t, texts[:bytes.LastIndexByte(texts[:len(texts)-1], '\n')+1], output, 2, testdata+"embed")
	for _, more := range [][]string{nil, {"-f"}} {
		args := append([]string{"embed", testdata + "embed", "-o", output}, more...)
		if code, _, stderr := call(t, string(texts), args...); code != exitFailed || !strings.Contains(stderr, "another process is writing") {
			t.Errorf("%q: exit code %d, %q", more, code, stderr)
		}
	}
	kill(first)
	if code, _, stderr := call(t, string(texts), "embed", testdata+"embed", "-o", output); code != exitOK {
		t.Fatal(stderr)
	}
	whole := filepath.Join(t.TempDir(), "whole.npy")
	if code, _, stderr := call(t, string(texts), "embed", testdata+"embed", "-o", whole); code != exitOK {
		t.Fatal(stderr)
	}
	compareFiles(t, output, whole)
}

// TestManyAtOnce: of many runs with one output, started at the same time, only one writes at a
// time. The final output is that of a single run.
func TestManyAtOnce(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out.f32")
	texts := [2][]byte{someLines(t, chunkLines+7), bytes.Repeat([]byte("a\n"), 2*chunkLines)}
	var want [2][]byte
	for i, in := range texts {
		if code, _, stderr := call(t, string(in), "embed", testdata+"embed", "-o", output, "-f"); code != exitOK {
			t.Fatal(stderr)
		}
		var err error
		if want[i], err = os.ReadFile(output); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan string)
	for i := range 4 {
		go func() {
			said := ""
			for range 5 {
				var stderr bytes.Buffer
				if code := run(context.Background(), []string{"embed", testdata + "embed", "-o", output, "-f"}, bytes.NewReader(texts[i%2]), io.Discard, &stderr); code != exitOK && !strings.Contains(stderr.String(), "another process is writing") {
					said = stderr.String()
				}
			}
			ended <- said
		}()
	}
	for range 4 {
		if said := <-ended; said != "" {
			t.Errorf("a run failed: %q", said)
		}
	}
	got, err := os.ReadFile(output)
	if err != nil || !bytes.Equal(got, want[0]) && !bytes.Equal(got, want[1]) {
		t.Errorf("%d bytes, %v, want those of one run: %d or %d", len(got), err, len(want[0]), len(want[1]))
	}
}

// TestOwnInput: an output never overwrites a file that it is made from, for any name of the output.
func TestOwnInput(t *testing.T) {
	dir, model := t.TempDir(), t.TempDir()
	if err := os.CopyFS(model, os.DirFS(testdata+"embed")); err != nil {
		t.Fatal(err)
	}
	texts := []byte("{\"text\": \"a\"}\n{\"text\": \"b\"}\n")
	input := filepath.Join(dir, "x.jsonl")
	hard, soft := filepath.Join(dir, "hard.jsonl"), filepath.Join(dir, "soft.jsonl")
	if err := os.WriteFile(input, texts, 0o666); err != nil {
		t.Fatal(err)
	}
	outputs := []string{input, dir + "/./x.jsonl"}
	for path, link := range map[string]func(string, string) error{hard: os.Link, soft: os.Symlink} {
		if link(input, path) == nil { // some file systems have no links
			outputs = append(outputs, path)
		}
	}
	part := filepath.Join(dir, "y.jsonl.part")
	if os.Link(input, part) == nil {
		outputs = append(outputs, strings.TrimSuffix(part, ".part"))
	}
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, output := range outputs {
		for _, more := range [][]string{nil, {"-f"}} {
			args := append([]string{"embed", model, input, "-o", output}, more...)
			if code, _, stderr := call(t, "", args...); code != exitFailed || !strings.Contains(stderr, "would overwrite an input") {
				t.Errorf("%q: exit code %d, %q", args, code, stderr)
			}
		}
		stdin, err := os.Open(input)
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		if code := run(t.Context(), []string{"embed", model, "-input=jsonl", "-f", "-o", output}, stdin, io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "is the input") {
			t.Errorf("%s from the standard input: exit code %d, %q", output, code, stderr.String())
		}
		stdin.Close()
	}
	weights := filepath.Join(model, "model.safetensors")
	if code, _, stderr := call(t, "", "embed", model, input, "-f", "-format=f32", "-o", weights); code != exitFailed || !strings.Contains(stderr, "is the model's model.safetensors") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	if got, err := os.ReadFile(input); err != nil || !bytes.Equal(got, texts) {
		t.Errorf("the input is now %q, %v", got, err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("left behind: %v, %v", after, err)
	}
}

// TestSynced: data is on the disk before the record that counts it. The test observes each call
// that waits for the disk. With each call it records the size of the output or the list of files in
// the folder.
func TestSynced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders are not synced there")
	}
	dir := t.TempDir()
	output := filepath.Join(dir, "out.f32")
	kept := syncFile
	defer func() { syncFile = kept }()
	var order []string
	syncFile = func(f *os.File) error {
		name, err := filepath.Rel(dir, f.Name())
		if err != nil {
			return err
		}
		if name == "." {
			left, err := filepath.Glob(output + "*")
			if err != nil {
				return err
			}
			for _, l := range left {
				name += " " + filepath.Base(l)
			}
		} else if name == "out.f32.part" {
			data, err := os.ReadFile(f.Name())
			if err != nil {
				return err
			}
			name += fmt.Sprint(" ", len(data))
		}
		order = append(order, name)
		return kept(f)
	}
	if code, _, stderr := call(t, string(someLines(t, chunkLines+1)), "embed", testdata+"embed", "-o", output); code != exitOK {
		t.Fatal(stderr)
	}
	want := []string{
		fmt.Sprint("out.f32.part ", chunkLines*128), "out.f32.part.json.new", ". out.f32.part out.f32.part.json",
		fmt.Sprint("out.f32.part ", (chunkLines+1)*128), "out.f32.part.json.new", ". out.f32.part out.f32.part.json",
		fmt.Sprint("out.f32.part ", (chunkLines+1)*128), ". out.f32 out.f32.part.json", ". out.f32",
	}
	if !slices.Equal(order, want) {
		t.Errorf("synced %q, want %q", order, want)
	}
	// With -f the state of the previous run is removed first.
	kill(begun(t, someLines(t, 2*chunkLines), output, 1, testdata+"embed", "-f"))
	order = nil
	if code, _, stderr := call(t, "a\n", "embed", testdata+"embed", "-o", output, "-f"); code != exitOK {
		t.Fatal(stderr)
	}
	if len(order) == 0 || order[0] != ". out.f32 out.f32.part" {
		t.Errorf("synced %q, want the folder without the state first", order)
	}
}
