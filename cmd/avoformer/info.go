// avoformer info: what a folder is.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// folderInfo is what info prints.
type folderInfo struct {
	Folder      string            `json:"folder"`
	ModelType   string            `json:"model_type,omitempty"`
	Class       []string          `json:"architectures,omitempty"`
	Weights     int64             `json:"weights"` // their number
	WeightBytes int64             `json:"weight_bytes"`
	Types       map[string]int64  `json:"weight_types"`
	Layers      int               `json:"layers,omitempty"`
	Dim         int               `json:"dim,omitempty"`
	Vocab       int               `json:"vocab,omitempty"`
	MaxLength   int               `json:"max_length,omitempty"`
	Labels      []string          `json:"labels,omitempty"`
	Tokenizer   string            `json:"tokenizer"`
	Uses        []string          `json:"uses"`
	Unsupported map[string]string `json:"unsupported,omitempty"`
}

func info(a *app, args []string) error {
	f := a.flags("info")
	asJSON := f.Bool("json", false, "as JSON")
	rest, err := f.parse(args, 1, 1)
	if err != nil {
		return err
	}
	i := &folderInfo{Folder: rest[0], Types: map[string]int64{}, Unsupported: map[string]string{}}
	if stat, err := os.Stat(rest[0]); err != nil {
		return err
	} else if !stat.IsDir() {
		return fmt.Errorf("%s is no folder", rest[0])
	}
	i.weights()
	i.model()
	if *asJSON {
		return a.printJSON(i)
	}
	return i.print(a)
}

// weights counts what the files of weights hold, by their headers.
func (i *folderInfo) weights() {
	files, _ := filepath.Glob(filepath.Join(i.Folder, "*.safetensors"))
	for _, name := range files {
		base := filepath.Base(name)
		if !strings.HasPrefix(base, "model") {
			continue
		}
		f, err := safetensors.Open(name)
		if err != nil {
			i.Unsupported[base] = oneLine(err)
			continue
		}
		for _, tensor := range f.Names() {
			t, _ := f.Info(tensor)
			n := int64(1)
			for _, d := range t.Shape {
				n *= int64(d)
			}
			i.Weights += n
			i.Types[string(t.DType)] += n
		}
		f.Close()
		if stat, err := os.Stat(name); err == nil {
			i.WeightBytes += stat.Size()
		}
	}
}

func (i *folderInfo) model() {
	if t, err := tokenizer.Open(i.Folder); err != nil {
		i.Unsupported["tokenizer"] = oneLine(err)
	} else {
		i.Tokenizer = fmt.Sprintf("%d tokens, %d added", t.Size(), len(t.AddedTokens()))
	}
	m, err := models.Open(i.Folder)
	if err != nil {
		i.Unsupported["model"] = oneLine(err)
		return
	}
	c := m.Config
	i.ModelType, i.Class, i.Layers, i.Dim, i.Vocab, i.MaxLength, i.Labels = c.ModelType, c.Architectures, c.Layers, c.Dim, c.Vocab, c.MaxLength, c.Labels
	has := func(part bool, use string) {
		if part {
			i.Uses = append(i.Uses, use)
		}
	}
	has(m.Encoder != nil && m.LM == nil, "embed")
	has(m.Classifier != nil && m.Classifier.Out() == 1, "rerank")
	has(m.Classifier != nil || m.TokenClassifier != nil || m.ImageClassifier != nil, "classify")
	has(m.LM != nil && m.Encoder == nil && m.Audio == nil, "generate")
	has(m.LM != nil && m.Encoder != nil, "translate")
	has(m.LM != nil && m.Audio != nil, "transcribe")
	if len(i.Uses) == 1 && i.Uses[0] == "generate" {
		g, err := text.OpenGenerator(i.Folder)
		if err == nil {
			_, err = g.Prompt([]text.Message{{Role: "user", Content: "Hello"}}, nil)
		}
		if err != nil {
			i.Unsupported["chat"] = oneLine(err)
		}
	}
}

func (i *folderInfo) print(a *app) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.out, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("folder", "%s", i.Folder)
	if i.ModelType != "" {
		line("model", "%s, %s", i.ModelType, strings.Join(i.Class, ", "))
		line("shape", "%d layers, %d wide, %d tokens, at most %s long", i.Layers, i.Dim, i.Vocab, orUnlimited(i.MaxLength))
	}
	var types []string
	for t, n := range i.Types {
		types = append(types, fmt.Sprintf("%s %d", t, n))
	}
	line("weights", "%d in %.1f MB (%s)", i.Weights, float64(i.WeightBytes)/1e6, strings.Join(types, ", "))
	if i.Tokenizer != "" {
		line("tokenizer", "%s", i.Tokenizer)
	}
	if len(i.Labels) > 0 {
		line("labels", "%s", strings.Join(i.Labels, ", "))
	}
	if len(i.Uses) > 0 {
		line("works with", "%s", strings.Join(i.Uses, ", "))
	}
	for what, why := range i.Unsupported {
		line("not", "%s: %s", what, why)
	}
	return nil
}

func orUnlimited(n int) string {
	if n == 0 {
		return "any number"
	}
	return fmt.Sprint(n)
}
