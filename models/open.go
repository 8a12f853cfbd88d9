package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/lora"
	"github.com/avoformer/avoformer/models/internal/sentence"
	"github.com/avoformer/avoformer/models/internal/weightfile"
	"github.com/avoformer/avoformer/transformer"
)

// Opening folders: which files there are, and what they hold together.

// Open loads the model in the folder dir, which has config.json and model.safetensors, or shards of
// it with model.safetensors.index.json; without these, pytorch_model.bin or its shards, from which
// no code is executed. Instead, dir may be a folder of the hub's cache: a snapshot with its links,
// or the model's folder, whose refs/main chooses the snapshot.
//
// It may also be a GGUF file of an architecture that doc/models.md lists, or the first part of one
// that was split. Its weights keep the format that the file has them in, those of the embedding and
// the head too, as far as [transformer.FromGGUF] can. Where blocks are multiplied as integers, the
// rows that they are multiplied with are rounded to integers as well; [Options] with Float32 avoids
// it. A file with a pooling_type makes vectors of texts, of length 1, and no text.
//
// The weights are packed for the kernels active now; no file is needed afterwards.
func Open(dir string, o Options) (*Model, error) {
	path, folder, err := hub.Find(dir)
	switch {
	case err != nil:
		return nil, check.Errorf(fault.ErrFolder, "%w", err)
	case !folder:
		return openGGUF(path, o)
	}
	o.path = path
	m, err := OpenFS(os.DirFS(path), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// OpenFS is [Open] for a file system whose root is the folder, such as an embedded one.
func OpenFS(fsys fs.FS, o Options) (*Model, error) {
	if o.Projector != "" {
		return nil, check.Option("Projector", o.Projector, "for models in GGUF files, not for folders")
	}
	doc, dir, err := sentence.Config(fsys)
	if errors.Is(err, fs.ErrNotExist) && configuration.Exists(fsys, lora.PEFTConfig) {
		return nil, check.InFile("config.json", fault.ErrFolder, fmt.Errorf("there is %s instead: an adapter, which Options.Adapters adds to its model", lora.PEFTConfig))
	}
	if err != nil {
		return nil, err
	}
	generation, err := configuration.ReadJSON(fsys, "generation_config.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, err := newCheckpoint(doc, generation, o)
	if err != nil {
		return nil, err
	}
	c.folder = fsys
	weights, err := weightfile.OpenWeights(fsys, dir)
	if err != nil {
		return nil, err
	}
	defer weights.Close()
	var warnings []string
	if c.doc, warnings, err = weights.JoinQuantized(doc); errors.Is(err, fault.ErrConfig) {
		return nil, err
	} else if err != nil {
		return nil, check.InFile(weights.Name, fault.ErrFormat, err)
	}
	o.warn(warnings...)
	files, err := weights.Stat()
	if err != nil {
		return nil, err
	}
	m, err := c.open(source{Base: lora.Base{Weights: weights, File: weights.Name, Path: o.path}, files: files})
	if err != nil {
		return nil, err
	}
	beside, err := sentence.Open(fsys, doc, m.sentenceParts())
	if err != nil {
		return nil, err
	}
	m.Embedders = beside.Embedders
	m.Warnings = slices.Concat(warnings, m.Warnings, o.warn(beside.Warnings...))
	return m, nil
}

// New returns the model that config, the text of a config.json, describes, with weights from
// anywhere: transformer.Random(1) is enough to try out and to time an architecture.
func New(config []byte, weights transformer.Weights, o Options) (*Model, error) {
	doc, err := configuration.Parse("config.json", config)
	if err != nil {
		return nil, err
	}
	c, err := newCheckpoint(doc, configuration.Document{}, o)
	if err != nil {
		return nil, err
	}
	return c.open(source{Base: lora.Base{Weights: weights, File: "weights"}})
}
