package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/transformer/safetensors"
)

// writeAdapter makes an adapter of the query projections of the model testdata/embed, all of whose factors are x.
func writeAdapter(t *testing.T, x float32) (dir string) {
	t.Helper()
	dir = t.TempDir()
	tensors := map[string]safetensors.Tensor{}
	for _, layer := range []string{"0", "1"} {
		for matrix, shape := range map[string][]int{"A": {2, 32}, "B": {32, 2}} {
			data := make([]float32, 64)
			for i := range data {
				data[i] = x * float32(i%5)
			}
			tensors["base_model.model.encoder.layer."+layer+".attention.self.query.lora_"+matrix+".weight"] = safetensors.Tensor{Shape: shape, Data: data}
		}
	}
	var file bytes.Buffer
	if err := safetensors.Write(&file, tensors, nil); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"adapter_model.safetensors": file.String(), "adapter_config.json": `{"peft_type": "LORA", "r": 2, "lora_alpha": 2, "target_modules": ["query"]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAdapter gives adapters whose sums are the same to the command, and others.
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
			t.Errorf("%q: the vectors of the adapter alone: %t, want %t", c.args, got == once, c.same)
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

// TestAdapterResumed goes on with a run if the adapter is the same alone.
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
		if same := bytes.Equal(content, before); same && code != exitOK || !same && !strings.Contains(errs, "adapter_model.safetensors") {
			t.Errorf("same file %t: exit code %d, %q", same, code, errs)
		}
	}
}
