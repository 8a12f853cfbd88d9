package llamacpp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/modelstest"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// importance is what a file has for a weight.
type importance struct {
	name   string
	sums   []float32
	counts []float32
}

func float32s(x []float32) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// asGGUF and asOlder are a file in the two forms that llama-imatrix writes.
func asGGUF(t *testing.T, all []importance) []byte {
	var tensors []gguf.Tensor
	for _, e := range all {
		for suffix, x := range map[string][]float32{".in_sum2": e.sums, ".counts": e.counts} {
			shape := []int{len(e.counts), len(x) / len(e.counts)}
			tensors = append(tensors, gguf.Tensor{Name: e.name + suffix, Info: gguf.Info{Type: gguf.F32, Shape: shape}, Data: func(w io.Writer) error {
				_, err := w.Write(float32s(x))
				return err
			}})
		}
	}
	pairs := []gguf.Pair{{Key: "general.type", Value: "imatrix"}, {Key: "imatrix.datasets", Value: []string{"some.txt", "more.txt"}}, {Key: "imatrix.chunk_count", Value: uint32(7)}, {Key: "imatrix.chunk_size", Value: uint32(512)}}
	var b bytes.Buffer
	tftest.NoError(t, gguf.Write(&b, pairs, tensors))
	return b.Bytes()
}

func asOlder(all []importance) []byte {
	const calls = 4 // a power of two, so that no bit is lost
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(all)))
	text := func(s string) { b = append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...) }
	for _, e := range all {
		text(e.name)
		b = binary.LittleEndian.AppendUint32(b, calls)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(e.sums)))
		means := meansOf(e)
		for i := range means {
			means[i] *= calls
		}
		b = append(b, float32s(means)...)
	}
	b = binary.LittleEndian.AppendUint32(b, 7)
	text("some.txt")
	return b
}

// meansOf returns the importance of the columns: sums divided by counts, and 1 where a count is 0.
func meansOf(e importance) []float32 {
	means := slices.Clone(e.sums)
	for i := range means {
		if count := e.counts[i/(len(means)/len(e.counts))]; count > 0 {
			means[i] /= count
		} else {
			means[i] = 1
		}
	}
	return means
}

// large is a weight that is quantized in several pieces, the last of which is shorter.
const large = "blk.0.large.weight"

// withLargeWeight returns a copy of a file with one more weight.
func withLargeWeight(t *testing.T, path string) string {
	f := tftest.Must(gguf.Open(path))(t)
	defer f.Close()
	var pairs []gguf.Pair
	for _, key := range f.Keys() {
		value, _ := f.Value(key)
		pairs = append(pairs, gguf.Pair{Key: key, Value: value})
	}
	var tensors []gguf.Tensor
	for _, name := range f.Names() {
		info, _ := f.Info(name)
		tensors = append(tensors, gguf.Tensor{Name: name, Info: info, Data: func(w io.Writer) error { return f.Copy(w, name) }})
	}
	tensors = append(tensors, gguf.Tensor{Name: large, Info: gguf.Info{Type: gguf.F32, Shape: []int{501, 1056}}, Data: func(w io.Writer) error {
		r, x := rand.New(rand.NewPCG(3, 4)), make([]float32, 501*1056)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		_, err := w.Write(float32s(x))
		return err
	}})
	var b bytes.Buffer
	tftest.NoError(t, gguf.Write(&b, pairs, tensors))
	path = filepath.Join(t.TempDir(), "large.gguf")
	tftest.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return path
}

// TestImportance quantizes weights with the importance that files of both forms have, on one thread
// and on several, and wants the blocks of QuantizeBy. An expert of the model was never used.
// Weights that the files do not have are quantized without importance, with a warning.
func TestImportance(t *testing.T) {
	path := withLargeWeight(t, modelstest.Testdata("gguf/mixtral/f32.gguf"))
	model := tftest.Must(gguf.Open(path))(t)
	defer model.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var all []importance
	for name, counts := range map[string][]float32{"blk.0.attn_q.weight": {30}, "blk.0.ffn_up_exps.weight": {7, 0, 3, 20}, "blk.1.ffn_down_exps.weight": {30}, large: {5}} {
		info, _ := model.Info(name)
		e := importance{name: name, counts: counts, sums: make([]float32, info.Shape[len(info.Shape)-1])}
		if len(info.Shape) == 3 {
			e.sums = make([]float32, info.Shape[0]*info.Shape[2])
		}
		for i := range e.sums {
			e.sums[i] = float32(math.Exp(2 * r.NormFloat64()))
		}
		all = append(all, e)
	}
	files := map[string][]byte{"imatrix.gguf": asGGUF(t, all), "imatrix.dat": asOlder(all)}
	for name, content := range files {
		file := filepath.Join(t.TempDir(), name)
		tftest.NoError(t, os.WriteFile(file, content, 0o600))
		var outputs [][]byte
		for _, procs := range []int{1, 3} {
			before := runtime.GOMAXPROCS(procs)
			var b bytes.Buffer
			var warnings []string
			err := models.QuantizeGGUF(&b, path, models.Options{WeightFormat: kernels.FormatQ4_0, Importance: file, Warn: func(w string) { warnings = append(warnings, w) }})
			runtime.GOMAXPROCS(before)
			tftest.NoError(t, err)
			if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "without importance") || !strings.HasSuffix(warnings[0], " more") {
				t.Errorf("%s: warnings %q, want one about weights without importance", name, warnings)
			}
			outputs = append(outputs, b.Bytes())
		}
		if !bytes.Equal(outputs[0], outputs[1]) {
			t.Errorf("%s: other bytes on three threads than on one", name)
		}
		written := tftest.Must(gguf.Parse(outputs[0]))(t)
		for _, key := range []string{"file", "dataset", "entries_count", "chunks_count"} {
			value, _ := written.Value("quantize.imatrix." + key)
			if want := map[string]any{"file": name, "dataset": "some.txt", "entries_count": int32(4), "chunks_count": int32(7)}[key]; value != want {
				t.Errorf("%s: %s is %v, want %v", name, key, value, want)
			}
		}
		for _, weight := range written.Names() {
			info, _ := written.Info(weight)
			if info.Type != gguf.Q4_0 {
				continue
			}
			x, columns := tftest.Must(model.Float32(weight))(t), info.Shape[len(info.Shape)-1]
			want := make([]byte, info.Type.Bytes(len(x)))
			kernels.FormatQ4_0.Quantize(want, x)
			plain := slices.Clone(want)
			if i := slices.IndexFunc(all, func(e importance) bool { return e.name == weight }); i >= 0 {
				means, rows := meansOf(all[i]), info.Shape[len(info.Shape)-2]
				for row := range len(x) / columns {
					by := means[row/rows*columns:][:columns]
					n := info.Type.Bytes(columns)
					kernels.FormatQ4_0.QuantizeBy(want[row*n:][:n], x[row*columns:][:columns], by)
				}
				if bytes.Equal(want, plain) {
					t.Errorf("%s: importance makes no difference, so that the test shows nothing", weight)
				}
			}
			if got := tftest.Must(written.Bytes(weight))(t); !bytes.Equal(got, want) {
				t.Errorf("%s: %s has other blocks than QuantizeBy makes", name, weight)
			}
		}
	}
}

// TestImportanceErrors has files of other models, damaged ones, and ones that claim to be larger
// than they are.
func TestImportanceErrors(t *testing.T) {
	path := modelstest.Testdata("gguf/llama/f32.gguf")
	file := filepath.Join(t.TempDir(), "imatrix")
	quantized := func(content []byte) error {
		tftest.NoError(t, os.WriteFile(file, content, 0o600))
		return models.QuantizeGGUF(io.Discard, path, models.Options{WeightFormat: kernels.FormatQ4_0, Importance: file})
	}
	ones := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
	good := importance{"blk.0.attn_q.weight", ones(32), []float32{1}}
	for _, c := range []struct {
		importance
		kind error
		text string
	}{
		{good, nil, ""},
		{importance{"blk.9.attn_q.weight", ones(32), []float32{1}}, fault.ErrLeftOver, "blk.9.attn_q.weight"},
		{importance{good.name, ones(64), []float32{1}}, fault.ErrMisshapen, "blk.0.attn_q.weight"},
		{importance{good.name, slices.Concat(ones(31), []float32{-1}), []float32{1}}, fault.ErrFormat, "column 31"},
		{importance{good.name, slices.Concat(ones(31), []float32{float32(math.NaN())}), []float32{1}}, fault.ErrFormat, "column 31"},
		{importance{good.name, slices.Concat([]float32{float32(math.Inf(1))}, ones(31)), []float32{1}}, fault.ErrFormat, "column 0"},
	} {
		for form, content := range map[string][]byte{"GGUF": asGGUF(t, []importance{c.importance}), "older": asOlder([]importance{c.importance})} {
			if err := quantized(content); !errors.Is(err, c.kind) || c.kind != nil && !(strings.Contains(err.Error(), c.text) && strings.Contains(err.Error(), file)) {
				t.Errorf("%s, %s of %d: error %v, want %v with %s", form, c.name, len(c.sums), err, c.kind, c.text)
			}
		}
	}
	for name, counts := range map[string][]float32{"fraction": {1.5}, "negative": {-1}, "NaN": {float32(math.NaN())}, "infinite": {float32(math.Inf(1))}} {
		if err := quantized(asGGUF(t, []importance{{good.name, ones(32), counts}})); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%s count: error %v, want ErrFormat", name, err)
		}
	}
	if err := quantized(asGGUF(t, []importance{{good.name, ones(32), ones(2)}})); !errors.Is(err, fault.ErrMisshapen) {
		t.Errorf("two counts for a matrix: error %v, want ErrMisshapen", err)
	}
	if err := quantized(tftest.Must(os.ReadFile(path))(t)); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a model in place of an importance matrix: error %v, want ErrFormat", err)
	}
	older := asOlder([]importance{good, {"blk.1.attn_q.weight", ones(32), []float32{1}}})
	whole := len(older) - 4 - 4 - len("some.txt") // without the number of chunks and the dataset, which may be left out
	for n := range older {
		if err := quantized(older[:n]); (n == whole) != (err == nil) || err != nil && !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%d of %d bytes: error %v", n, len(older), err)
		}
	}
	for _, at := range []int{0, 4, 4 + 4 + len(good.name), 4 + 4 + len(good.name) + 4} { // the integers before the first numbers
		for _, n := range []uint32{0, 1 << 30, math.MaxInt32, 1 << 31, math.MaxUint32} {
			changed := slices.Clone(older)
			binary.LittleEndian.PutUint32(changed[at:], n)
			calls := at == 4+4+len(good.name)
			if err := quantized(changed); !errors.Is(err, fault.ErrFormat) && !(calls && n < 1<<31 && err == nil) {
				t.Errorf("%d at byte %d: error %v, want ErrFormat", n, at, err)
			}
		}
	}
	twice := asOlder([]importance{good, good})
	if err := quantized(twice); !errors.Is(err, fault.ErrFormat) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a weight that occurs twice: error %v, want ErrFormat", err)
	}
	tftest.NoError(t, os.Remove(file))
	if err := models.QuantizeGGUF(io.Discard, path, models.Options{WeightFormat: kernels.FormatQ4_0, Importance: file}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v, want ErrNotExist", err)
	}
	if _, err := models.Open(path, models.Options{Importance: file}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("Open: error %v, want ErrOption", err)
	}
}
