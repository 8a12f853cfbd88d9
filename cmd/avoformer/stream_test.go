package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

// TestMostBytes bounds the size of the command, which a container or a machine at the edge has to
// load.
func TestMostBytes(t *testing.T) {
	if testing.Short() || testenv.Emulated() {
		t.Skip("links the command")
	}
	const most = 47_000_000 // includes 17 MB of arrow-go, whose reader of Parquet imports its functions on columns, and 1 MB of decoders of sound
	out := t.TempDir() + "/avoformer"
	if message, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, ".").CombinedOutput(); err != nil {
		t.Fatalf("%s", message)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", info.Size())
	if info.Size() > most {
		t.Errorf("the command has %d bytes, want at most %d", info.Size(), most)
	}
}

// TestStreamCalls: calls of embed -stream with flags or arguments that do not fit are errors.
func TestStreamCalls(t *testing.T) {
	for _, args := range [][]string{{"-stream", "json"}, {"-stream", "arrow", "-o", "x"}, {"-stream", "arrow", "texts.txt"}, {"-stream", "arrow", "-format", "csv"}} {
		if code, out, _ := call(t, "", append([]string{"embed", testdata + "embed"}, args...)...); code != exitUsage || out != "" {
			t.Errorf("%q ends with %d after %q", args, code, out)
		}
	}
	if code, _, stderr := call(t, "the cat\n", "embed", testdata+"embed", "-stream", "arrow"); code != exitFailed || !strings.Contains(stderr, "arrow") {
		t.Errorf("text as a stream ends with %d, %s", code, stderr)
	}
}

// TestStreamPython (make compare WHAT=pyarrow): for batches that pyarrow sends, the command writes
// batches with the vectors that embed prints.
func TestStreamPython(t *testing.T) {
	python := os.Getenv("AVOFORMER_PYARROW")
	if python == "" {
		t.Skip("AVOFORMER_PYARROW names no Python with pyarrow")
	}
	code, want, stderr := call(t, "the cat reads\n\nParis\n", "embed", testdata+"embed", "-format", "csv")
	if code != exitOK {
		t.Fatal(stderr)
	}
	script := exec.Command(python, "testdata/stream.py")
	requests, err := script.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := script.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	script.Stderr = &errs
	script.Args = append(script.Args, want)
	if err := script.Start(); err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	if code := run(context.Background(), []string{"embed", testdata + "embed", "-stream", "arrow", "-field", "words"}, requests, answers, &told); code != exitOK {
		t.Errorf("%d: %s", code, told.String())
	}
	answers.Close()
	if err := script.Wait(); err != nil {
		t.Errorf("%v: %s", err, errs.String())
	}
}
