package models

import (
	"path"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/weightfile"
)

// How a model is held: formats, limits and adapters.

// Options say how a model is held. The zero value is the usual choice: linear layers in float32, or
// in the blocks that a checkpoint has, or as a GGUF file has them; tables of vectors as they are
// stored.
type Options struct {
	// WeightFormat is the format that the weights of linear layers are packed in. FormatF32, the
	// default, leaves those of a GGUF file in its formats, and those that a checkpoint has in
	// blocks, unless Float32 is set.
	//
	// Formats of 16 bits take half the memory and, where few rows are computed at a time, half the
	// time; results are those of the rounded weights.
	//
	// kernels.FormatInt8 takes a quarter of both, and makes integers of what is multiplied with the
	// weights, block by block, as some machines do with the formats of GGUF. These formats hold for
	// the layers that repeat, those with a number in their name; heads, poolers and the embeddings
	// tied to a head stay as the checkpoint stores them. kernels.FormatBF16Fast holds for the same
	// layers. It takes as much memory as FormatBF16, and its results depend on the machine.
	WeightFormat kernels.Format
	// Float32 has FormatF32 mean float32 for weights that are stored otherwise, too: linear layers
	// of a GGUF file, and all weights in blocks, the tables among them. They take 4 bytes for each
	// weight. Products with weights in blocks round the rows that they are multiplied with to
	// integers; with Float32 nothing is rounded but the weights, as they are stored. It is for
	// WeightFormat FormatF32 only.
	Float32 bool
	// WeightFormats overrides WeightFormat for single weights, and for tables of vectors: the first
	// entry that matches counts.
	WeightFormats []NamedFormat
	// Importance is the path of an importance matrix, which llama-imatrix wrote in either of its
	// forms (GGUF or .dat): how much errors of single columns of weights count. [QuantizeGGUF]
	// reads it, and makes blocks as [kernels.Format.QuantizeBy] does. Open refuses it.
	Importance string
	// CacheFormat is the format in which caches hold keys and values: float32, 16 bits, or int8
	// with a scale for each row of a head; those of an encoder's memory stay float32. Fewer bits
	// save memory, not time: attention widens what it reads.
	CacheFormat kernels.Format
	// PromptFormat, unless it is FormatF32, is the format of a second copy of the weights of the
	// layers that repeat. Products of at least transformer.ManyRows rows use the copy: mostly those
	// of prompts. FormatInt8 makes a copy of weights in every format except int8: each weight takes
	// one byte more, and a prompt is computed as with WeightFormat FormatInt8. Prompts take a half
	// to a third of the time where the first copy has 16 bits. A format of blocks makes a copy of
	// weights in float32 and 16 bits, FormatBF16Fast of those in blocks too. The number of rows of
	// a product depends on what else is computed, so PromptFormat cannot be combined with Exact.
	PromptFormat kernels.Format
	// Exact refuses what lets the bits of a sequence depend on what else is computed with it, which
	// is PromptFormat. Without it, products give each row the bits that it has alone anyway.
	Exact bool
	// MemoryLimit is the most bytes that opening the model may take, as Footprint.Loading states
	// them: more are an error that matches ErrMemory, before the memory is taken. 0: no limit.
	MemoryLimit int64
	// Ready, unless empty, is a folder for packed weights: Open looks there for a file with those
	// of this model in these formats, for this version and this machine's layout, and maps it.
	// Weights are then neither read nor packed, and all processes share one copy of them. If there
	// is none, Open packs the weights as always, and writes the file; a file that cannot be
	// written, or is damaged, is a warning. A model counts as the same while its files have the
	// same sizes and times, and the same numbers in three rows of each tensor. A mapped file must
	// not be changed in place: a process that reads a part which is no longer there ends. Pipelines
	// of package text keep the tables of tokenizers there too. Embedded models, and those of New,
	// have no times and no ready files.
	Ready string
	// ReadyCopy reads ready files into memory in place of mapping them.
	ReadyCopy bool
	// HeadersOnly reads no weights except small vectors: the model says what it is and what memory
	// it would take, and its parts return errors when they are asked to compute.
	HeadersOnly bool
	// Images also opens the encoder of images of a language model that reads images beside text:
	// [Model].Images. Without it the encoder takes no memory, and the model reads text only. For a
	// model whose images are not supported it is an error that matches fault.ErrOption.
	Images bool
	// Projector is the path of the GGUF file with the encoder of images for a language model in a
	// GGUF file: the mmproj file of llama.cpp. "": with Images, the only file of the model's folder
	// whose name has mmproj in it.
	Projector string
	// MTP also opens the first layer of a language model that predicts further tokens (multi-token
	// prediction, MTP): [MultiTokenPredictor]. A scheduler of package generation makes it propose
	// tokens, which changes no text. Without MTP the layer takes no memory. For a model that has no
	// such layer, or whose layer is not supported, and for Qwen 3.5 together with Images, it is an
	// error that matches fault.ErrOption.
	MTP bool
	// Warn, unless it is nil, is called with each of the model's Warnings as soon as it is known:
	// before memory for weights is taken, if it is about that.
	Warn func(warning string)
	// Planned, unless it is nil, is called with the model before its weights are read, when its
	// Config, Footprint and parts are known. Opening ends with its error.
	Planned func(m *Model) error
	// Adapters become part of the weights as these are read: W becomes W + Scale*alpha/rank*B*A for
	// each, in float32, and is rounded to its format afterwards, also where a file has blocks.
	// Tables of vectors that are stored in 16 bits become float32. Those with a Name stay beside
	// the weights instead.
	Adapters []Adapter

	asStored bool   // linear layers too, instead of float32
	path     string // of the folder, where it has one
}

// NamedFormat is the format for the weights whose name in the model, such as
// "model.layers.0.mlp.up_proj.weight", matches Pattern by the rules of path.Match: "lm_head.*",
// "*.mlp.*".
type NamedFormat struct {
	Pattern string
	Format  kernels.Format
}

func (f NamedFormat) matches(name string) bool {
	ok, _ := path.Match(f.Pattern, name)
	return ok
}

// format returns the format for a weight of a linear layer, or a table; the checkpoint has it as
// stored.
func (o Options) format(name string, stored kernels.Format, table bool) kernels.Format {
	for _, f := range o.WeightFormats {
		if f.matches(name) {
			return f.Format
		}
	}
	switch {
	case o.Float32 && (!table || stored > kernels.FormatInt8):
		return kernels.FormatF32
	case table,
		o.WeightFormat == kernels.FormatF32 && (o.asStored || stored > kernels.FormatInt8), // in blocks
		o.WeightFormat >= kernels.FormatInt8 && !weightfile.Repeats(name):
		return stored
	}
	return o.WeightFormat
}

// hasPrompts reports whether there are second copies.
func (o Options) hasPrompts() bool { return o.PromptFormat != kernels.FormatF32 }

// prompts returns the format of the second copy of a weight, or that of the first where there is no
// second copy.
func (o Options) prompts(name string, held kernels.Format, _ bool) kernels.Format {
	fast := o.PromptFormat == kernels.FormatInt8 || o.PromptFormat == kernels.FormatBF16Fast
	if held == kernels.FormatInt8 || held > kernels.FormatInt8 && !fast || !weightfile.Repeats(name) {
		return held
	}
	return o.PromptFormat
}

// warn hands over warnings.
func (o Options) warn(warnings ...string) []string {
	if o.Warn != nil {
		for _, w := range warnings {
			o.Warn(w)
		}
	}
	return warnings
}

// check returns an error if there is no such format, or a pattern is malformed.
func (o Options) check() error {
	for _, f := range append([]NamedFormat{{Format: o.WeightFormat}, {Format: o.PromptFormat}}, o.WeightFormats...) {
		if _, err := path.Match(f.Pattern, ""); err != nil {
			return check.Option("Pattern", f.Pattern, "%w", err)
		}
		if _, err := kernels.ParseFormat(f.Format.String()); err != nil {
			return check.Option("Format", f.Format, "there is no such format")
		}
	}
	if o.Float32 && o.WeightFormat != kernels.FormatF32 {
		return check.Option("Float32", true, "with WeightFormat %v", o.WeightFormat)
	}
	switch {
	case !o.hasPrompts():
	case o.PromptFormat < kernels.FormatInt8:
		return check.Option("PromptFormat", o.PromptFormat, "want f32, which is not a copy, int8, a format of blocks or bf16_fast")
	case o.Exact:
		return check.Option("PromptFormat", o.PromptFormat, "not together with Exact")
	}
	if o.Projector != "" && !o.Images {
		return check.Option("Projector", o.Projector, "without Images")
	}
	if o.CacheFormat > kernels.FormatInt8 {
		return check.Option("CacheFormat", o.CacheFormat, "want f32, bf16, f16 or int8")
	}
	return nil
}

// An Adapter is changes of a model that were trained and published without it.
type Adapter struct {
	// Path is the path of a folder as Python's peft writes it, with adapter_config.json and
	// adapter_model.safetensors or .bin, or of its repository in the hub's cache; for a model in a
	// GGUF file, that of a GGUF file of the type adapter.
	Path string
	// Scale multiplies what the adapter adds to weights; 0: 1.
	Scale float32
	// Task, unless empty, takes the place of Path: it names the task of an adapter that is in the
	// model's own folder, which lists its tasks in task_names of config.json, as
	// jina-embeddings-v5 does. A task that the folder does not have is an error that matches
	// fault.ErrOption and names those that it has.
	Task string
	// Name, unless empty, has the adapter stay beside the weights of a language model, for those
	// texts that ask for it by this name: several adapters share one model in memory. It may then
	// change only layers that repeat.
	Name string
}
