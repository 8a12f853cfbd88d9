package models

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Opening folders: which files there are, and what they hold together.

// Open loads the model in the folder dir, which has config.json and
// model.safetensors, or shards of it with model.safetensors.index.json; without these,
// pytorch_model.bin or its shards, of which nothing is executed. A folder of
// the hub's cache may be given too: a snapshot with its links, or the model's folder,
// of which refs/main chooses the snapshot; or a GGUF file, see [OpenGGUF].
//
// The weights are packed for the kernels active now; no file is needed afterwards.
func Open(dir string) (*Model, error) { return Options{}.Open(dir) }

// OpenFS is Open for a file system whose root is the folder, such as an embedded one.
func OpenFS(fsys fs.FS) (*Model, error) { return Options{}.OpenFS(fsys) }

// New is the model that config, the text of a config.json, describes, with weights from
// anywhere: transformer.Random(1) is enough for trying out and timing an architecture.
func New(config []byte, weights transformer.Weights) (*Model, error) {
	return Options{}.New(config, weights)
}

// Open is the function Open with options.
func (o Options) Open(dir string) (*Model, error) {
	dir = hub.Folder(dir)
	info, err := hub.Stat(dir)
	switch {
	case err != nil:
		return nil, check.Errorf(ErrFolder, "%w", err)
	case !info.IsDir() && gguf.Is(dir):
		return o.openGGUF(dir)
	case !info.IsDir():
		return nil, check.Errorf(ErrFolder, "%s is no folder%s", dir, asPointer(dir))
	}
	o.path = dir
	m, err := o.OpenFS(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return m, nil
}

// asPointer is what to add about a file where a GGUF file should be.
func asPointer(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if !hub.IsPointer(f) {
		return ""
	}
	return ", " + hub.ErrPointer.Error()
}

// OpenFS is the function OpenFS with options.
func (o Options) OpenFS(fsys fs.FS) (*Model, error) {
	doc, err := staticConfig(fsys)
	if errors.Is(err, fs.ErrNotExist) && exists(fsys, peftConfig) {
		return nil, check.InFile("config.json", ErrFolder, fmt.Errorf("there is %s instead: an adapter, which Options.Adapters adds to its model", peftConfig))
	}
	if err != nil {
		return nil, err
	}
	generation, err := readJSON(fsys, "generation_config.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, build, err := checkpoint(doc, generation)
	if err != nil {
		return nil, err
	}
	dir, err := staticFolder(fsys)
	if err != nil {
		return nil, err
	}
	weights, err := openWeights(fsys, dir)
	if err != nil {
		return nil, err
	}
	defer weights.Close()
	if c.fp8, err = weights.joinFP8(doc); err != nil {
		return nil, check.InFile(weights.name, ErrFormat, err)
	}
	m, err := c.build(build, base{Weights: weights, file: weights.name, path: o.path}, o)
	if err != nil {
		return nil, err
	}
	before := len(m.Warnings)
	if m.Sentence, err = openSentence(fsys, doc, m); err != nil {
		return nil, err
	}
	for _, open := range []func(fs.FS, *Model) error{openM3, openSparse, openLate} {
		if err := open(fsys, m); err != nil {
			return nil, err
		}
	}
	o.warn(m.Warnings[before:]...)
	return m, nil
}

// New is the function New with options.
func (o Options) New(config []byte, weights transformer.Weights) (*Model, error) {
	doc, err := parse("config.json", config)
	if err != nil {
		return nil, err
	}
	c, build, err := checkpoint(doc, Document{})
	if err != nil {
		return nil, err
	}
	return c.build(build, base{Weights: weights, file: "weights"}, o)
}

// checkpoint reads what all configurations have, and finds the architecture.
func checkpoint(doc, generation Document) (*Checkpoint, Builder, error) {
	config, err := common(doc, generation)
	if err != nil {
		return nil, nil, err
	}
	build, ok := builderOf(config.ModelType)
	if !ok {
		return nil, nil, &check.Error{Kind: ErrModelType, File: doc.Name, Field: "model_type", Value: strconv.Quote(config.ModelType), Err: fmt.Errorf("want one of %s", strings.Join(ModelTypes(), ", "))}
	}
	return &Checkpoint{JSON: doc, Config: config}, build, nil
}

// build makes the model with weights and the adapters of o. Tensors whose names match ignored may
// be left over.
func (c *Checkpoint) build(build Builder, b base, o Options, ignored ...string) (*Model, error) {
	if c.JSON.Has("_name_or_path") {
		_ = pyjson.Unmarshal(c.JSON.fields["_name_or_path"], &b.name) // for a remark only
	}
	adapters, err := o.openAdapters(b)
	if err != nil {
		return nil, err
	}
	defer adapters.Close()
	warnings := o.warn(adapters.warnings()...)
	c.Loader = transformer.NewLoader(b.Weights)
	if c.rename != nil {
		c.Loader.Rename(c.rename)
	}
	c.Loader.Ignore(ignored...)
	if err := adapters.addTo(c.Loader); err != nil {
		return nil, err
	}
	m, err := c.load(build, o)
	if misfit := new(transformer.LoadError); b.file != "" && errors.As(err, &misfit) {
		return nil, check.InFile(b.file, ErrFormat, err)
	}
	if err != nil {
		return nil, err
	}
	m.Warnings = append(warnings, m.Warnings...)
	return m, adapters.beside(m)
}

// load makes the model with the weights of c.Loader.
func (c *Checkpoint) load(build Builder, o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c.Loader.Pack(o.format)
	c.Loader.Limit(o.MemoryLimit)
	if o.hasPrompts() {
		c.Loader.PackMany(o.prompts)
	}
	if o.Exact {
		c.Loader.Exact()
	}
	var err error
	if c.JSON, err = c.JSON.accounted(cmp.Or(classes[c.Config.ModelType], handMade[c.Config.ModelType]), new(ledger)); err != nil {
		return nil, err
	}
	if c.fp8 {
		c.JSON.note("quantization_config")
	}
	m, err := build(c)
	if err != nil {
		return nil, err
	}
	if m.Warnings, err = c.JSON.settle(m); err != nil {
		return nil, err
	}
	if c.widened != nil {
		m.Warnings = append(m.Warnings, c.widened(c.Loader.Holdings())...)
	}
	o.warn(m.Warnings...)
	m.Holdings = c.Loader.Holdings()
	m.Config = c.Config
	if d, ok := m.LM.(*decoder); ok {
		d.held = o.Cache
	}
	if err := c.measure(m, o); err != nil {
		return nil, err
	}
	finish := c.Loader.Finish
	if o.HeadersOnly {
		finish = c.Loader.Check
	}
	if err := finish(); err != nil {
		return nil, err
	}
	return m, nil
}

// readJSON reads the object in a file, fs.ErrNotExist if there is none.
func readJSON(fsys fs.FS, name string) (Document, error) {
	text, err := readFile(fsys, name)
	if err != nil {
		return Document{Name: name}, err
	}
	return parse(name, text)
}

// readFile reads a file of the folder.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	text, err := regular.ReadFile(fsys, name)
	if err != nil {
		return nil, check.InFile(name, ErrFolder, err)
	}
	return text, nil
}
