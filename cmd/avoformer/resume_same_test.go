package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// brokenOff leaves an output with two complete chunks, and returns the input for a run that
// continues.
func brokenOff(t *testing.T, output string, flags ...string) string {
	t.Helper()
	texts := filepath.Join(t.TempDir(), "texts.txt")
	writeTexts(t, texts, 3*chunkLines)
	data, err := os.ReadFile(texts)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	bad := string(bytes.Join(lines[:2*chunkLines], nil)) + strings.Repeat("word ", 100) + "\n" // longer than -refuse allows
	args := append([]string{"embed", testdata + "embed", "-refuse", "-o", output}, flags...)
	if code, _, stderr := call(t, bad, args...); code != exitFailed || linesDone(t, output) != 2*chunkLines {
		t.Fatalf("exit code %d, %q, %d lines are done", code, stderr, linesDone(t, output))
	}
	return string(data)
}

// TestResumeCutsOff: bytes in the output after the last complete chunk are removed, even if they
// are longer than the output that the run still has to write.
func TestResumeCutsOff(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"jsonl", "npy"} {
		whole, output := filepath.Join(dir, "whole."+format), filepath.Join(dir, "out."+format)
		data := brokenOff(t, output)
		part, err := os.ReadFile(output + ".part")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(output+".part", append(part, make([]byte, 10*len(part))...), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, o := range []string{whole, output} {
			if code, _, stderr := call(t, data, "embed", testdata+"embed", "-refuse", "-o", o); code != exitOK {
				t.Fatalf("%s: exit code %d, %q", o, code, stderr)
			}
		}
		compareFiles(t, output, whole)
	}
}

// TestResumeOtherFlags: a run does not continue with flags that change the vectors or the lines.
func TestResumeOtherFlags(t *testing.T) {
	output := filepath.Join(t.TempDir(), "out.jsonl")
	data := brokenOff(t, output)
	for _, flags := range [][]string{
		{"-prompt", "query"}, {"-dim", "8"}, {"-max-length", "20"}, {"-batch-tokens", "64"}, {"-weights", "bf16"}, {"-format", "csv"},
	} {
		args := append([]string{"embed", testdata + "embed", "-refuse", "-o", output}, flags...)
		if code, _, stderr := call(t, data, args...); code != exitFailed || !strings.Contains(stderr, "other flags") {
			t.Errorf("%v: exit code %d, %q", flags, code, stderr)
		}
	}
	for _, long := range [][]string{nil, {"-split", "0"}} { // flags that replace -refuse
		args := append([]string{"embed", testdata + "embed", "-o", output}, long...)
		if code, _, stderr := call(t, data, args...); code != exitFailed || !strings.Contains(stderr, "other flags") {
			t.Errorf("%v without -refuse: exit code %d, %q", long, code, stderr)
		}
	}
}
