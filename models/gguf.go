package models

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/modelfiles"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/models/internal/lora"
	"github.com/avoformer/avoformer/models/internal/sentence"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Models in GGUF files; package llamacpp reads them.

// ggufArchitectures are the architectures of GGUF files by llama.cpp's names.
var ggufArchitectures = map[string]llamacpp.Architecture{}

// registerGGUF makes a GGUF file of the architecture with llama.cpp's name open as the model_type
// that a says.
func registerGGUF(name string, a llamacpp.Architecture) {
	if _, twice := ggufArchitectures[name]; twice {
		panic(fmt.Sprintf("models: architecture %q of GGUF files is registered already", name))
	}
	ggufArchitectures[name] = a
}

// openGGUF is [Open] for a GGUF file.
func openGGUF(path string, o Options) (*Model, error) {
	file, err := gguf.Open(path)
	if errors.Is(err, fault.ErrFormat) && !gguf.Is(path) {
		return nil, check.Errorf(fault.ErrFolder, "%s is neither a folder nor a GGUF file", path)
	}
	if err != nil {
		return nil, check.InFile(path, fault.ErrFolder, err)
	}
	defer file.Close()
	o.path = path
	m, err := readGGUF(file, o)
	if errors.Is(err, fault.ErrMemory) || errors.Is(err, fault.ErrOption) { // not about the file
		return nil, fmt.Errorf("%s: %w", path, err)
	} else if err != nil {
		return nil, check.InFile(path, fault.ErrFormat, err)
	}
	return m, nil
}

func readGGUF(file *gguf.File, o Options) (*Model, error) {
	said, err := llamacpp.Read(file, ggufArchitectures)
	if err != nil {
		return nil, err
	}
	o.asStored = true
	c, err := newCheckpoint(said.Document, configuration.Document{}, o)
	if err != nil {
		return nil, err
	}
	files, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var dense []*transformer.Linear
	if build := c.build; said.Pool != nil {
		c.build = func(c *Checkpoint) (*Model, error) {
			m, err := build(c)
			if err == nil && m.Encoder != nil {
				dense, err = denseAfterPooling(c.Loader, m.Encoder.Dim(), said.Names)
			}
			return m, err
		}
	}
	s := source{
		Base: lora.Base{Weights: said.Weights, Architecture: said.Architecture}, Convention: said.Convention,
		files: files, rename: said.Names, spare: said.Spare, remarks: said.Widened,
	}
	if o.Images {
		images, err := c.withImages(o, said, &s)
		if err != nil {
			return nil, err
		}
		defer images.Close()
	}
	m, err := c.open(s)
	if err != nil {
		return nil, err
	}
	m.fromGGUF = true
	if said.Pool != nil {
		m.Embedders.Sentence = sentence.PooledAndNormalized(m.Encoder, said.Pool, dense...)
	}
	m.Warnings = append(m.Warnings, o.warn(said.Warnings...)...)
	return m, nil
}

// An imagesOf is a kind of encoders of images, which are in files of their own next to those of
// texts.
type imagesOf struct {
	texts  []string // model types
	images func(c *Checkpoint, text configuration.Document, dim int) (*ImageReader, error)
}

// projectors are the kinds by llama.cpp's names.
var projectors = map[string]imagesOf{}

// registerProjector makes files with the encoder of images that llama.cpp calls kind open for texts
// of model types.
func registerProjector(kind string, images func(c *Checkpoint, text configuration.Document, dim int) (*ImageReader, error), texts ...string) {
	projectors[kind] = imagesOf{texts, images}
}

// addImages has the model that c builds read images with the encoder that p describes, and adds its
// weights to s.
func (c *Checkpoint) addImages(p *llamacpp.Projector, s *source) error {
	kind, ok := projectors[p.Kind]
	if !ok || !slices.Contains(kind.texts, c.Config.ModelType) {
		return configuration.KeyError("clip.projector_type", strconv.Quote(p.Kind), "not for a text of type %s", c.Config.ModelType)
	}
	text, build := s.rename, c.build
	s.rename = func(name string) string {
		if renamed := p.Names(name); renamed != name {
			return renamed
		}
		return text(name)
	}
	s.Weights = p.Weights
	c.build = func(c *Checkpoint) (*Model, error) {
		m, err := build(c)
		if err != nil {
			return m, err
		}
		images := *c
		images.doc = p.Document
		if m.Images, err = kind.images(&images, c.doc, c.Config.Dim); err == nil {
			m.Images.Processor = p.Processor
		}
		return m, err
	}
	return nil
}

// withImages has the model that c builds read images, with the encoder in the file that o says. The
// caller closes it.
func (c *Checkpoint) withImages(o Options, said *llamacpp.Model, s *source) (f *gguf.File, err error) {
	path, err := modelfiles.Projector(o.path, o.Projector)
	if err != nil {
		return nil, err
	}
	if f, err = gguf.Open(path); err != nil {
		return nil, check.InFile(path, fault.ErrFolder, err)
	}
	p, err := llamacpp.ReadProjector(f, said)
	if err == nil {
		err = c.addImages(p, s)
	}
	var files []fs.FileInfo
	if err == nil {
		files, err = f.Stat()
	}
	if err != nil {
		f.Close()
		return nil, check.InFile(path, fault.ErrFormat, err)
	}
	s.files = append(s.files, files...)
	said.Warnings = append(said.Warnings, p.Warnings...)
	return f, nil
}

// denseAfterPooling returns the layers that pooled hidden states of a width pass through: those of
// EmbeddingGemma's modules. nameOf returns the file's name of a tensor.
func denseAfterPooling(l *transformer.Loader, width int, nameOf func(string) string) (layers []*transformer.Linear, err error) {
	for i := range 2 {
		l := l.At("dense.%d.", i)
		shape, ok := l.Shape("weight")
		switch {
		case !ok:
			continue
		case len(shape) != 2 || shape[1] != width:
			return nil, &fault.Error{Kind: fault.ErrShape, Field: nameOf(l.Name() + ".weight"), Err: fmt.Errorf("shape %v, want rows of %d", shape, width)}
		}
		layers, width = append(layers, l.Linear(width, shape[0], false)), shape[0]
	}
	return layers, nil
}

// QuantizeGGUF writes the model in the GGUF file at path, or in its parts, with weights in another
// format: those that o.WeightFormats and o.WeightFormat choose by their names in the file, so that
// the file opens as the model with these weights. Of a format whose blocks do not divide the rows
// of a weight, the weight gets the one that llama.cpp takes instead: q5_0 for q4_k, q5_1 for q5_k,
// q8_0 for q6_k, f16 where 32 does not divide them; o.Warn is told. Everything else, the tokenizer
// among it, stays as it is. o.Importance names an importance matrix. Other fields of o do not
// count. Formats that GGUF files do not have, and patterns that no weight matches, are errors that
// match fault.ErrOption. Errors about an importance matrix match fault.ErrFormat, or
// fault.ErrWeights where it is one of another model.
func QuantizeGGUF(w io.Writer, path string, o Options) error {
	file, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := o.check(); err != nil {
		return err
	}
	o = Options{WeightFormat: o.WeightFormat, WeightFormats: o.WeightFormats, Importance: o.Importance, Warn: o.Warn, asStored: true}
	if o.WeightFormat == kernels.FormatF32 && len(o.WeightFormats) == 0 {
		return check.Errorf(fault.ErrOption, "weights in %v: want a format of fewer bits", o.WeightFormat)
	}
	q := llamacpp.Quantizer{File: file, Known: ggufArchitectures, Weights: o.WeightFormat, FormatOf: o.format, Warn: func(w string) { o.warn(w) }}
	for _, f := range o.WeightFormats {
		q.Patterns = append(q.Patterns, llamacpp.Pattern{Names: f.Pattern, Format: f.Format})
	}
	if o.Importance != "" {
		if q.Importance, err = llamacpp.OpenImportance(o.Importance); err != nil {
			return err
		}
		defer q.Importance.Close()
	}
	return q.Write(w, path)
}
