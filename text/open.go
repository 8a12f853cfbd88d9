// This file finds the kind of pipeline that a folder is for, and opens pipelines by their kinds.

package text

import (
	"fmt"
	"io/fs"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// records are all kinds.
func records() []record {
	return []record{
		embedder(), reranker(), classifier(), tokenClassifier(), maskFiller(), nextSentence(), questionAnswerer(), generator(), translator(),
		transcriber(), imageClassifier(), imageEmbedder(),
	}
}

// recordOf returns the record of a kind.
func recordOf(kind Kind) (record, error) {
	for _, r := range records() {
		if r.kind == kind {
			return r, nil
		}
	}
	return record{}, fmt.Errorf("%w: kind %q, want one of %q", fault.ErrOption, kind, Kinds())
}

// Kinds are all kinds.
func Kinds() []Kind {
	var kinds []Kind
	for _, r := range records() {
		kinds = append(kinds, r.kind)
	}
	return kinds
}

// Info has the properties of a kind. It is empty for a kind that is not in [Kinds].
func (k Kind) Info() KindInfo {
	r, _ := recordOf(k)
	return r.KindInfo
}

// KindsFor returns the kinds of the pipelines that a model can serve.
func KindsFor(m *models.Model) []Kind {
	var kinds []Kind
	for _, r := range records() {
		if m.Serves(r.use) {
			kinds = append(kinds, r.kind)
		}
	}
	return kinds
}

// OpenKind opens the pipeline of a kind in a folder: an *Embedder, a *Reranker and so on.
func OpenKind(kind Kind, dir string, o Options) (Pipeline, error) {
	r, err := recordOf(kind)
	if err != nil {
		return nil, err
	}
	return openIn(dir, o, r.open)
}

// FootprintOf returns the memory that the model in a folder would take in a pipeline of a kind. It
// reads only the headers of its files.
func FootprintOf(kind Kind, dir string, o Options) (models.Footprint, error) {
	r, err := recordOf(kind)
	if err != nil {
		return models.Footprint{}, err
	}
	if o, err = o.settled(r.KindInfo); err != nil {
		return models.Footprint{}, err
	}
	shares, err := o.shares()
	if err != nil {
		return models.Footprint{}, err
	}
	fsys, err := o.folder(dir)
	if err != nil {
		return models.Footprint{}, err
	}
	headers := o.Model
	headers.HeadersOnly, headers.Warn = true, nil
	m, err := folder.Model(fsys, headers)
	if err != nil {
		return models.Footprint{}, fmt.Errorf("%s: %w", dir, err)
	}
	return o.footprint(r.KindInfo, m, shares), nil
}

// KindOf returns the kind of a folder as its small files say, without its weights: an Embedder or a
// Reranker if its modules.json makes vectors of texts or scores of pairs, and else what
// models.UseOf says of its config.json, or models.UseOfGGUF of a GGUF file. Where a folder serves
// several, such as a decoder with a modules.json, it is the one that its authors added.
func KindOf(dir string) (Kind, error) {
	fsys, err := folder.FS(dir)
	if err != nil {
		return "", err
	}
	kind, err := kindOf(fsys)
	if err != nil {
		return "", fmt.Errorf("%s: %w", dir, err)
	}
	return kind, nil
}

func kindOf(fsys fs.FS) (Kind, error) {
	use, err := models.ModulesUse(fsys) // a module StaticEmbedding needs no config.json
	if err == nil && use == "" {
		use, err = useOf(fsys)
	}
	if err != nil {
		return "", err
	}
	for _, r := range records() {
		if r.use == use {
			return r.kind, nil
		}
	}
	return "", folder.Errorf("no pipeline is for %s", use)
}

// useOf returns the use of the model of a folder or of a GGUF file.
func useOf(fsys fs.FS) (models.Use, error) {
	if g, ok := fsys.(folder.GGUF); ok {
		f, err := gguf.Open(g.Path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return models.UseOfGGUF(f)
	}
	data, err := regular.ReadFile(fsys, "config.json")
	if err != nil {
		return "", folder.Errorf("%w", err)
	}
	return models.UseOf(data)
}
