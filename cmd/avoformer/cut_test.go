package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestCutTold: commands print at their end the number of texts that were cut, and info prints the
// length that is used.
func TestCutTold(t *testing.T) {
	long := "cat\n" + strings.Repeat("the cat reads ", 60) + "\n"
	for _, args := range [][]string{
		{"embed", testdata + "embed"}, {"embed", "-o", filepath.Join(t.TempDir(), "v.npy"), testdata + "embed"}, {"embed", "-nearest", "a cat", testdata + "embed"},
		{"rerank", testdata + "rerank", "cats"}, {"classify", testdata + "classify"}, {"classify", "-words", "simple", testdata + "tokens"},
		{"translate", "-max-tokens", "1", testdata + "translate"},
	} {
		code, _, errs := call(t, long, args...)
		if code != exitOK || strings.Count(errs, " texts were cut at ") != 1 || !strings.Contains(errs, "avoformer: warning: 1 of ") {
			t.Errorf("%q: %d, %s", args, code, errs)
		}
	}
	if _, _, errs := call(t, "cat\n", "embed", testdata+"embed"); strings.Contains(errs, "cut") {
		t.Error(errs)
	}
	if _, _, errs := call(t, long, "embed", "-split", "0", testdata+"embed"); strings.Contains(errs, "cut") {
		t.Error(errs)
	}
	if _, out, _ := call(t, "", "info", testdata+"embed"); !strings.Contains(out, "at most 64 long") {
		t.Errorf("info does not print the length of sentence_bert_config.json:\n%s", out)
	}
	if _, out, _ := call(t, "", "info", "-json", testdata+"embed"); !strings.Contains(out, `"max_length":64`) {
		t.Error(out)
	}
	if code, _, errs := call(t, long, "embed", "-max-length", "4096", testdata+"embed"); code != exitUsage || !strings.Contains(errs, "at most 64 tokens") {
		t.Error(code, errs)
	}
}
