package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/transformer/internal/datafile/filetest"
)

// file returns a safetensors file with the given header and data.
func file(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestRoundTrip(t *testing.T) {
	want := map[string]Tensor{
		"b.weight": {[]int{2, 3}, []float32{1, -2.5, 3e-40, float32(math.Inf(-1)), 0, 6}},
		"a":        {nil, []float32{7}},
		"empty":    {[]int{0, 4}, []float32{}},
	}
	var buf bytes.Buffer
	if err := Write(&buf, want, map[string]string{"config": `{"n": 1}`}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := f.Names(); !slices.Equal(got, []string{"a", "b.weight", "empty"}) {
		t.Errorf("Names() = %q", got)
	}
	if got := f.Metadata()["config"]; got != `{"n": 1}` {
		t.Errorf("metadata config = %q", got)
	}
	for name, w := range want {
		info, ok := f.Info(name)
		if !ok || info.DType != F32 || !slices.Equal(info.Shape, w.Shape) {
			t.Errorf("Info(%q) = %v, %v", name, info, ok)
		}
		if got, err := f.Float32(name); err != nil || !slices.Equal(got, w.Data) {
			t.Errorf("Float32(%q) = %v, %v, want %v", name, got, err, w.Data)
		}
	}
	if _, err := f.Float32("c"); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("Float32 of an absent tensor: %v, want fault.ErrAbsent", err)
	}
	if _, err := f.Int64("a"); !errors.Is(err, fault.ErrType) {
		t.Errorf("Int64 of an F32 tensor: %v, want fault.ErrType", err)
	}
}

// TestBytesOnDisk fixes the bytes themselves, so that reading and writing cannot agree on a wrong
// byte order, whatever the machine's own.
func TestBytesOnDisk(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, map[string]Tensor{"x": {[]int{1}, []float32{1.5}}}, nil); err != nil {
		t.Fatal(err)
	}
	header := `{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}  `
	if want := file(header, []byte{0, 0, 0xc0, 0x3f}); !bytes.Equal(buf.Bytes(), want) {
		t.Errorf("wrote %q, want %q", buf.Bytes(), want)
	}
}

func TestElementTypes(t *testing.T) {
	for _, c := range []struct {
		dtype DType
		data  []byte
		want  float32
	}{
		{F16, []byte{0x00, 0x3c}, 1},
		{F16, []byte{0x01, 0x00}, 1.0 / (1 << 24)},
		{F16, []byte{0xff, 0x83}, -1023.0 / (1 << 24)},
		{F16, []byte{0xff, 0x7b}, 65504},
		{F16, []byte{0x00, 0xfc}, float32(math.Inf(-1))},
		{BF16, []byte{0x80, 0xbf}, -1},
		{F64, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}, 1.5},
	} {
		header := `{"x":{"dtype":"` + string(c.dtype) + `","shape":[],"data_offsets":[0,` + string('0'+rune(len(c.data))) + `]}}`
		f, err := Parse(file(header, c.data))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Float32("x"); err != nil || got[0] != c.want {
			t.Errorf("%s % x = %v, %v, want %v", c.dtype, c.data, got, err, c.want)
		}
	}
	f, err := Parse(file(`{"x":{"dtype":"F16","shape":[],"data_offsets":[0,2]}}`, []byte{1, 0x7c}))
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := f.Float32("x"); got[0] == got[0] {
		t.Errorf("half-precision NaN = %v", got)
	}
	for _, c := range []struct {
		dtype DType
		data  []byte
		want  int64
	}{
		{"BOOL", []byte{1}, 1}, {"U8", []byte{200}, 200}, {"I8", []byte{200}, -56},
		{"I16", []byte{0xfe, 0xff}, -2}, {"U16", []byte{0xfe, 0xff}, 65534},
		{"I32", []byte{0, 0, 0, 0x80}, math.MinInt32}, {"U32", []byte{0, 0, 0, 0x80}, 1 << 31},
		{"I64", []byte{1, 0, 0, 0, 0, 0, 0, 0x80}, math.MinInt64 + 1}, {"U64", []byte{1, 0, 0, 0, 1, 0, 0, 0}, 1<<32 + 1},
	} {
		header := `{"x":{"dtype":"` + string(c.dtype) + `","shape":[1],"data_offsets":[0,` + string('0'+rune(len(c.data))) + `]}}`
		f, err := Parse(file(header, c.data))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.Int64("x"); err != nil || got[0] != c.want {
			t.Errorf("%s % x = %v, %v, want %v", c.dtype, c.data, got, err, c.want)
		}
	}
}

// hostile are files that must be refused.
var hostile = map[string][]byte{
	"empty":              {},
	"short":              {1, 2, 3},
	"header longer":      binary.LittleEndian.AppendUint64(nil, 9),
	"header huge":        binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
	"header negative":    binary.LittleEndian.AppendUint64(nil, 1<<63),
	"no object":          file(`[]`, nil),
	"no JSON":            file(`{"x"`, nil),
	"trailing text":      file(`{} {}`, nil),
	"no offsets":         file(`{"x":{"dtype":"F32","shape":[]}}`, make([]byte, 4)),
	"offsets reversed":   file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, make([]byte, 4)),
	"offset negative":    file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, make([]byte, 4)),
	"offset beyond":      file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 4)),
	"offset overflow":    file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,99999999999999999999]}}`, make([]byte, 4)),
	"shape too large":    file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, make([]byte, 4)),
	"shape too small":    file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}`, make([]byte, 8)),
	"shape negative":     file(`{"x":{"dtype":"F32","shape":[-1,-1],"data_offsets":[0,4]}}`, make([]byte, 4)),
	"shape wraps to 4":   file(`{"x":{"dtype":"F32","shape":[4294967296,4294967296,4294967297],"data_offsets":[0,4]}}`, make([]byte, 4)),
	"shape wraps to 0":   file(`{"x":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, nil),
	"shape fractional":   file(`{"x":{"dtype":"F32","shape":[0.5],"data_offsets":[0,4]}}`, make([]byte, 4)),
	"data after":         file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 8)),
	"gap":                file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)),
	"overlap":            file(`{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, make([]byte, 8)),
	"name twice":         file(`{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, make([]byte, 2)),
	"metadata no object": file(`{"__metadata__":3}`, nil),
	"metadata numbers":   file(`{"__metadata__":{"a":3}}`, nil),
	"no shape":           file(`{"x":{"dtype":"F32","data_offsets":[0,4]}}`, make([]byte, 4)),
	"shape null":         file(`{"x":{"dtype":"F32","shape":null,"data_offsets":[0,4]}}`, make([]byte, 4)),
	"shape endless":      file(`{"x":{"dtype":"F32","shape":[0`+strings.Repeat(",0", 100000)+`],"data_offsets":[0,0]}}`, nil),
	"offsets endless":    file(`{"x":{"dtype":"F32","shape":[0],"data_offsets":[0`+strings.Repeat(",0", 100000)+`]}}`, nil),
	"deep nesting":       file(`{"x":`+strings.Repeat("[", 100000)+`}`, nil),
}

func TestHostileFiles(t *testing.T) {
	for name, data := range hostile {
		t.Run(name, func(t *testing.T) {
			if f, err := Parse(data); !errors.Is(err, fault.ErrFormat) {
				t.Errorf("Parse gave %v, %v, want fault.ErrFormat", f, err)
			}
		})
	}
}

// TestUnknownDType: what cannot be converted fails when it is asked for, and keeps nobody from the
// rest.
func TestUnknownDType(t *testing.T) {
	f, err := Parse(file(`{"x":{"dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"z":{"dtype":"F4","shape":[4611686018427387904,16],"data_offsets":[8,9]}}`, make([]byte, 9)))
	if err != nil {
		t.Fatal(err)
	}
	if y, err := f.Float32("y"); err != nil || len(y) != 1 {
		t.Errorf("y: %v, %v", y, err)
	}
	for _, name := range []string{"x", "z"} {
		if _, err := f.Float32(name); !errors.Is(err, fault.ErrType) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s as float32: error %v, want fault.ErrType", name, err)
		}
		if _, err := f.Int64(name); !errors.Is(err, fault.ErrType) {
			t.Errorf("%s as int64: error %v, want fault.ErrType", name, err)
		}
		if raw, err := f.Bytes(name); err != nil || len(raw) == 0 {
			t.Errorf("bytes of %s: %v, %v", name, raw, err)
		}
	}
}

// TestReadFloat32 reads a tensor in pieces.
func TestReadFloat32(t *testing.T) {
	f, err := Parse(file(`{"x":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}`, []byte{0, 0, 0x80, 0x3f, 0, 0x40}))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, 2)
	if err := f.ReadFloat32(x, "x", 1); err != nil || x[0] != 1 || x[1] != 2 {
		t.Errorf("elements 1 and 2: %v, %v", x, err)
	}
	for _, from := range []int{-1, 2} {
		if err := f.ReadFloat32(x, "x", from); err == nil {
			t.Errorf("no error from element %d on", from)
		}
	}
	if err := f.ReadFloat32(x, "y", 0); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("absent: %v", err)
	}
}

// TestReadData reads the bytes of a tensor in pieces.
func TestReadData(t *testing.T) {
	f, err := Parse(file(`{"x":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]}}`, []byte{1, 2, 3, 4, 5, 6}))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]byte, 4)
	if err := f.ReadData(x, "x", 1); err != nil || !bytes.Equal(x, []byte{3, 4, 5, 6}) {
		t.Errorf("elements 1 and 2: %v, %v", x, err)
	}
	for _, from := range []int{-1, 2, 4} {
		if err := f.ReadData(x, "x", from); err == nil {
			t.Errorf("no error from element %d on", from)
		}
	}
	if err := f.ReadData(x, "y", 0); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("absent: %v", err)
	}
}

// lyingReader holds 8 bytes and claims to be of any size.
type lyingReader struct{ r *bytes.Reader }

func (l lyingReader) ReadAt(p []byte, off int64) (int, error) { return l.r.ReadAt(p, off) }

// TestClaimsAreNotAllocated reads a file that claims a 90 MB header, from a reader that is said to
// hold it and does not.
func TestClaimsAreNotAllocated(t *testing.T) {
	data := binary.LittleEndian.AppendUint64(nil, 90_000_000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := NewFile(lyingReader{bytes.NewReader(data)}, 1<<40)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, fault.ErrFormat) {
		t.Errorf("error %v, want fault.ErrFormat", err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated for a header that is not there", got)
	}
}

// TestMemory parses files of a megabyte that is all header, in the ways that make most of each
// byte. What is kept is within a small factor of the file's size.
func TestMemory(t *testing.T) {
	const size = 1 << 20
	fill := func(entry func(i int) string) []byte {
		var b strings.Builder
		b.WriteString("{")
		for i := 0; b.Len() < size; i++ {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(entry(i))
		}
		return []byte(b.String())
	}
	tensors := fill(func(i int) string {
		return fmt.Sprintf(`"%x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	})
	metadata := append([]byte(`{"__metadata__":`), fill(func(i int) string { return fmt.Sprintf(`"%x":""`, i) })...)
	for name, header := range map[string][]byte{
		"tensors":  append(tensors, '}'),
		"metadata": append(metadata, "}}"...),
		"zeros":    []byte(`{"x":{"dtype":"U8","shape":[0` + strings.Repeat(",0", size/2) + `],"data_offsets":[0,0]}}`),
		"nesting":  []byte(`{"x":` + strings.Repeat(`{"x":`, size/5) + `}`),
	} {
		data := file(string(header), nil)
		filetest.Memory(t, name, len(data), func() (*File, error) { return Parse(data) })
	}
}

// TestTruncated cuts a file at every byte, as a file of that size, and as one whose reader ends
// early.
func TestTruncated(t *testing.T) {
	whole := file(`{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"y":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}`, make([]byte, 9))
	for n := range len(whole) {
		if _, err := Parse(whole[:n]); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%d of %d bytes: error %v, want fault.ErrFormat", n, len(whole), err)
		}
		f, err := NewFile(bytes.NewReader(whole[:n]), int64(len(whole)))
		if err == nil {
			_, err = f.Float32("x")
		}
		if err == nil {
			_, err = f.Int64("y")
		}
		if !errors.Is(err, fault.ErrFormat) {
			t.Errorf("a reader of %d of %d bytes: error %v, want fault.ErrFormat", n, len(whole), err)
		}
	}
}

func TestReadErrorsAreReported(t *testing.T) {
	data := file(`{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, make([]byte, 4))
	for _, n := range []int64{0, 8} {
		if _, err := NewFile(filetest.FailingReader{Data: data, N: n}, int64(len(data))); !errors.Is(err, filetest.ErrDisk) {
			t.Errorf("reader that fails after %d bytes: %v", n, err)
		}
	}
	if _, err := NewFile(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if err := Write(io.Discard, map[string]Tensor{"x": {[]int{2}, []float32{1}}}, nil); err == nil {
		t.Error("Write took a tensor whose data does not fit its shape")
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range hostile {
		f.Add(data)
	}
	f.Add(file(`{"__metadata__":{"a":"b"},"x":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]},"y":{"dtype":"I64","shape":[0],"data_offsets":[4,4]}}`, make([]byte, 4)))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		total := 0
		for _, name := range file.Names() {
			info, _ := file.Info(name)
			raw, err := file.Bytes(name)
			if err != nil {
				t.Fatalf("Bytes(%q): %v", name, err)
			}
			if size := info.DType.size(); size > 0 && len(raw) != info.Len()*size {
				t.Fatalf("%q: %d bytes for %v", name, len(raw), info)
			}
			total += len(raw)
			file.Float32(name)
			file.Int64(name)
		}
		if total > len(data) {
			t.Fatalf("%d bytes of tensors out of %d bytes of file", total, len(data))
		}
	})
}

// TestFloat8 compares all numbers of 8 bits with what torch makes of them;
// scripts/folders/float8.py wrote the file.
func TestFloat8(t *testing.T) {
	f, err := Open("testdata/float8.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for name, dtype := range map[string]DType{"e4m3": F8E4M3, "e5m2": F8E5M2} {
		got, err := f.Float32(name)
		want, wantErr := f.Float32(name + "_float32")
		raw, rawErr := f.Bytes(name)
		if err := errors.Join(err, wantErr, rawErr); err != nil || len(got) != 256 || len(want) != 256 {
			t.Fatalf("%s: %d and %d numbers, error %v", name, len(got), len(want), err)
		}
		if info, _ := f.Info(name); info.DType != dtype {
			t.Errorf("%s is %v", name, info.DType)
		}
		for i := range got {
			if int(raw[i]) != i {
				t.Fatalf("%s: byte %d is %d", name, i, raw[i])
			}
			same := math.Float32bits(got[i]) == math.Float32bits(want[i]) || math.IsNaN(float64(got[i])) && math.IsNaN(float64(want[i]))
			if !same {
				t.Errorf("%s: %#x is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
}
