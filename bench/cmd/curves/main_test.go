package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPictures: each committed picture of curves equals the output of this command for the figures
// next to it.
func TestPictures(t *testing.T) {
	files, err := filepath.Glob("../../results/*-threads.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of figures (%v), want some", len(files), err)
	}
	for _, file := range files {
		var drawn bytes.Buffer
		if err := run([]string{file}, &drawn); err != nil {
			t.Fatal(err)
		}
		picture := strings.TrimSuffix(file, ".txt") + ".svg"
		if committed, err := os.ReadFile(picture); err != nil || !bytes.Equal(committed, drawn.Bytes()) {
			t.Errorf("%s is not drawn from %s (%v): run go run -C bench ./cmd/curves", picture, file, err)
		}
		for d := xml.NewDecoder(&drawn); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is not XML: %v", picture, err)
			}
		}
	}
}

const head = "title: T\ncpu: C\ncommand: M\n"

// TestRead: times and rates become speedups, and figures that cannot be drawn are refused.
func TestRead(t *testing.T) {
	c, err := read(strings.NewReader(head + "# comment\na | ms | 1=8 2=4 8=2\nb | tokens/s | 1=10 4=35\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []point{{8, 4}, {4, 3.5}} {
		if got := c.series[i].points[len(c.series[i].points)-1]; got != want {
			t.Errorf("series %d ends at %v, want %v", i, got, want)
		}
	}
	for _, bad := range []string{"", "a | s | 1=1 2=2", "a | ms | 2=1 4=2", "a | ms | 1=1 1=2", "a | ms | 1=1", "a | ms | 1=0 2=1", "a | ms | 1=1 2=NaN",
		"a | ms", "a | ms | 1=1 9999999=2", "colour: red", "a | ms | 1=1 2"} {
		if _, err := read(strings.NewReader(head + bad + "\n")); err == nil {
			t.Errorf("%q is read, want an error", bad)
		}
	}
	if _, err := read(strings.NewReader("title: T\na | ms | 1=8 2=4\n")); err == nil || !strings.Contains(err.Error(), "no line") {
		t.Errorf("without a CPU: %v, want an error", err)
	}
}
