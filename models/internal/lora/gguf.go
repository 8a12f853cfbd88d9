package lora

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Adapters in GGUF files, as llama.cpp's convert_lora_to_gguf.py makes them of peft's folders, with
// the names and the order of rows of the model's file. Sources: that script, and what llama.cpp
// does with such a file.

const (
	ggufAlpha  = "adapter.lora.alpha"
	ggufPrompt = "adapter.lora.prompt_prefix"
	ggufTask   = "adapter.lora.task_name"
	ggufTokens = "token_embd.weight"
)

func openGGUFAdapter(path string, b Base) (*adapter, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	a := &adapter{tensors: transformer.FromGGUF(file), close: func() { file.Close() }}
	return a, a.readGGUF(file, b)
}

// readGGUF notes what the file adds to which weight.
func (a *adapter) readGGUF(file *gguf.File, b Base) error {
	for key, want := range map[string]string{"general.type": "adapter", "adapter.type": "lora", "general.architecture": b.Architecture} {
		if got, err := file.Text(key); err != nil {
			return err
		} else if got != want {
			return configuration.KeyError(key, got, "want %q", want)
		}
	}
	for _, key := range file.Keys() {
		known := []string{"adapter.type", ggufAlpha, ggufPrompt, ggufTask}
		if value, _ := file.Value(key); strings.HasPrefix(key, "adapter.") && !slices.Contains(known, key) {
			return configuration.KeyError(key, value, "not supported")
		}
	}
	if prompt, err := file.Text(ggufPrompt); err == nil && prompt != "" {
		a.warnings = append(a.warnings, "metadata: "+ggufPrompt+" is not put before texts")
	}
	alpha, err := file.Float(ggufAlpha)
	if err != nil {
		return err
	}
	if !(alpha >= 0 && alpha < 1e30) {
		return configuration.KeyError(ggufAlpha, alpha, "want a number from 0")
	}
	names := file.Names()
	for _, name := range names {
		weight, second := strings.CutSuffix(name, ".lora_b")
		if !second {
			weight, second = strings.CutSuffix(name, ".lora_a")
		}
		if !second {
			return check.Errorf(fault.ErrLeftOver, "%s is neither lora_a nor lora_b of a weight", name)
		}
		if strings.HasSuffix(name, ".lora_b") && slices.Contains(names, weight+".lora_a") {
			continue // is noted with the other
		}
		f := factors{left: factor{name: weight + ".lora_b"}, right: factor{name: weight + ".lora_a"}, weight: weight, scale: 1}
		if weight == ggufTokens { // [vocabulary, rank] and [dim, rank]
			f.left, f.right = f.right, factor{f.left.name, true}
		}
		if err := a.noteGGUF(f, alpha, b); err != nil {
			return err
		}
	}
	return nil
}

// noteGGUF records the matrices that are added to a weight.
func (a *adapter) noteGGUF(f factors, alpha float64, b Base) error {
	if !slices.Contains(b.Names(), f.weight) {
		return check.Errorf(fault.ErrLeftOver, "%s: the model has no tensor %s", f.left.name, f.weight)
	}
	if f.weight == ggufTokens && !slices.Contains(b.Names(), "output.weight") {
		return check.Errorf(fault.ErrConfig, "%s adds to one of two weights that the file has as one, the embedding's and the projection's to the vocabulary: not supported", f.left.name)
	}
	if err := a.matrices(&f, b); err != nil {
		return err
	}
	if alpha != 0 { // as llama.cpp counts
		f.scale = alpha / float64(f.rank)
	}
	a.factors = append(a.factors, f)
	return nil
}
