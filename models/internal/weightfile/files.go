package weightfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// The files of weights in a folder: one, or shards with an index, of safetensors or torch.save.

// files is the tensors of one or several files.
type files struct {
	Name  string // of the only file, or of the index
	of    map[string]transformer.Reader
	open  []fs.File
	names []string

	recent recent
}

// single are the files that may hold all weights. The first one that exists counts, either itself
// or as shards with an index.
var single = []string{"model.safetensors", "pytorch_model.bin"}

// OpenWeights opens the weights in a folder, "" for that of the model.
func OpenWeights(fsys fs.FS, dir string) (*files, error) {
	for _, name := range single {
		name = path.Join(dir, name)
		if configuration.Exists(fsys, name) || configuration.Exists(fsys, name+".index.json") {
			return OpenFiles(fsys, dir, name, name+".index.json")
		}
	}
	return nil, noWeights(fsys, dir)
}

// OpenFiles opens the file single or, if it does not exist, the shards that index lists.
func OpenFiles(fsys fs.FS, dir, single, index string) (*files, error) {
	if configuration.Exists(fsys, single) {
		return OpenFile(fsys, single)
	}
	doc, err := configuration.ReadJSON(fsys, index)
	if err != nil {
		return nil, err
	}
	shardOf, err := indexed(doc)
	if err != nil {
		return nil, err
	}
	w := &files{Name: index, of: map[string]transformer.Reader{}}
	for _, shard := range slices.Compact(slices.Sorted(maps.Values(shardOf))) {
		if err := w.add(fsys, path.Join(dir, shard)); err != nil {
			w.Close()
			return nil, check.InFile(path.Join(dir, shard), fault.ErrFormat, fmt.Errorf("%w (%s names the file)", err, index))
		}
	}
	for name := range shardOf {
		if w.of[name] == nil {
			w.Close()
			return nil, &fault.Error{Kind: fault.ErrFolder, File: index, Field: name, Err: errors.New("no shard has it")}
		}
	}
	return w.joined()
}

// OpenFile opens a file of weights.
func OpenFile(fsys fs.FS, name string) (*files, error) {
	w := &files{Name: name, of: map[string]transformer.Reader{}}
	if err := w.add(fsys, name); err != nil {
		w.Close()
		return nil, check.InFile(name, fault.ErrFormat, err)
	}
	return w.joined()
}

// joined returns the opened files with one tensor in place of those that are stored as several.
func (w *files) joined() (*files, error) {
	if err := w.joinMXFP4(); err != nil {
		w.Close()
		return nil, check.InFile(w.Name, fault.ErrFormat, err)
	}
	w.names = slices.Sorted(maps.Keys(w.of))
	return w, nil
}

// noWeights returns the error of a folder without weights that can be read.
func noWeights(fsys fs.FS, dir string) error {
	for _, name := range []string{"tf_model.h5", "flax_model.msgpack"} {
		if name := path.Join(dir, name); configuration.Exists(fsys, name) {
			return check.InFile(name, fault.ErrFolder, fmt.Errorf("not supported; in Python, from_pretrained(folder) and then save_pretrained(folder) of transformers writes %s", single[0]))
		}
	}
	return check.Errorf(fault.ErrFolder, "neither %s nor %s.index.json, and nothing of that form for %s", path.Join(dir, single[0]), path.Join(dir, single[0]), path.Join(dir, single[1]))
}

// indexed returns the shards of tensors, which an index names and which are in the same folder.
func indexed(doc configuration.Document) (map[string]string, error) {
	raw := struct {
		Map map[string]string `json:"weight_map"`
	}{}
	if err := doc.Decode(&raw); err != nil {
		return nil, err
	}
	if len(raw.Map) == 0 {
		return nil, doc.ErrorWith("weight_map", "", "missing or empty")
	}
	for tensor, shard := range raw.Map {
		if shard != path.Base(shard) || !fs.ValidPath(shard) {
			return nil, doc.ErrorWith("weight_map."+tensor, strconv.Quote(shard), "want the name of a file")
		}
	}
	return raw.Map, nil
}

// add opens a file and notes its tensors.
func (w *files) add(fsys fs.FS, name string) error {
	f, err := regular.OpenFS(fsys, name)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err // the caller adds the name
	}
	if err != nil {
		return check.Errorf(fault.ErrFolder, "%w", err)
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
	r, err := tensorsOf(at, size, name)
	if err != nil {
		return err
	}
	for _, tensor := range r.Names() {
		if w.of[tensor] != nil {
			return &fault.Error{Kind: fault.ErrFormat, Field: tensor, Err: errors.New("the tensor is in another shard too")}
		}
		w.of[tensor] = r
	}
	return nil
}

// tensorsOf returns the tensors of a file. Its name decides the format.
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

// Stat returns the sizes and times of the files.
func (w *files) Stat() ([]fs.FileInfo, error) {
	infos := make([]fs.FileInfo, len(w.open))
	for i, f := range w.open {
		var err error
		if infos[i], err = f.Stat(); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// Close closes the files.
func (w *files) Close() {
	w.recent.forget()
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
		return nil, check.Errorf(fault.ErrMissing, "%s", name)
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

// Integers implements transformer.IntegerReader.
func (w *files) Integers(name string) bool { return hasIntegers(w.of[name], name) }

// ReadBlocks implements transformer.BlockReader.
func (w *files) ReadBlocks(dst []byte, name string, from int) error {
	return readBlocks(w.of[name], dst, name, from)
}

// Sample writes some of what is stored for a tensor that several of the files make together. It
// reports whether the tensor is one.
func (w *files) Sample(to io.Writer, name string) (bool, error) {
	t, ok := w.of[name].(*joined)
	if !ok {
		return false, nil
	}
	return true, t.sample(to)
}

// Repeats reports whether a name is that of a layer among several: one of its parts is a number.
func Repeats(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return true
		}
	}
	return false
}

// join puts a tensor in place of its parts, of the given names.
func (w *files) join(t *joined, parts ...string) {
	t.parts = map[string]transformer.Reader{}
	for _, name := range parts {
		if r := w.of[name]; r != nil {
			t.parts[name] = r
			delete(w.of, name)
		}
	}
	w.of[t.name] = t
}

// has returns an error unless there is a tensor of a shape and one of some types.
func (w *files) has(name string, shape []int, types ...safetensors.DType) error {
	r := w.of[name]
	if r == nil {
		return fmt.Errorf("there is no %s", name)
	}
	if got, _ := r.Shape(name); !slices.Equal(got, shape) || !slices.Contains(types, dtypeOf(r, name)) {
		return fmt.Errorf("%s is %v of shape %v, want %v of shape %v", name, dtypeOf(r, name), got, types, shape)
	}
	return nil
}
