package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWarnings: an unknown field of config.json causes one warning, and the command does its work.
func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testdata+"classify")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.json")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(config), "{", `{"clip_qkv": 0.5,`, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := call(t, "hello\n", "classify", dir)
	if code != 0 || out == "" {
		t.Fatalf("code %d, %q, %q", code, out, stderr)
	}
	if strings.Count(stderr, "warning: config.json: clip_qkv = 0.5") != 1 {
		t.Errorf("stderr %q, want one warning about clip_qkv", stderr)
	}
	if _, out, _ = call(t, "", "info", dir); strings.Count(out, "warning      config.json: clip_qkv = 0.5") != 1 {
		t.Errorf("info prints %q, want one warning about clip_qkv", out)
	}
	if _, _, stderr = call(t, "hello\n", "classify", testdata+"classify"); stderr != "" {
		t.Errorf("stderr %q without such a field", stderr)
	}
}

// TestWarningOfTokenizer: info and other commands warn that the class of a folder builds another
// tokenizer than the one in tokenizer.json.
func TestWarningOfTokenizer(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(testdata+"rerank-judge")); err != nil {
		t.Fatal(err)
	}
	const config = `{"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": false, "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "bos_token": "<|endoftext|>"}`
	if err := os.WriteFile(filepath.Join(dir, "tokenizer_config.json"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	const says = "tokenizer.json: the class GPT2Tokenizer builds another tokenizer of it"
	if code, out, stderr := call(t, "", "info", dir); code != 0 || strings.Count(out, "warning      "+says) != 1 {
		t.Errorf("info prints %d, %q, %q, want one warning about the class", code, out, stderr)
	}
	if _, out, _ := call(t, "", "info", "-tokenizer-as-written", dir); strings.Contains(out, says) {
		t.Errorf("info prints %q for the tokenizer as it is written", out)
	}
	if code, _, stderr := call(t, "", "generate", "-max-tokens", "1", dir, "hello"); code != 0 || strings.Count(stderr, "warning: "+says) != 1 {
		t.Errorf("generate prints %d, %q, want one warning about the class", code, stderr)
	}
}

// TestSchemaWarnings: warnings name, by path, the keywords of a schema that the text may break. The
// text follows all other keywords.
func TestSchemaWarnings(t *testing.T) {
	schema := filepath.Join(t.TempDir(), "schema.json")
	generate := func(source string) (code int, out, stderr string) {
		if err := os.WriteFile(schema, []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		return call(t, "", "generate", testdata+"generate", "Is it?", "-schema", schema)
	}
	const held = `"type": "object", "properties": {"yes": {"enum": [true]%s}}, "required": ["yes"], "additionalProperties": false%s`
	code, out, stderr := generate("{" + fmt.Sprintf(held, `, "format": "regex"`, `, "minLenght": 3`) + "}")
	if code != 0 || strings.Join(strings.Fields(out), "") != `{"yes":true}` {
		t.Errorf("code %d, %q, %q", code, out, stderr)
	}
	for _, path := range []string{"#/properties/yes/format", "#/minLenght"} {
		if strings.Count(stderr, "avoformer: warning: the text may break the schema at "+path+": ") != 1 {
			t.Errorf("stderr %q, want one warning about %s", stderr, path)
		}
	}
	if code, _, stderr := generate("{" + fmt.Sprintf(held, "", "") + "}"); code != 0 || strings.Contains(stderr, "warning") {
		t.Errorf("code %d, %q for a schema that the grammar enforces", code, stderr)
	}
}

// TestControlCharacters: a NUL in a line is part of its text, as in a JSON string, and causes one
// warning. A binary file is an error before anything is computed.
func TestControlCharacters(t *testing.T) {
	code, lines, stderr := call(t, "the cat\na\x00b\n\x01\n", "embed", "-input", "lines", testdata+"embed")
	if code != 0 || strings.Count(stderr, "warning") != 1 || !strings.Contains(stderr, "line 2 holds control characters") {
		t.Errorf("code %d, stderr %q, want one warning about line 2", code, stderr)
	}
	_, objects, stderr := call(t, `"the cat"`+"\n"+`"a\u0000b"`+"\n"+`"\u0001"`+"\n", "embed", "-input", "jsonl", testdata+"embed")
	if lines != objects || lines == "" || stderr != "" {
		t.Errorf("as lines\n%s\nas JSON\n%s\n%s", lines, objects, stderr)
	}
	code, out, stderr := call(t, strings.Repeat("\x00\x00\x80\x3f", 100), "embed", testdata+"embed")
	if code == 0 || out != "" || !strings.Contains(stderr, "is not text") {
		t.Errorf("binary: code %d, %q, %q", code, out, stderr)
	}
}
