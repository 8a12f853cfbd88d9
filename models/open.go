package models

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
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
	info, err := os.Stat(dir)
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
	c.Loader = transformer.NewLoader(adapters.weights(b))
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
	if err == nil {
		m.Warnings = append(warnings, m.Warnings...)
	}
	return m, err
}

// load makes the model with the weights of c.Loader.
func (c *Checkpoint) load(build Builder, o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c.Loader.Pack(o.format)
	if o.Exact {
		c.Loader.Exact()
	}
	var err error
	if c.JSON, err = c.JSON.accounted(cmp.Or(classes[c.Config.ModelType], handMade[c.Config.ModelType]), new(ledger)); err != nil {
		return nil, err
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
	if err := c.Loader.Finish(); err != nil {
		return nil, err
	}
	if d, ok := m.LM.(*decoder); ok {
		d.held = o.Cache
	}
	m.Config = c.Config
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

// files is the tensors of one or several files.
type files struct {
	name  string // of the only file, or of the index
	of    map[string]transformer.Reader
	open  []fs.File
	names []string
}

// single are the files that may hold all weights, the first of which counts that is there,
// itself or as shards with an index.
var single = []string{"model.safetensors", "pytorch_model.bin"}

// openWeights opens the weights in a folder, "" for that of the model.
func openWeights(fsys fs.FS, dir string) (*files, error) {
	for _, name := range single {
		name = path.Join(dir, name)
		if exists(fsys, name) || exists(fsys, name+".index.json") {
			return openFiles(fsys, dir, name, name+".index.json")
		}
	}
	return nil, noWeights(fsys, dir)
}

// openFiles opens the file single or, where there is none, the shards that index lists.
func openFiles(fsys fs.FS, dir, single, index string) (*files, error) {
	w := &files{name: single, of: map[string]transformer.Reader{}}
	shards := []string{single}
	doc, err := readJSON(fsys, index)
	switch {
	case err == nil && !exists(fsys, single):
		w.name = index
		if shards, err = w.indexed(doc, dir); err != nil {
			return nil, err
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	listed := w.of // which tensors shards should have, by the index
	w.of = map[string]transformer.Reader{}
	for _, shard := range shards {
		if err := w.add(fsys, shard); err != nil {
			w.Close()
			if w.name == index {
				err = fmt.Errorf("%w (%s names the file)", err, index)
			}
			return nil, check.InFile(shard, ErrFormat, err)
		}
	}
	for name := range listed {
		if w.of[name] == nil {
			w.Close()
			return nil, &check.Error{Kind: ErrFolder, File: index, Field: name, Err: errors.New("no shard has it")}
		}
	}
	if err := w.joinMXFP4(); err != nil {
		w.Close()
		return nil, check.InFile(w.name, ErrFormat, err)
	}
	for name := range w.of {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	return w, nil
}

func exists(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// noWeights is the error of a folder without weights that can be read.
func noWeights(fsys fs.FS, dir string) error {
	for _, name := range []string{"tf_model.h5", "flax_model.msgpack"} {
		if name := path.Join(dir, name); exists(fsys, name) {
			return check.InFile(name, ErrFolder, fmt.Errorf("not supported; in Python, from_pretrained(folder) and then save_pretrained(folder) of transformers writes %s", single[0]))
		}
	}
	return check.Errorf(ErrFolder, "neither %s nor %s.index.json, nor the like of %s", path.Join(dir, single[0]), path.Join(dir, single[0]), path.Join(dir, single[1]))
}

// indexed is the shards that an index names, in the same folder. It notes the tensors.
func (w *files) indexed(doc Document, dir string) ([]string, error) {
	raw := struct {
		Map map[string]string `json:"weight_map"`
	}{}
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if len(raw.Map) == 0 {
		return nil, doc.errorf("weight_map", "", "missing or empty")
	}
	var shards []string
	for tensor, shard := range raw.Map {
		if shard != path.Base(shard) || !fs.ValidPath(shard) {
			return nil, doc.errorf("weight_map."+tensor, strconv.Quote(shard), "want the name of a file")
		}
		w.of[tensor] = nil
		shards = append(shards, path.Join(dir, shard))
	}
	slices.Sort(shards)
	return slices.Compact(shards), nil
}

// add opens a file and notes its tensors.
func (w *files) add(fsys fs.FS, name string) error {
	f, err := regular.OpenFS(fsys, name)
	if err != nil {
		return &check.Error{Kind: ErrFolder, File: name, Err: err}
	}
	w.open = append(w.open, f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, size := io.ReaderAt(nil), info.Size()
	if r, ok := f.(io.ReaderAt); ok {
		at = r
	} else { // a file system that cannot seek, such as a zip file
		data, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		at, size = bytes.NewReader(data), int64(len(data))
	}
	if hub.IsPointer(at) {
		return check.Errorf(ErrFolder, "%w", hub.ErrPointer)
	}
	r, err := tensorsOf(at, size, name)
	if err != nil {
		return err
	}
	for _, tensor := range r.Names() {
		if w.of[tensor] != nil {
			return &check.Error{Kind: ErrFormat, Field: tensor, Err: errors.New("the tensor is in another shard too")}
		}
		w.of[tensor] = r
	}
	return nil
}

// tensorsOf is the tensors of a file in the format that its name tells.
func tensorsOf(r io.ReaderAt, size int64, name string) (transformer.Reader, error) {
	if ext := path.Ext(name); ext == ".bin" || ext == ".pt" {
		f, err := pytorch.NewFile(r, size)
		if err != nil {
			return nil, err
		}
		return transformer.FromPyTorch(f), nil
	}
	f, err := safetensors.NewFile(r, size)
	if err != nil {
		return nil, err
	}
	return transformer.FromSafetensors(f), nil
}

// Close closes the files.
func (w *files) Close() {
	for _, f := range w.open {
		f.Close()
	}
}

// Names implements transformer.Weights.
func (w *files) Names() []string { return w.names }

// Tensor implements transformer.Weights.
func (w *files) Tensor(name string, shape ...int) ([]float32, error) {
	f, ok := w.of[name]
	if !ok {
		return nil, check.Errorf(transformer.ErrMissing, "%s", name)
	}
	return f.Tensor(name, shape...)
}

// Shape implements transformer.Reader.
func (w *files) Shape(name string) ([]int, bool) {
	f, ok := w.of[name]
	if !ok {
		return nil, false
	}
	return f.Shape(name)
}

// Format implements transformer.Reader.
func (w *files) Format(name string) kernels.Format {
	f, ok := w.of[name]
	if !ok {
		return kernels.FormatF32
	}
	return f.Format(name)
}

// Read implements transformer.Reader.
func (w *files) Read(dst []float32, name string, from int) error {
	return w.of[name].Read(dst, name, from)
}

// Integers is a method that a transformer.Reader may have.
func (w *files) Integers(name string) bool { return hasIntegers(w.of[name], name) }

// hasIntegers reports whether r says that a tensor has integers.
func hasIntegers(r transformer.Reader, name string) bool {
	i, ok := r.(interface{ Integers(name string) bool })
	return ok && i.Integers(name)
}

// ReadBlocks is another.
func (w *files) ReadBlocks(dst []byte, name string, from int) error {
	return readBlocks(w.of[name], dst, name, from)
}

// readBlocks has r read what it stores, if it can.
func readBlocks(r transformer.Reader, dst []byte, name string, from int) error {
	if b, ok := r.(interface {
		ReadBlocks(dst []byte, name string, from int) error
	}); ok {
		return b.ReadBlocks(dst, name, from)
	}
	return errors.ErrUnsupported
}
