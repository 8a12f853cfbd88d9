package main

import (
	"strings"
	"testing"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
)

// TestAdviseFast: bf16_fast is advised only for models of text with most weights in BF16, on a
// machine that multiplies it faster, and with options that allow it.
func TestAdviseFast(t *testing.T) {
	bf16 := models.Options{WeightFormat: kernels.FormatBF16}
	with := func(o models.Options, change func(*models.Options)) models.Options {
		change(&o)
		return o
	}
	for _, c := range []struct {
		name, folder string
		o            models.Options
		by           string
		want         string // a part of the advice
	}{
		{"pairs", "generate", bf16, "pairs", "AVX512_BF16: it takes 2 bytes more"},
		{"tiles", "generate", bf16, "tiles", "the tiles of AMX"},
		{"neither", "generate", bf16, "", ""},
		{"float32", "generate", models.Options{}, "pairs", ""},
		{"int8", "generate", models.Options{WeightFormat: kernels.FormatInt8}, "pairs", ""},
		{"one layer", "generate", models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*.0.*", Format: kernels.FormatBF16}}}, "pairs", ""},
		{"a copy", "generate", with(bf16, func(o *models.Options) { o.PromptFormat = kernels.FormatInt8 }), "pairs", ""},
		{"exact", "generate", with(bf16, func(o *models.Options) { o.Exact = true }), "pairs", ""},
		{"an encoder", "embed", bf16, "pairs", ""},
		{"a translator", "translate", bf16, "pairs", ""},
	} {
		c.o.HeadersOnly = true
		m, err := models.Open(testdata+c.folder, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := adviseFast(m, c.o, c.by); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestInfoAdvice: info prints the advice on a machine that multiplies bf16_fast faster.
func TestInfoAdvice(t *testing.T) {
	want := 0
	if machine.FastBF16() != "" {
		want = 1
	}
	_, out, _ := call(t, "", "info", "-weights", "bf16", testdata+"generate")
	if got := strings.Count(out, "\nadvice       -prompts bf16_fast "); got != want {
		t.Errorf("%d lines of advice, want %d: %s", got, want, out)
	}
	if _, out, _ = call(t, "", "info", testdata+"generate"); strings.Contains(out, "\nadvice ") {
		t.Errorf("advice for weights in float32: %s", out)
	}
}
