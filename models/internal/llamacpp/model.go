package llamacpp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// A Model is what a GGUF file says of a model.
type Model struct {
	Document     configuration.Document   // the metadata, in the words of config.json
	Weights      transformer.Reader       // by llama.cpp's names
	Names        func(name string) string // from Hugging Face's names of tensors to llama.cpp's
	Spare        []string                 // patterns of tensors that the model does not ask for
	Convention   Convention               // of the tensors and the metadata
	Architecture string                   // llama.cpp's name
	Pool         block.Pooling            // of an embedder; else nil
	Warnings     []string                 // of what is not read, and what is guessed

	file *gguf.File
}

// A Convention says how a checkpoint writes tensors and fields that llama.cpp's converter writes in
// another way than transformers. The zero value is transformers' way.
type Convention struct {
	Converted  bool // by llama.cpp: Gemma's normalizations hold 1+w, for example
	Neighbours bool // rotary pairs of queries and keys are neighbours where they are half a head apart
}

// Read reads the metadata of a file of one of the known architectures, by llama.cpp's names.
func Read(file *gguf.File, known map[string]Architecture) (*Model, error) {
	r := newReader(file, known)
	doc, err := r.document()
	if err != nil {
		return nil, err
	}
	m := &Model{Document: doc, Weights: r.weights, Names: r.names(), Convention: Convention{true, r.own.Neighbours}, Architecture: r.Architecture, Pool: r.Pool, file: file}
	m.Spare, m.Warnings = r.furtherLayers()
	m.Spare = append(m.Spare, "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight") // are read already
	if r.Pool != nil {
		m.Spare = append(m.Spare, "output.weight")
	}
	m.Warnings = slices.Concat(m.Warnings, r.unread(), r.guessed())
	return m, nil
}

// Widened returns a warning if weights take more memory than in the file, since they become float32
// for want of a format for the blocks that it has them in.
func (m *Model) Widened(held []transformer.Holding) []string {
	var types []string
	var inFile, inMemory int
	for _, h := range held {
		info, ok := m.file.Info(h.Tensor)
		if !ok || h.Format != kernels.FormatF32 || m.Weights.Format(h.Tensor) != kernels.FormatF32 || info.Type.Block() == 1 {
			continue
		}
		if name := info.Type.String(); !slices.Contains(types, name) {
			types = append(types, name)
		}
		inFile += info.Type.Bytes(h.Elements)
		inMemory += 4 * h.Elements
	}
	if types == nil {
		return nil
	}
	slices.Sort(types)
	return []string{fmt.Sprintf("%s: %d bytes in the file take %d in memory, as float32", strings.Join(types, ", "), inFile, inMemory)}
}
