package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/serve"
)

// writeAdapter writes an adapter for the query projections of the model testdata/embed. All
// elements of its factors are x.
func writeAdapter(t *testing.T, x float32) (dir string) {
	t.Helper()
	module := func(layer string) string { return "encoder.layer." + layer + ".attention.self.query" }
	return tftest.WriteAdapter(t, x, map[string][2]int{module("0"): {32, 32}, module("1"): {32, 32}})
}

// TestAdapter gives the command adapters whose sums are the same, and adapters whose sums differ.
func TestAdapter(t *testing.T) {
	dir := writeAdapter(t, 0.5)
	vectors := func(args ...string) string {
		code, out, errs := call(t, "hello world\n", append([]string{"embed", testdata + "embed"}, args...)...)
		if code != 0 || errs != "" {
			t.Fatalf("%q: code %d, %s", args, code, errs)
		}
		return out
	}
	once := vectors("-adapter", dir)
	for _, c := range []struct {
		args []string
		same bool
	}{
		{[]string{"-adapter", dir + "=1"}, true},
		{[]string{"-adapter=" + dir + "=0.5", "-adapter", dir + "=0.5"}, true},
		{[]string{"-adapter", dir + "=0.5"}, false},
		{[]string{"-adapter", dir, "-adapter", dir}, false},
		{nil, false},
	} {
		if got := vectors(c.args...); (got == once) != c.same {
			t.Errorf("%q: the vectors of a single adapter: %t, want %t", c.args, got == once, c.same)
		}
	}
	for args, want := range map[string]string{
		dir + "=0":             "want a scale other than 0",
		"/there/is/none":       "none",
		testdata + "embed":     "adapter_config.json",
		testdata + "embed=2.5": "adapter_config.json",
	} {
		if code, _, errs := call(t, "a\n", "embed", testdata+"embed", "-adapter", args); code == exitOK || !strings.Contains(errs, want) {
			t.Errorf("%s: code %d, %q, want %q", args, code, errs, want)
		}
	}
}

// TestAdapterResumed: a run continues only if the adapter is the same.
func TestAdapterResumed(t *testing.T) {
	adapter, other := writeAdapter(t, 0.5), writeAdapter(t, 0.25)
	output := filepath.Join(t.TempDir(), "out.jsonl")
	data := brokenOff(t, output, "-adapter", adapter)
	resume := func(flags ...string) (int, string) {
		code, _, errs := call(t, data, append([]string{"embed", testdata + "embed", "-refuse", "-o", output}, flags...)...)
		return code, errs
	}
	for _, flags := range [][]string{nil, {"-adapter", adapter + "=2"}, {"-adapter", adapter, "-adapter", other}} {
		if code, errs := resume(flags...); code != exitFailed || !strings.Contains(errs, "other flags") {
			t.Errorf("%q: exit code %d, %q", flags, code, errs)
		}
	}
	weights := filepath.Join(adapter, "adapter_model.safetensors")
	before, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(other, "adapter_model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{after, before} {
		if err := os.WriteFile(weights, content, 0o666); err != nil {
			t.Fatal(err)
		}
		code, errs := resume("-adapter", adapter)
		if same := bytes.Equal(content, before); same && code != exitOK || !same && !strings.Contains(errs, "the model was ") {
			t.Errorf("same file %t: exit code %d, %q", same, code, errs)
		}
	}
}

// TestNamedAdapterFlag: the value of -named-adapter determines a model of serve, or is an error if
// it is ambiguous.
func TestNamedAdapterFlag(t *testing.T) {
	a := &app{ctx: t.Context(), err: new(bytes.Buffer)}
	dir := writeAdapter(t, 1)
	for _, c := range []struct {
		named  string
		models []string
		of     int // the index of the adapter's model; -1: an error
	}{
		{"formal=" + dir, []string{"a"}, 0}, {"b/formal=" + dir + "=0.5", []string{"a", "b"}, 1}, {"org/b/formal=" + dir, []string{"a", "org/b"}, 1},
		{"formal=" + dir, []string{"a", "b"}, -1}, {"c/formal=" + dir, []string{"a", "b"}, -1},
		{"formal=" + dir + "=0", []string{"a"}, -1}, {"=" + dir, []string{"a"}, -1},
	} {
		s := serving{named: []string{c.named}}
		for _, name := range c.models {
			s.models = append(s.models, serve.Model{Name: name})
		}
		err := s.nameAdapters(a)
		for i, m := range s.models {
			list := m.Options.Model.Adapters
			if has := len(list) == 1 && list[0].Name == "formal" && list[0].Path == dir; has != (i == c.of) {
				t.Errorf("%s: model %s has it: %t", c.named, m.Name, has)
			}
		}
		if (err != nil) != (c.of < 0) || err != nil && !strings.Contains(err.Error(), "-named-adapter ") {
			t.Errorf("%s: error %v", c.named, err)
		}
	}
}
