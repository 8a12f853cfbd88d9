package transformer_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	tf "github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// Weights that are held as the checkpoint stores them.

// storedReader is weights in a format, by name: the bytes of files, and the values that they stand
// for.
type storedReader struct {
	brokenReader
	format kernels.Format
	bytes  map[string][]byte
	apart  string       // the tensor that cannot be read as it is stored
	reads  atomic.Int32 // how often values were asked for, on any thread
}

func (r *storedReader) Format(name string) kernels.Format {
	if len(r.TensorMap[name].Shape) < 2 {
		return kernels.FormatF32
	}
	return r.format
}

func (r *storedReader) Read(dst []float32, name string, from int) error {
	r.reads.Add(1)
	return r.brokenReader.Read(dst, name, from)
}

func (r *storedReader) ReadBlocks(dst []byte, name string, from int) error {
	elements, bytes := r.format.Block()
	switch {
	case name == r.broken:
		return errBroken
	case name == r.apart:
		return errors.ErrUnsupported
	}
	if data := r.bytes[name][from/elements*bytes:]; len(data) < len(dst) {
		return errors.New("beyond the end")
	}
	copy(dst, r.bytes[name][from/elements*bytes:])
	return nil
}

// add adds a tensor of random numbers of the format.
func (r *storedReader) add(name string, rows, cols int) {
	g := rand.New(rand.NewPCG(uint64(len(r.bytes)), 3))
	x := make([]float32, rows*cols)
	for i := range x {
		x[i] = float32(g.NormFloat64())
	}
	elements, bytes := r.format.Block()
	raw := make([]byte, len(x)/elements*bytes)
	r.format.Quantize(raw, x)
	row := len(raw) / rows
	values := kernels.PackBBlocks(r.format, rows, cols, func(j int, dst []byte) { copy(dst, raw[j*row:]) })
	for j := range rows {
		values.Column(x[j*cols:(j+1)*cols], j)
	}
	r.TensorMap[name], r.bytes[name] = safetensors.Tensor{Shape: []int{rows, cols}, Data: x}, raw
}

// TestHeldAsStored wants the values of the checkpoint from layers and tables that are held in its
// format, whole tensors and parts of them, which are more than one piece.
func TestHeldAsStored(t *testing.T) {
	const in, table = 512, 2200
	formats := []kernels.Format{kernels.FormatBF16, kernels.FormatQ4_K, kernels.FormatF16, kernels.FormatQ8_0}
	if testenv.Emulated() {
		formats = formats[:2] // how pieces are read does not depend on the tier, and tests of kernels pack all formats
	}
	for _, f := range formats {
		for _, apart := range []string{"", "b.weight", "table.weight"} {
			if apart != "" && f != kernels.FormatBF16 && f != kernels.FormatF16 { // those of blocks would be rounded twice
				continue
			}
			r := &storedReader{brokenReader: brokenReader{tf.TensorMap{}, ""}, format: f, bytes: map[string][]byte{}, apart: apart}
			r.add("a.weight", 1000, in)
			r.add("b.weight", 3001, in)
			r.add("table.weight", table, in)
			r.add("tied.weight", 700, in)
			l := tf.NewLoader(r)
			l.Pack(func(string, kernels.Format, bool) kernels.Format { return f })
			layer := l.Stacked(in, false, tf.Part{Name: "a.", Rows: 1000}, tf.Part{Name: "b.", Rows: 2951, From: 50, Of: 3001})
			vectors, tied := l.At("table.").Embedding(table, in), l.At("tied.").Embedding(700, in)
			head := l.At("head.").Tied(tied, nil)
			tftest.NoError(t, l.Finish())
			if (r.reads.Load() > 0) != (apart != "") {
				t.Errorf("%v, %q apart: values were read %d times", f, apart, r.reads.Load())
			}
			want := slices.Concat(r.TensorMap["a.weight"].Data, r.TensorMap["b.weight"].Data[50*in:])
			if !slices.Equal(layer.Weight(), want) {
				t.Errorf("%v, %q apart: a layer of other values", f, apart)
			}
			if !slices.Equal(head.Weight(), r.TensorMap["tied.weight"].Data) {
				t.Errorf("%v, %q apart: a head of other values", f, apart)
			}
			for row := range table {
				x := make([]float32, in)
				if vectors.Row(x, row); !slices.Equal(x, r.TensorMap["table.weight"].Data[row*in:][:in]) {
					t.Fatalf("%v, %q apart: vector %d is another", f, apart, row)
				}
			}
		}
	}
}

// TestUnreadableAsStored is that errors of reading what is stored end loading.
func TestUnreadableAsStored(t *testing.T) {
	for _, name := range []string{"a.weight", "table.weight"} {
		r := &storedReader{brokenReader: brokenReader{tf.TensorMap{}, name}, format: kernels.FormatBF16, bytes: map[string][]byte{}}
		r.add("a.weight", 5, 6)
		r.add("table.weight", 7, 6)
		l := tf.NewLoader(r)
		l.Pack(func(string, kernels.Format, bool) kernels.Format { return kernels.FormatBF16 })
		l.At("a.").Linear(6, 5, false)
		l.At("table.").Embedding(7, 6)
		if err := l.Finish(); !errors.Is(err, errBroken) {
			t.Errorf("%s cannot be read: error %v", name, err)
		}
	}
}

// TestIntegers: integers are not weights, unless a loader was told that they are.
func TestIntegers(t *testing.T) {
	header := `{"a.weight":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},"table.weight":{"dtype":"I8","shape":[2,2],"data_offsets":[4,8]}}`
	raw := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	f := tftest.Must(safetensors.Parse(append(append(raw, header...), 1, 2, 3, 252, 5, 6, 7, 8)))(t)
	load := func(l *tf.Loader) (*tf.Linear, *tf.Embedding, error) {
		a, table := l.At("a.").Linear(2, 2, false), l.At("table.").Embedding(2, 2)
		return a, table, l.Finish()
	}
	var misfit *tf.LoadError
	if _, _, err := load(tf.NewLoader(tf.FromSafetensors(f))); !errors.As(err, &misfit) || !strings.Contains(err.Error(), "a.weight has integers") || !strings.Contains(err.Error(), "table.weight has integers") {
		t.Errorf("integers: error %v, want one that names both", err)
	}
	a, table, err := load(tf.NewLoader(tf.FromSafetensors(f)).Integers())
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 2)
	if table.Row(x, 1); !slices.Equal(a.Weight(), []float32{1, 2, 3, -4}) || !slices.Equal(x, []float32{7, 8}) {
		t.Errorf("weights %v, vector %v", a.Weight(), x)
	}
}
