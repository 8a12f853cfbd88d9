package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

// TestNotFinite uses models whose weights are NaN or, in one model, whose vector of the word
// "letter" is NaN. A command ends with an error that names the line, and writes nothing that looks
// like an answer.
func TestNotFinite(t *testing.T) {
	const texts = "the cat reads\nletter\n"
	const norm = "encoder.layer.1.output.LayerNorm.weight"
	embed, letter := tftest.SpoiltFolder(t, testdata+"embed", norm, 0, 0), tftest.SpoiltFolder(t, testdata+"embed", "word_embeddings.weight", 64*letterToken, 64*(letterToken+1))
	rerank, names := tftest.SpoiltFolder(t, testdata+"rerank", norm, 0, 0), tftest.SpoiltFolder(t, testdata+"tokens", norm, 0, 0)
	classify, chat := tftest.SpoiltFolder(t, testdata+"classify", norm, 0, 0), tftest.SpoiltFolder(t, testdata+"generate", "model.norm.weight", 0, 0)
	translate := tftest.SpoiltFolder(t, testdata+"translate", "final_logits_bias", 0, 0)
	transcribe := tftest.SpoiltFolder(t, testdata+"transcribe", "decoder.layer_norm.weight", 0, 0)
	image := tftest.SpoiltFolder(t, testdata+"image", "classifier.bias", 0, 0)
	out := t.TempDir()
	for _, c := range []struct {
		names string // a text that the error contains
		args  []string
	}{
		{"line ", []string{"embed", embed}}, {"line 2: ", []string{"embed", letter}}, {"line 2: ", []string{"embed", "-format", "csv", letter}},
		{"line 2: ", []string{"embed", "-o", out + "/v.npy", letter}}, {"line 2: ", []string{"embed", "-o", out + "/v.csv", letter}}, {"line 2: ", []string{"embed", "-o", out + "/v.f32", letter}},
		{"line 2: ", []string{"embed", "-nearest", "the cat", letter}}, {"", []string{"embed", "-nearest", "letter", letter}}, {"line 2: ", []string{"embed", "-check", "-weights", "bf16", letter}},
		{"line ", []string{"rerank", rerank, "what?"}}, {"line ", []string{"rerank", "-json", rerank, "what?"}},
		{"line ", []string{"classify", classify}}, {"line ", []string{"classify", "-words", "simple", names}},
		{"landscape.png: ", []string{"classify", image, "../../text/internal/vision/testdata/landscape.png"}},
		{"", []string{"generate", "-temperature", "0", "-max-tokens", "4", chat, "letter"}}, {"", []string{"generate", "-beams", "2", "-max-tokens", "4", chat, "letter"}},
		{"line 1: ", []string{"translate", "-max-tokens", "4", translate}}, {"", []string{"transcribe", "-language", "en", transcribe, testdata + "transcribe/sound0.wav"}},
	} {
		code, said, stderr := call(t, texts, c.args...)
		if code != exitFailed || strings.TrimSpace(said) != "" || !strings.Contains(stderr, "the model's output is not finite") || !strings.Contains(stderr, c.names) {
			t.Errorf("%s: exit code %d, %q, %q, want an error with %q", c.args, code, said, stderr, c.names)
		}
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("files %v are left, %v", left, err)
	}
}

// TestNotFiniteRows: texts in a file whose vectors are not finite become dead letters.
func TestNotFiniteRows(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "texts.txt"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("the cat\nletter\nParis\nletter world\nthe end\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	letter := tftest.SpoiltFolder(t, testdata+"embed", "word_embeddings.weight", 64*letterToken, 64*(letterToken+1))
	code, said, stderr := call(t, "", "bulk", letter, "embed", in, "-o", out, "-format", "jsonl")
	if code != exitOK || !strings.Contains(said+stderr, "3 written, 2 dead letters") {
		t.Errorf("exit code %d, %q, %q", code, said, stderr)
	}
	dead, err := os.ReadFile(filepath.Join(out, "texts.txt.dead.jsonl"))
	lines := strings.Split(strings.TrimSpace(string(dead)), "\n")
	if err != nil || len(lines) != 2 {
		t.Fatalf("%q, %v", dead, err)
	}
	for i, want := range []string{`"row":1,"reason":"the model's output is not finite: element 0 of 32 is NaN","text":"letter"`, `"row":3,"reason":"the model's output is not finite: element 0 of 32 is NaN","text":"letter world"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("dead letter %s, want %s", lines[i], want)
		}
	}
}

// letterToken is the token "letter" in testdata/embed.
const letterToken = 338
