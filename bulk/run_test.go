package bulk_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avoformer/avoformer/bulk"
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
)

// TestEnd verifies that a run ends as soon as its last file is complete, even if other workers run
// out of work earlier.
func TestEnd(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a.txt"), []byte("short\n"))
	write(t, filepath.Join(dir, "in/b.txt"), []byte("slow\n"))
	const slow = 100 * time.Millisecond
	task := bulk.Task{Name: "none", Compute: func(_ context.Context, texts []string) ([]bulk.Result, error) {
		if strings.HasPrefix(texts[0], "slow") {
			time.Sleep(slow)
		}
		return make([]bulk.Result, len(texts)), nil
	}}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		report, err := bulk.Run(t.Context(), task, bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "jsonl"})
		if err != nil || report.Made != 2 || report.Written != 2 {
			t.Errorf("%+v, %v", report, err)
		}
		if took := time.Since(began); took != slow {
			t.Errorf("it took %v, want %v", took, slow)
		}
	})
}

// TestFingerprint verifies that a run continues only results with its own fingerprint, and that a
// run without a fingerprint continues only results without one.
func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), []byte("a\n"))
	unknown := errors.New("files are gone")
	of := func(fingerprint string) func(context.Context) (string, error) {
		return func(context.Context) (string, error) {
			if fingerprint == "" {
				return "", unknown
			}
			return fingerprint, nil
		}
	}
	run := func(out string, fingerprint func(context.Context) (string, error)) error {
		_, err := bulk.Run(t.Context(), bulk.Task{Name: "none", Fingerprint: fingerprint, Compute: func(_ context.Context, texts []string) ([]bulk.Result, error) {
			return make([]bulk.Result, len(texts)), nil
		}}, bulk.Options{Inputs: []string{filepath.Join(dir, "a.txt")}, Out: filepath.Join(dir, out), Format: "jsonl"})
		return err
	}
	for _, c := range []struct {
		out         string
		fingerprint func(context.Context) (string, error)
		want        error
		says        string
	}{
		{"out", of("a-f32-1"), nil, ""},
		{"out", of("a-f32-1"), nil, ""},
		{"out", of("a-f32-2"), fault.ErrOtherResults, "a.txt.json: the version of the numerics was 1, now it is 2"},
		{"out", nil, fault.ErrOtherResults, "a.txt.json: "},
		{"out", of(""), unknown, ""},
		{"none", nil, nil, ""},
		{"none", of("a-f32-1"), fault.ErrOtherResults, "there was no fingerprint, now it is a-f32-1"},
	} {
		if err := run(c.out, c.fingerprint); !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", c.out, err, c.want, c.says)
		}
	}
	if m, err := bulk.ReadManifest(filepath.Join(dir, "out", "a.txt.json")); err != nil || m.Fingerprint != "a-f32-1" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestGone verifies that a run computes a shard again if it has a manifest but a file is missing. A
// file of another length is an error.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a.txt"), []byte("the cat\n\xff\n"))
	write(t, filepath.Join(dir, "in/b.txt"), []byte("reads\n"))
	o := bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "jsonl"}
	made := func(want int) {
		t.Helper()
		report, err := bulk.Run(t.Context(), echo, o)
		if err != nil || report.Made != want || report.Found != 2-want || report.Written != 2 || report.Dead != 1 {
			t.Fatalf("%+v, %v, want %d computed", report, err, want)
		}
	}
	made(2)
	whole, err := os.ReadFile(filepath.Join(o.Out, "a.txt.out.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt.out.jsonl", "a.txt.dead.jsonl", "b.txt.out.jsonl"} {
		if err := os.Remove(filepath.Join(o.Out, name)); err != nil {
			t.Fatal(err)
		}
		made(1)
		made(0)
	}
	if again, err := os.ReadFile(filepath.Join(o.Out, "a.txt.out.jsonl")); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("%q, %v, want %q", again, err, whole)
	}
	write(t, filepath.Join(o.Out, "a.txt.out.jsonl"), whole[:len(whole)-3])
	if _, err := bulk.Run(t.Context(), echo, o); !errors.Is(err, fault.ErrOtherResults) || !strings.Contains(err.Error(), "a.txt.out.jsonl") {
		t.Errorf("a file that was cut: %v", err)
	}
}

// TestCause verifies that a run returns the cause of its context.
func TestCause(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.txt"), []byte("the cat\n"))
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := bulk.Run(ctx, echo, bulk.Options{Inputs: []string{filepath.Join(dir, "a.txt")}, Out: filepath.Join(dir, "out"), Format: "jsonl"}); !errors.Is(err, enough) {
		t.Errorf("%v, want %v", err, enough)
	}
}

// TestSweep verifies that a process that takes over a stale claim and completes the shard removes
// the incomplete files that the previous process left of this shard, and no other files.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a.txt"), []byte("the cat\n"))
	out := filepath.Join(dir, "out")
	write(t, filepath.Join(out, "a.txt.claim.0"), []byte("{}"))
	stay := []string{"a.txt.json.bak.part", "a.txt.old.parquet.0123456789abcdef.part", "b.txt.parquet.0123456789abcdef.part"}
	for _, end := range append(stay, "a.txt.out.jsonl.0123456789abcdef.part", "a.txt.dead.jsonl.0123456789abcdef.part", "a.txt.json.0123456789abcdef.part") {
		write(t, filepath.Join(out, end), nil)
	}
	report, err := bulk.Run(t.Context(), embedding(t, bulk.Float32Vectors, text.Options{}), bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: out, Format: "jsonl", Stale: 20 * time.Millisecond})
	if err != nil || report.Made != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	left, err := filepath.Glob(filepath.Join(out, "*.part"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if !slices.Equal(left, stay) || err != nil {
		t.Errorf("left: %q, %v, want %q", left, err, stay)
	}
}

// TestControl verifies that a NUL in a line is part of its text, as in a JSON string, and causes
// one warning. A binary file fails.
func TestControl(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "in/a.txt"), []byte("the cat\na\x00b\n\x01\n"))
	write(t, filepath.Join(dir, "in/b.jsonl"), []byte(`{"text":"the cat"}`+"\n"+`{"text":"a\u0000b"}`+"\n"+`{"text":"\u0001"}`+"\n"))
	write(t, filepath.Join(dir, "in/binary.txt"), bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 100))
	var warned []string
	o := bulk.Options{Inputs: []string{filepath.Join(dir, "in")}, Out: filepath.Join(dir, "out"), Format: "jsonl", Pause: time.Millisecond, Warn: func(w string) { warned = append(warned, w) }}
	report, err := bulk.Run(t.Context(), embedding(t, bulk.Float32Vectors, text.Options{}), o)
	if err != nil || report.Written != 6 || report.Dead != 0 || len(report.Failed) != 1 || !errors.Is(report.Failed[0].Err, fault.ErrInput) {
		t.Fatalf("%+v, %v", report, err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "a.txt: line 2 ") {
		t.Errorf("warned %q, want line 2 of a.txt", warned)
	}
	a, b := vectors(t, filepath.Join(o.Out, "a.txt.out.jsonl")), vectors(t, filepath.Join(o.Out, "b.jsonl.out.jsonl"))
	if !reflect.DeepEqual(a, b) {
		t.Errorf("as lines %v, as JSON %v", a, b)
	}
}
