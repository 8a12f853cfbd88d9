package llamacpp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// This file reads importance matrices, which llama-imatrix writes: for each column of a weight the
// sum of the squares of what it was multiplied with. A file is not trusted: it is an error if it is
// malformed, and memory is only taken for numbers that the model has columns for.
//
// Source: tools/imatrix/README.md and common/imatrix-loader.cpp of llama.cpp.

// Importance is the importance of the columns of weights by the names of the weights.
type Importance struct {
	path    string
	entries map[string]importance
	dataset string // "" if the file does not name one
	chunks  int32  // of the dataset; 0 if the file does not say
	file    io.Closer
}

// importance is that of one weight.
type importance struct {
	n      int       // numbers
	counts []float32 // how many squares each sum has: one count for all sums, or one for each matrix of the weight
	read   func(dst []float32) error
}

// OpenImportance opens a file in either of the forms of llama-imatrix: GGUF, or the older .dat. It
// reads numbers when they are asked for.
func OpenImportance(path string) (*Importance, error) {
	open := openOlder
	if gguf.Is(path) {
		open = openImportanceGGUF
	}
	m, err := open(path)
	if err != nil {
		return nil, check.InFile(path, fault.ErrFormat, err)
	}
	m.path = path
	return m, nil
}

// Close closes the file.
func (m *Importance) Close() error { return m.file.Close() }

func openImportanceGGUF(path string) (*Importance, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	m := &Importance{entries: map[string]importance{}, file: file}
	for _, name := range file.Names() {
		weight, ok := strings.CutSuffix(name, ".in_sum2")
		if !ok {
			continue
		}
		e, err := importanceIn(file, name, weight+".counts")
		if err != nil {
			file.Close()
			return nil, err
		}
		m.entries[weight] = e
	}
	if len(m.entries) == 0 {
		file.Close()
		return nil, errors.New("the file has no importance matrix: no tensor whose name ends with .in_sum2")
	}
	if names, err := file.Texts("imatrix.datasets"); err == nil && len(names) > 0 {
		m.dataset = names[0]
	}
	if n, err := file.Int("imatrix.chunk_count"); err == nil && n > 0 && n <= math.MaxInt32 {
		m.chunks = int32(n)
	}
	return m, nil
}

// importanceIn returns the importance that two tensors have.
func importanceIn(file *gguf.File, sums, counts string) (importance, error) {
	of, _ := file.Info(sums)
	by, ok := file.Info(counts)
	n := of.Len()
	if !ok || of.Type != gguf.F32 || by.Type != gguf.F32 || by.Len() < 1 || n < 1 || n%by.Len() != 0 {
		return importance{}, fmt.Errorf("%s is %v %v, and %s %v %v: want F32, and one count or one for each of some matrices", sums, of.Type, of.Shape, counts, by.Type, by.Shape)
	}
	e := importance{n: n, read: func(dst []float32) error { return file.ReadFloat32(dst, sums, 0) }}
	var err error
	e.counts, err = file.Float32(counts)
	for _, c := range e.counts {
		if !(c >= 0 && c <= math.MaxFloat32) || c != float32(math.Trunc(float64(c))) {
			return importance{}, fmt.Errorf("%s has %v: want whole numbers", counts, c)
		}
	}
	return e, err
}

// openOlder opens a file of the older form: the number of weights, and for each its name, the
// number of calls, and the number of mean squares with these, each times the number of calls. The
// number of chunks and the name of the dataset may follow. Integers have 4 bytes.
func openOlder(path string) (*Importance, error) {
	file, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := readOlder(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	m.file = file
	return m, nil
}

func readOlder(file *os.File) (*Importance, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r := olderReader{file: file, size: info.Size()}
	m := &Importance{entries: map[string]importance{}}
	weights := r.integer("number of weights", 1, math.MaxInt32)
	for i := int64(0); i < weights && r.err == nil; i++ {
		name := r.text()
		calls := r.integer("number of calls", 0, math.MaxInt32)
		n := r.integer("number of columns", 1, (r.size-r.at)/4)
		at := r.at
		r.at += 4 * n
		if _, twice := m.entries[name]; twice && r.err == nil {
			r.err = fmt.Errorf("%.100q occurs twice", name)
		}
		m.entries[name] = importance{n: int(n), counts: []float32{float32(calls)}, read: func(dst []float32) error {
			return binary.Read(io.NewSectionReader(file, at, 4*int64(len(dst))), binary.LittleEndian, dst)
		}}
	}
	if r.err == nil && r.at < r.size {
		m.chunks = int32(r.integer("number of chunks", 0, math.MaxInt32))
		m.dataset = r.text()
	}
	return m, r.err
}

// olderReader reads integers and names, and keeps the first error.
type olderReader struct {
	file     io.ReaderAt
	at, size int64
	err      error
}

func (r *olderReader) bytes(n int64) []byte {
	b := make([]byte, n)
	if r.err == nil {
		if _, err := r.file.ReadAt(b, r.at); err != nil {
			r.err = fmt.Errorf("the file ends early, or is not an importance matrix: %w", err)
		}
	}
	r.at += n
	return b
}

func (r *olderReader) integer(what string, least, most int64) int64 {
	n := int64(int32(binary.LittleEndian.Uint32(r.bytes(4))))
	if r.err == nil && (n < least || n > most) {
		r.err = fmt.Errorf("the %s at byte %d is %d, want %d to %d", what, r.at-4, n, least, most)
	}
	if r.err != nil {
		return 0
	}
	return n
}

func (r *olderReader) text() string {
	const most = 1 << 12
	return string(r.bytes(r.integer("length of a name", 0, most)))
}

// check returns an error unless the weights that entries are for are in the model, with as many
// columns.
func (m *Importance) check(info func(name string) (gguf.Info, bool)) error {
	for _, name := range slices.Sorted(maps.Keys(m.entries)) {
		t, ok := info(name)
		if !ok {
			return &fault.Error{Kind: fault.ErrLeftOver, File: m.path, Field: check.Short(name), Err: errors.New("the model has no such weight: this is the importance matrix of another model")}
		}
		columns, matrices := columnsOf(t)
		e := m.entries[name]
		if e.n != columns*matrices || len(e.counts) != 1 && len(e.counts) != matrices {
			return &fault.Error{Kind: fault.ErrMisshapen, File: m.path, Field: name, Err: fmt.Errorf("importance of %d columns with %d counts, the weight %v has %d in %d matrices",
				e.n, len(e.counts), t.Shape, columns*matrices, matrices)}
		}
	}
	return nil
}

// importanceKeys is what the names of the keys begin with that say which importance a file was made
// with.
const importanceKeys = "quantize.imatrix."

// pairs returns the metadata that llama.cpp writes about the importance that a file was made with.
func (m *Importance) pairs() []gguf.Pair {
	pairs := []gguf.Pair{{Key: importanceKeys + "file", Value: filepath.Base(m.path)}, {Key: importanceKeys + "entries_count", Value: int32(len(m.entries))}}
	if m.dataset != "" {
		pairs = append(pairs, gguf.Pair{Key: importanceKeys + "dataset", Value: m.dataset})
	}
	if m.chunks > 0 {
		pairs = append(pairs, gguf.Pair{Key: importanceKeys + "chunks_count", Value: m.chunks})
	}
	return pairs
}

func (m *Importance) has(name string) bool { _, ok := m.entries[name]; return ok }

// columnsOf returns the number of columns of the matrices of a weight, and the number of matrices.
func columnsOf(t gguf.Info) (columns, matrices int) {
	matrices = 1
	for i, d := range t.Shape {
		if i < len(t.Shape)-2 {
			matrices *= d
		}
		columns = d
	}
	return columns, matrices
}

// of returns the importance of the columns of a weight's matrices, one matrix after the other, or
// nil if the file does not have the weight. As in llama.cpp, columns of a matrix that nothing was
// multiplied with are equally important.
func (m *Importance) of(name string) ([]float32, error) {
	e, ok := m.entries[name]
	if !ok {
		return nil, nil
	}
	x := make([]float32, e.n)
	if err := e.read(x); err != nil {
		return nil, check.InFile(m.path, fault.ErrFormat, err)
	}
	columns := e.n / len(e.counts)
	for i, v := range x {
		count := e.counts[i/columns]
		if count > 0 {
			v /= count
		} else {
			v = 1
		}
		if x[i] = v; !(v >= 0 && v <= math.MaxFloat32) {
			return nil, &fault.Error{Kind: fault.ErrFormat, File: m.path, Field: name, Err: fmt.Errorf("the importance of column %d is %v, want a finite number of at least 0", i, v)}
		}
	}
	return x, nil
}
