package pytorch_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/transformer/internal/datafile/filetest"
	"github.com/avoformer/avoformer/transformer/pytorch"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// containers are files of the same tensors, which torch.save wrote.
var containers = []string{"zip.bin", "legacy.bin"}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTensors compares every tensor with what PyTorch says it holds: all types of floating-point
// numbers, and views that are transposed, permuted, cut or strided.
func TestTensors(t *testing.T) {
	want, err := safetensors.Open(filepath.Join("testdata", "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	for _, name := range containers {
		t.Run(name, func(t *testing.T) {
			f, err := pytorch.Open(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			integers := []string{"bool", "int16", "int32", "int64", "int8", "uint8"}
			all := append(slices.Clone(integers), want.Names()...)
			slices.Sort(all)
			if got := f.Names(); !slices.Equal(got, all) {
				t.Fatalf("Names() = %q, want %q", got, all)
			}
			for _, tensor := range integers {
				if info, _ := f.Info(tensor); string(info.DType) != tensor {
					t.Errorf("%s has type %s", tensor, info.DType)
				}
				if _, err := f.Float32(tensor); !errors.Is(err, fault.ErrType) {
					t.Errorf("Float32(%q): %v, want ErrDType", tensor, err)
				}
			}
			for _, tensor := range want.Names() {
				info, ok := f.Info(tensor)
				winfo, _ := want.Info(tensor)
				if !ok || !slices.Equal(info.Shape, winfo.Shape) {
					t.Errorf("%s has shape %v, want %v", tensor, info.Shape, winfo.Shape)
				}
				got, err := f.Float32(tensor)
				x, _ := want.Float32(tensor)
				if err != nil || !slices.Equal(got, x) {
					t.Errorf("%s = %v, %v, want %v", tensor, got, err, x)
				}
				for from := range x { // from everywhere to the end
					piece := make([]float32, len(x)-from)
					if err := f.ReadFloat32(piece, tensor, from); err != nil || !slices.Equal(piece, x[from:]) {
						t.Errorf("%s from %d = %v, %v", tensor, from, piece, err)
					}
				}
				if err := readData(f, tensor, x); err != nil {
					t.Errorf("%s as it is stored: %v", tensor, err)
				}
				if err := f.ReadFloat32(make([]float32, 2), tensor, len(x)-1); err == nil {
					t.Errorf("%s: read past its end", tensor)
				}
			}
			if _, err := f.Float32("none"); !errors.Is(err, fault.ErrAbsent) {
				t.Errorf("Float32 of an absent tensor: %v, want ErrAbsent", err)
			}
		})
	}
}

// readData wants the stored elements of a tensor from everywhere to the end, or to be told that
// they are apart.
func readData(f *pytorch.File, tensor string, want []float32) error {
	element := map[pytorch.DType]struct {
		size  int
		value func(b []byte) float32
	}{
		"float32":  {4, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
		"float64":  {8, func(b []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) }},
		"float16":  {2, func(b []byte) float32 { return half.Float16(binary.LittleEndian.Uint16(b)) }},
		"bfloat16": {2, func(b []byte) float32 { return half.BFloat16(binary.LittleEndian.Uint16(b)) }},
	}
	apart := []string{"columns", "every other", "permuted", "transposed"}
	info, _ := f.Info(tensor)
	e := element[info.DType]
	for from := range want {
		b := make([]byte, e.size*(len(want)-from))
		if err := f.ReadData(b, tensor, from); errors.Is(err, errors.ErrUnsupported) && slices.Contains(apart, tensor) {
			continue
		} else if err != nil {
			return err
		}
		for i, v := range want[from:] {
			if got := e.value(b[i*e.size:]); got != v {
				return fmt.Errorf("element %d is %v, want %v", from+i, got, v)
			}
		}
	}
	if slices.Contains(apart, tensor) {
		return nil
	}
	if f.ReadData(make([]byte, 2*e.size), tensor, len(want)-1) == nil || f.ReadData(nil, tensor, -1) == nil {
		return errors.New("no error outside")
	}
	if err := f.ReadData(nil, "none", 0); !errors.Is(err, fault.ErrAbsent) {
		return fmt.Errorf("an absent tensor: %v", err)
	}
	return nil
}

// archive returns a zip archive with the pickle and one storage of 4 floats.
func archive(pickle string, change func(h *zip.FileHeader)) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range [][2]string{{"x/data.pkl", pickle}, {"x/byteorder", "little"}, {"x/data/0", string(make([]byte, 16))}} {
		h := &zip.FileHeader{Name: m[0], Method: zip.Store}
		if change != nil {
			change(h)
		}
		w, _ := z.CreateHeader(h)
		w.Write([]byte(m[1]))
	}
	z.Close()
	return b.Bytes()
}

// Pieces of pickles.
const (
	proto = "\x80\x02"
	// storage 0, 4 floats
	floats = "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ"
	// a tensor of it: offset, shape, strides, and what training wants
	rebuild = "ctorch._utils\n_rebuild_tensor_v2\n("
	state   = proto + "}X\x01\x00\x00\x00w"
)

// view returns a state dict with a tensor w of the storage of 4 floats.
func view(args string) string { return state + rebuild + floats + args + "\x89NtRs." }

// TestRefused gives files that are wrong in one way each, and what the error must name.
func TestRefused(t *testing.T) {
	if _, err := pytorch.Parse(archive(view("K\x00K\x02K\x02\x86K\x02K\x01\x86"), nil)); err != nil {
		t.Fatalf("a right file: %v", err)
	}
	legacy := read(t, "legacy.bin")
	for name, c := range map[string]struct {
		file []byte
		err  error
		text string
	}{
		"a call of the system":   {archive(proto+"cposix\nsystem\nX\x04\x00\x00\x00true\x85R.", nil), fault.ErrUnsupported, "posix.system"},
		"by STACK_GLOBAL":        {archive("\x80\x04X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93X\x04\x00\x00\x00true\x85R.", nil), fault.ErrUnsupported, "os.system"},
		"another class":          {archive(proto+"cnumpy.core.multiarray\n_reconstruct\n)R.", nil), fault.ErrUnsupported, "numpy.core.multiarray._reconstruct"},
		"an unknown operation":   {archive(proto+"\x81.", nil), fault.ErrUnsupported, "0x81"},
		"protocol 1":             {archive("\x80\x01N.", nil), fault.ErrUnsupported, "protocol 1"},
		"no state dict":          {archive(proto+"K\x05.", nil), fault.ErrUnsupported, "no state dict"},
		"a number in it":         {archive(state+"K\x05s.", nil), fault.ErrUnsupported, `"w"`},
		"a key that is a number": {archive(proto+"}K\x01K\x02s.", nil), fault.ErrUnsupported, "key"},
		"attributes":             {archive(proto+"K\x05}b.", nil), fault.ErrUnsupported, "attributes"},
		"quantized":              {archive(strings.Replace(view("K\x00)"), "FloatStorage", "QInt8Storage", 1), nil), fault.ErrUnsupported, "QInt8Storage"},
		"another key":            {archive(strings.Replace(view("K\x00K\x02\x85K\x01\x85"), "\x000X", "\x007X", 1), nil), fault.ErrFormat, `"7"`},
		"a storage of nothing":   {archive(strings.Replace(view("K\x00K\x02\x85K\x01\x85"), "K\x04tQ", "NtQ", 1), nil), fault.ErrFormat, "number of elements"},
		"a negative storage":     {archive(strings.Replace(view("K\x00K\x02\x85K\x01\x85"), "K\x04tQ", "J\xff\xff\xff\xfftQ", 1), nil), fault.ErrFormat, "number of elements"},
		"a key of no text":       {archive(strings.Replace(view("K\x00K\x02\x85K\x01\x85"), "X\x01\x00\x00\x000X", "K\x00X", 1), nil), fault.ErrFormat, "number of elements"},
		"a class of no class":    {archive(strings.Replace(view("K\x00K\x02\x85K\x01\x85"), "ctorch\nFloatStorage\n", "N", 1), nil), fault.ErrFormat, "number of elements"},
		"a longer storage":       {archive(strings.Replace(view("K\x00K\x02\x85K\x01\x85"), "K\x04tQ", "K\x05tQ", 1), nil), fault.ErrFormat, "16 bytes"},
		"past the storage":       {archive(view("K\x01K\x04\x85K\x01\x85"), nil), fault.ErrFormat, "element 1"},
		"strides past it":        {archive(view("K\x00K\x02\x85K\x04\x85"), nil), fault.ErrFormat, "strides [4]"},
		"strides of nothing":     {archive(view("K\x00J\x00\x00\x00\x40\x85K\x00\x85"), nil), fault.ErrFormat, "strides [0]"},
		"a negative size":        {archive(view("K\x00J\xff\xff\xff\xff\x85K\x01\x85"), nil), fault.ErrFormat, "not made of"},
		"a negative offset":      {archive(view("J\xff\xff\xff\xffK\x01\x85K\x01\x85"), nil), fault.ErrFormat, "element -1"},
		"a huge size":            {archive(view("K\x00\x8a\x07\x00\x00\x00\x00\x00\x00\x7f\x85K\x01\x85"), nil), fault.ErrFormat, "not made of"},
		"one argument":           {archive(proto+"ctorch._utils\n_rebuild_tensor\nK\x00\x85R.", nil), fault.ErrFormat, "1 arguments"},
		"an empty stack":         {archive(proto+"\x86.", nil), fault.ErrFormat, ""},
		"no mark":                {archive(proto+"K\x01t.", nil), fault.ErrFormat, ""},
		"a mark for a value":     {archive(proto+"(\x85.", nil), fault.ErrFormat, ""},
		"a value from nowhere":   {archive(proto+"h\x05.", nil), fault.ErrFormat, ""},
		"kept far away":          {archive(proto+"Nr\xff\xff\xff\x7f.", nil), fault.ErrFormat, ""},
		"a long string":          {archive(proto+"X\xff\xff\xff\x01abc.", nil), fault.ErrFormat, ""},
		"compressed":             {archive(view("K\x00)"), func(h *zip.FileHeader) { h.Method = zip.Deflate }), fault.ErrUnsupported, "compressed"},
		"no pickle":              {archive("", func(h *zip.FileHeader) { h.Name = "y" + h.Name[1:] + "z" }), fault.ErrFormat, "data.pkl"},
		"nothing":                {nil, fault.ErrFormat, ""},
		"a safetensors file":     {read(t, "expected.safetensors"), fault.ErrFormat, "neither"},
		"big-endian":             {bytes.Replace(legacy, []byte("little_endianq\x02\x88"), []byte("little_endianq\x02\x89"), 1), fault.ErrUnsupported, "big-endian"},
	} {
		_, err := pytorch.Parse(c.file)
		if !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.err, c.text)
		}
	}
}

// TestTruncated cuts files everywhere: each cut is an error, of parsing or of reading.
func TestTruncated(t *testing.T) {
	for _, name := range containers {
		data := read(t, name)
		for n := range data {
			if _, err := pytorch.Parse(data[:n]); !errors.Is(err, fault.ErrFormat) {
				t.Fatalf("%s, %d of %d bytes: %v, want ErrFormat", name, n, len(data), err)
			}
		}
		for n := range data {
			f, err := pytorch.NewFile(filetest.FailingReader{Data: data, N: int64(n)}, int64(len(data)))
			if err == nil {
				for _, tensor := range f.Names() {
					if _, e := f.Float32(tensor); e != nil && !errors.Is(e, fault.ErrType) {
						err = e
					}
				}
			}
			// The last tensors are integers, which nothing reads.
			if err == nil && n < len(data)/2 && name == "legacy.bin" {
				t.Fatalf("%s fails from byte %d on, and nothing noticed", name, n)
			}
		}
	}
}

// TestMemory bounds what hostile pickles take: objects, kept values, strings and marks.
func TestMemory(t *testing.T) {
	const n = 1 << 18
	for name, pickle := range map[string]string{
		"lists":   proto + "(" + strings.Repeat("](t0", n/4),
		"kept":    proto + "N" + strings.Repeat("\x94", n),
		"dicts":   proto + "]" + strings.Repeat("}a", n/2) + ".",
		"tuples":  proto + "]" + strings.Repeat("N\x85a", n/3) + ".",
		"strings": proto + "]" + strings.Repeat("\x8c\x01xa", n/4) + ".",
		"ids":     state + strings.Repeat(floats, n/len(floats)),
	} {
		file := archive(pickle, nil)
		filetest.Memory(t, name, len(file), func() (*pytorch.File, error) { return pytorch.Parse(file) })
	}
	// A file that claims much and holds little.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	claim := binary.LittleEndian.AppendUint32([]byte(proto+"X"), 1<<25)
	if _, err := pytorch.Parse(archive(string(claim), nil)); !errors.Is(err, fault.ErrFormat) {
		t.Errorf("a string of 32 MiB in a file of a few bytes: %v", err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d bytes", took)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range containers {
		f.Add(read(f, name))
	}
	f.Add(archive(view("K\x00K\x02K\x02\x86K\x01K\x02\x86"), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := pytorch.Parse(data)
		if err != nil {
			return
		}
		for _, name := range file.Names() {
			info, _ := file.Info(name)
			x, err := file.Float32(name)
			if err == nil && len(x) != info.Len() {
				t.Fatalf("%q: %d elements of %v", name, len(x), info)
			}
			if err != nil && !errors.Is(err, fault.ErrType) {
				t.Fatalf("%q: %v", name, err)
			}
		}
	})
}
