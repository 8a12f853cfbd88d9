package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

const ggufFile = "../../models/testdata/gguf/gemma3/q8_0.gguf"

// TestGenerateGGUF: if a GGUF file does not state sampling options, texts are drawn with
// llama.cpp's defaults, and the command prints these. Flags and the file's own keys take
// precedence.
func TestGenerateGGUF(t *testing.T) {
	const line = "avoformer: -temperature 0.8 -top-k 40 -top-p 0.95 -min-p 0.05, llama.cpp's defaults"
	cold := tftest.RewriteGGUF(t, ggufFile, map[string]any{"general.sampling.temp": float32(0)})
	for _, c := range []struct {
		args         []string
		told, random bool
	}{
		{[]string{ggufFile}, true, true}, {[]string{ggufFile, "-temperature", "0"}, false, false}, {[]string{ggufFile, "-temperature", "2"}, false, true}, {[]string{cold}, false, false},
	} {
		texts := map[string]bool{}
		for range 4 {
			code, out, stderr := call(t, "", append([]string{"generate", "-max-tokens", "12", c.args[0], "a b c"}, c.args[1:]...)...)
			if code != exitOK || strings.Contains(stderr, line) != c.told {
				t.Errorf("%v: exit code %d, %s", c.args, code, stderr)
			}
			texts[out] = true
		}
		if (len(texts) > 1) != c.random {
			t.Errorf("%v: %d texts of 4 differ", c.args, len(texts))
		}
	}
}

// TestFlagsAsTyped: errors name flags as the user typed them, and name a missing shard once.
func TestFlagsAsTyped(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"embed", testdata + "embed", "-max-length", "99999"}, "-max-length 99999: "},
		{[]string{"embed", testdata + "embed", "-dim", "-1"}, "-dim -1: "},
		{[]string{"embed", testdata + "embed", "-batch-tokens", "-5"}, "-batch-tokens -5: "},
		{[]string{"embed", testdata + "embed", "-weights", "int8,no.such.*=bf16"}, "-weights no.such.*: "},
		{[]string{"generate", testdata + "generate", "-max-tokens", "-3", "x"}, "-max-tokens -3: "},
		{[]string{"generate", testdata + "generate", "-top-p", "3", "-temperature", "1", "x"}, "-top-p 3: "},
		{[]string{"generate", testdata + "generate", "-memory-limit", "1", "-threads", "2", "x"}, "-memory-limit 1: "},
		{[]string{"generate", ggufFile, "-memory-limit", "1", "-threads", "2", "x"}, "generate: " + ggufFile + ": limit of memory reached: -memory-limit 1: "},
	} {
		code, _, stderr := call(t, "a\n", c.args...)
		if code == exitOK || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, %s", c.args, code, stderr)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testdata+"embed")); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "model.safetensors"))
	if err := os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(`{"weight_map": {"a": "model-00001-of-00002.safetensors"}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, stderr := call(t, "a\n", "embed", dir); strings.Count(stderr, "model-00001-of-00002.safetensors") != 1 || !strings.Contains(stderr, "no such file") {
		t.Error(stderr)
	}
}

// TestInfoFloat32: the weights of a GGUF file in blocks fill 4 bytes each with -weights f32, and at
// most half of that with -weights stored.
func TestInfoFloat32(t *testing.T) {
	bytes := map[string]int64{}
	for _, weights := range []string{"stored", "f32", "F32"} {
		_, out, _ := call(t, "", "info", "-json", "-weights", weights, ggufFile)
		var said struct {
			Weights int64
			Memory  struct{ Weights int64 }
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil || said.Weights == 0 {
			t.Fatal(out, err)
		}
		bytes[weights] = said.Memory.Weights
		if weights != "stored" && (said.Memory.Weights < 4*said.Weights || said.Memory.Weights > 5*said.Weights) {
			t.Errorf("%s: %d bytes for %d weights", weights, said.Memory.Weights, said.Weights)
		}
	}
	if bytes["stored"] > bytes["f32"]/2 {
		t.Errorf("%v", bytes)
	}
	if code, out, _ := call(t, "", "info", ggufFile); code != exitOK || !strings.Contains(out, " MB of weights with -weights stored, ") {
		t.Error(code, out)
	}
}
