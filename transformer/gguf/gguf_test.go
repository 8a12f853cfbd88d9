package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/ref"
	"github.com/avoformer/avoformer/transformer/internal/datafile"
	"github.com/avoformer/avoformer/transformer/internal/datafile/filetest"
)

func open(t *testing.T) *File {
	f, err := Open("testdata/formats.gguf")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestFormats compares each format's values with those of the gguf package, bit by bit.
func TestFormats(t *testing.T) {
	f := open(t)
	formats := 0
	for _, name := range f.Names() {
		if strings.HasSuffix(name, "/f32") {
			continue
		}
		formats++
		t.Run(name, func(t *testing.T) {
			info, _ := f.Info(name)
			if info.Type.String() != name {
				t.Errorf("type %v", info.Type)
			}
			wantInfo, _ := f.Info(name + "/f32")
			if !slices.Equal(info.Shape, wantInfo.Shape) {
				t.Errorf("shape %v, want %v", info.Shape, wantInfo.Shape)
			}
			want, err := f.Float32(name + "/f32")
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Float32(name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("element %d is %v, want %v", i, got[i], want[i])
				}
			}
		})
	}
	if formats != len(dequantizers) {
		t.Errorf("%d formats in the file, %d known", formats, len(dequantizers))
	}
}

// TestOracle holds the reader of blocks that products are compared with to the values of the gguf
// package, and packed matrices, of the memory that they take, too.
func TestOracle(t *testing.T) {
	f, held := open(t), 0
	for _, name := range f.Names() {
		format, err := kernels.ParseFormat(strings.ToLower(name))
		if elements, _ := format.Block(); err != nil || elements < 32 {
			continue
		}
		held++
		info, _ := f.Info(name)
		raw, err := f.Bytes(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := f.Float32(name + "/f32")
		if err != nil {
			t.Fatal(err)
		}
		n, k := info.Shape[0], info.Shape[1]
		got := ref.Blocks(format.String(), raw).Float32()
		packed, row := kernels.PackBBlocks(format, n, k, func(j int, dst []byte) { copy(dst, raw[j*len(dst):]) }), make([]float32, k)
		for i, v := range want {
			if i%k == 0 {
				packed.Column(row, i/k)
			}
			if math.Float32bits(got[i]) != math.Float32bits(v) || math.Float32bits(row[i%k]) != math.Float32bits(v) {
				t.Fatalf("%s: element %d is %v, packed %v, want %v", name, i, got[i], row[i%k], v)
			}
		}
		many := kernels.PackBBlocks(format, 64, 256, func(int, []byte) {})
		if file := info.Type.Bytes(64 * 256); float64(many.Bytes()) > 1.05*float64(file) {
			t.Errorf("%s: %d bytes packed, %d in a file", name, many.Bytes(), file)
		}
	}
	if want := 12; held != want {
		t.Errorf("%d formats, want %d", held, want)
	}
}

// TestReadFloat32 reads pieces, within blocks and across chunks, and compares them with the whole.
func TestReadFloat32(t *testing.T) {
	f := open(t)
	for _, name := range f.Names() {
		want, err := f.Float32(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, piece := range [][2]int{{0, len(want)}, {0, 1}, {len(want) / 3, len(want) / 2}, {len(want) - 1, len(want)}, {5, 5}} {
			from, to := min(piece[0], len(want)), min(piece[1], len(want))
			got := make([]float32, to-from)
			if err := f.ReadFloat32(got, name, from); err != nil {
				t.Fatal(err)
			}
			for i, v := range got {
				if math.Float32bits(v) != math.Float32bits(want[from+i]) {
					t.Fatalf("%s: element %d is %g, want %g", name, from+i, v, want[from+i])
				}
			}
		}
		for _, from := range []int{-1, len(want)} {
			if err := f.ReadFloat32(make([]float32, 1), name, from); err == nil {
				t.Errorf("%s: no error for element %d", name, from)
			}
		}
	}
	if err := f.ReadFloat32(nil, "none", 0); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("a tensor that is not there: %v", err)
	}
	var b bytes.Buffer // of more than a chunk
	large := make([]float32, 3*chunk)
	for i := range large {
		large[i] = float32(i)
	}
	binary.Write(&b, binary.LittleEndian, large)
	g := &File{r: datafile.Reader{ReaderAt: bytes.NewReader(b.Bytes())}, entries: map[string]*entry{}}
	g.entries["x"] = &entry{Info: Info{F32, []int{len(large)}}, file: g, end: int64(b.Len())}
	got := make([]float32, len(large)-7)
	if err := g.ReadFloat32(got, "x", 7); err != nil || !slices.Equal(got, large[7:]) {
		t.Errorf("several chunks: error %v", err)
	}
}

func TestMetadata(t *testing.T) {
	f := open(t)
	if f.Version() != 3 {
		t.Errorf("version %d", f.Version())
	}
	for key, want := range map[string]any{
		"general.architecture": "test",
		"t.u8":                 uint8(200), "t.i8": int8(-100), "t.u16": uint16(60000), "t.i16": int16(-30000),
		"t.u32": uint32(4000000000), "t.i32": int32(-2000000000), "t.u64": uint64(1<<63 + 1), "t.i64": int64(math.MinInt64),
		"t.f32": float32(1.5), "t.f64": 0.1, "t.bool": true, "t.text": "café",
		"t.texts": []string{"a", "", "Ġthe"}, "t.ints": []int32{1, -2, 3},
		"t.floats": []float32{0.5, -1}, "t.bools": []bool{true, false},
	} {
		if got, ok := f.Value(key); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("Value(%q) = %#v, %v, want %#v", key, got, ok, want)
		}
	}
	for key, want := range map[string]int64{"t.u8": 200, "t.i8": -100, "t.u16": 60000, "t.i16": -30000, "t.u32": 4000000000, "t.i32": -2000000000, "t.i64": math.MinInt64} {
		if got, err := f.Int(key); err != nil || got != want {
			t.Errorf("Int(%q) = %d, %v, want %d", key, got, err, want)
		}
	}
	for key, want := range map[string]float64{"t.f32": 1.5, "t.f64": 0.1} {
		if got, err := f.Float(key); err != nil || got != want {
			t.Errorf("Float(%q) = %v, %v, want %v", key, got, err, want)
		}
	}
	if got, err := f.Ints("t.ints"); err != nil || !slices.Equal(got, []int64{1, -2, 3}) {
		t.Errorf("Ints = %v, %v", got, err)
	}
	if got, err := f.Floats("t.floats"); err != nil || !slices.Equal(got, []float64{0.5, -1}) {
		t.Errorf("Floats = %v, %v", got, err)
	}
	if got, err := f.Texts("t.texts"); err != nil || !slices.Equal(got, []string{"a", "", "Ġthe"}) {
		t.Errorf("Texts = %q, %v", got, err)
	}
	if got, err := f.Text("t.text"); err != nil || got != "café" {
		t.Errorf("Text = %q, %v", got, err)
	}
	if got, err := f.Bool("t.bool"); err != nil || !got {
		t.Errorf("Bool = %v, %v", got, err)
	}
	errs := map[string]error{}
	_, errs["Int of a string"] = f.Int("t.text")
	_, errs["Int of 2^63+1"] = f.Int("t.u64")
	_, errs["Ints of strings"] = f.Ints("t.texts")
	_, errs["Float of an integer"] = f.Float("t.u8")
	_, errs["Floats of integers"] = f.Floats("t.ints")
	_, errs["Text of strings"] = f.Text("t.texts")
	_, errs["Texts of a string"] = f.Texts("t.text")
	_, errs["Bool of an integer"] = f.Bool("t.u8")
	for what, err := range errs {
		if !errors.Is(err, fault.ErrType) {
			t.Errorf("%s: %v, want fault.ErrType", what, err)
		}
	}
	if _, err := f.Int("t.none"); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("Int of an absent key: %v, want fault.ErrAbsent", err)
	}
	if _, err := f.Float32("none"); !errors.Is(err, fault.ErrAbsent) {
		t.Errorf("Float32 of an absent tensor: %v, want fault.ErrAbsent", err)
	}
}

// A builder makes files by hand, of any version.
type builder struct {
	bytes.Buffer
	version int
}

func (b *builder) put(xs ...any) *builder {
	for _, x := range xs {
		switch x := x.(type) {
		case string:
			b.count(int64(len(x)))
			b.WriteString(x)
		case int: // a count, as is an int64
			b.count(int64(x))
		case int64:
			b.count(x)
		default:
			binary.Write(b, binary.LittleEndian, x)
		}
	}
	return b
}

func (b *builder) count(n int64) {
	if b.version == 1 {
		binary.Write(b, binary.LittleEndian, uint32(n))
		return
	}
	binary.Write(b, binary.LittleEndian, uint64(n))
}

// start returns a file of that version up to the first key.
func start(version int, tensors, keys int64) *builder {
	b := &builder{version: version}
	b.WriteString(magic)
	return b.put(uint32(version), tensors, keys)
}

// data pads to the alignment and appends n bytes.
func (b *builder) data(alignment, n int) []byte {
	for b.Len()%alignment != 0 {
		b.WriteByte(0)
	}
	b.Write(make([]byte, n))
	return b.Bytes()
}

func u32(x uint32) uint32 { return x }
func u64(x uint64) uint64 { return x }

// small returns a file with a key of each sort and two tensors.
func small(version int) []byte {
	b := start(version, 2, 4)
	b.put("general.alignment", u32(4), u32(64))
	b.put("name", u32(8), "x").put("list", u32(9), u32(8), 2, "a", "bc").put("flag", u32(7), byte(1))
	b.put("a", u32(2), 3, 2, u32(0), u64(0)).put("b", u32(1), 32, u32(8), u64(64))
	raw := b.data(64, 64+34)
	binary.LittleEndian.PutUint32(raw[len(raw)-98+8:], math.Float32bits(2.5))
	raw[len(raw)-33] = 0x3c // the scale 1
	raw[len(raw)-1] = 0xff
	return raw
}

// TestVersions reads the same file in all versions.
func TestVersions(t *testing.T) {
	for version := 1; version <= 3; version++ {
		f, err := Parse(small(version))
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if list, err := f.Texts("list"); err != nil || !slices.Equal(list, []string{"a", "bc"}) {
			t.Errorf("version %d: list = %q, %v", version, list, err)
		}
		info, ok := f.Info("a")
		if !ok || info.Type != F32 || !slices.Equal(info.Shape, []int{2, 3}) {
			t.Errorf("version %d: a is %v, %v", version, info, ok)
		}
		if a, err := f.Float32("a"); err != nil || !slices.Equal(a, []float32{0, 0, 2.5, 0, 0, 0}) {
			t.Errorf("version %d: a = %v, %v", version, a, err)
		}
		if b, err := f.Float32("b"); err != nil || len(b) != 32 || b[31] != -1 || b[0] != 0 {
			t.Errorf("version %d: b = %v, %v", version, b, err)
		}
	}
}

// tensor returns a file of one tensor of F32 called x, with n bytes of data.
func tensor(shape []any, kind uint32, offset uint64, n int) []byte {
	b := start(3, 1, 0).put("x", u32(uint32(len(shape)))).put(shape...)
	return b.put(kind, offset).data(32, n)
}

func key(xs ...any) []byte { return start(3, 0, 1).put(xs...).Bytes() }

// hostile are files that must be refused.
var hostile = map[string][]byte{
	"empty":              {},
	"short":              []byte("GGU"),
	"no magic":           []byte("GGML\x03\x00\x00\x00"),
	"version 0":          start(0, 0, 0).Bytes(),
	"version 4":          start(4, 0, 0).Bytes(),
	"big-endian":         []byte("GGUF\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
	"endless tensors":    start(3, math.MaxInt64, 0).Bytes(),
	"endless keys":       start(3, 0, math.MaxInt64).Bytes(),
	"negative counts":    start(3, -1, -1).Bytes(),
	"a key is missing":   start(3, 0, 1).put(0, u64(0), u32(0)).Bytes()[:32],
	"key endless":        key(int64(math.MaxInt64), u64(0), u64(0)),
	"key too long":       key(strings.Repeat("k", maxName+1), u32(0), byte(0)),
	"key twice":          start(3, 0, 2).put("k", u32(0), byte(0), "k", u32(0), byte(0)).Bytes(),
	"unknown kind":       key("k", u32(13), u64(0)),
	"kind of the list":   key("k", u32(9), u32(13), 0),
	"list endless":       key("k", u32(9), u32(0), int64(math.MaxInt64), u64(0)),
	"list wraps":         key("k", u32(9), u32(10), int64(1<<61), u64(0)),
	"strings endless":    key("k", u32(9), u32(8), int64(1<<60), u64(0)),
	"bool 2":             key("k", u32(7), byte(2)),
	"list of bool 2":     key("k", u32(9), u32(7), 1, byte(2)),
	"alignment 0":        start(3, 0, 1).put(alignmentKey, u32(4), u32(0)).Bytes(),
	"alignment 24":       start(3, 0, 1).put(alignmentKey, u32(4), u32(24)).Bytes(),
	"alignment text":     start(3, 0, 1).put(alignmentKey, u32(8), "32").Bytes(),
	"alignment 2^31":     start(3, 0, 1).put(alignmentKey, u32(4), u32(1<<31)).Bytes(),
	"unknown type":       tensor([]any{1}, 99, 0, 4),
	"type removed":       tensor([]any{32}, 4, 0, 24),
	"five dimensions":    tensor([]any{1, 1, 1, 1, 1}, 0, 0, 4),
	"data missing":       tensor([]any{2}, 0, 0, 4),
	"offset beyond":      tensor([]any{1}, 0, 32, 4),
	"offset unaligned":   tensor([]any{1}, 0, 4, 64),
	"offset huge":        tensor([]any{1}, 0, math.MaxUint64-31, 4),
	"shape wraps to 1":   tensor([]any{int64(1 << 32), int64(1 << 32)}, 0, 0, 4),
	"shape negative":     tensor([]any{-1}, 0, 0, 4),
	"shape huge":         tensor([]any{int64(math.MaxInt64)}, 0, 0, 4),
	"half a block":       tensor([]any{16, 2}, 8, 0, 34),
	"scalar of blocks":   tensor(nil, 8, 0, 34),
	"rows of empty wrap": tensor([]any{0, -1}, 0, 0, 0),
	"name twice": start(3, 2, 0).put("x", u32(0), u32(0), u64(0)).put("x", u32(0), u32(0), u64(32)).
		data(32, 64),
	"overlap": start(3, 2, 0).put("x", u32(1), 16, u32(0), u64(0)).put("y", u32(1), 8, u32(0), u64(32)).
		data(32, 64),
}

func TestHostileFiles(t *testing.T) {
	for name, data := range hostile {
		t.Run(name, func(t *testing.T) {
			f, err := Parse(data)
			if !errors.Is(err, fault.ErrFormat) {
				t.Errorf("Parse gave %v, %v, want fault.ErrFormat", f, err)
			}
			t.Log(err)
		})
	}
}

// TestListOfLists: gguf for Python writes such metadata, which is well-formed and not supported.
func TestListOfLists(t *testing.T) {
	data := key("k", u32(9), u32(9), u64(2), u32(5), u64(2), int32(1), int32(2), u32(5), u64(1), int32(3))
	if f, err := Parse(data); !errors.Is(err, fault.ErrUnsupported) || errors.Is(err, fault.ErrFormat) {
		t.Errorf("Parse gave %v, %v, want fault.ErrUnsupported", f, err)
	}
}

// TestAccepted are files that look odd and are well.
func TestAccepted(t *testing.T) {
	for name, data := range map[string][]byte{
		"nothing":         start(3, 0, 0).Bytes(),
		"empty tensor":    tensor([]any{0, 5}, 0, 0, 0),
		"scalar":          tensor(nil, 0, 0, 4),
		"bytes after":     tensor([]any{1}, 0, 0, 100),
		"a gap":           tensor([]any{1}, 0, 64, 68),
		"unknown to us":   tensor([]any{256}, 16, 0, 66),
		"an empty string": key("", u32(8), ""),
	} {
		if _, err := Parse(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := Parse(tensor([]any{256}, 16, 0, 66))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Float32("x"); !errors.Is(err, fault.ErrType) || !strings.Contains(err.Error(), "IQ2_XXS") {
		t.Errorf("Float32 of IQ2_XXS: %v, want fault.ErrType", err)
	}
}

// TestTruncated cuts a file at every byte, as a file of that size and as one whose reader ends
// early.
func TestTruncated(t *testing.T) {
	whole := small(3)
	for n := range len(whole) {
		if _, err := Parse(whole[:n]); !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%d of %d bytes: error %v, want fault.ErrFormat", n, len(whole), err)
		}
		f, err := NewFile(bytes.NewReader(whole[:n]), int64(len(whole)))
		for _, name := range []string{"a", "b"} {
			if err == nil {
				_, err = f.Float32(name)
			}
		}
		// Between the tensors lie bytes that nobody reads.
		if !errors.Is(err, fault.ErrFormat) {
			t.Errorf("a reader of %d of %d bytes: error %v, want fault.ErrFormat", n, len(whole), err)
		}
	}
}

// TestClaimsAreNotAllocated reads files that claim much, from a reader that is said to hold it and
// does not.
func TestClaimsAreNotAllocated(t *testing.T) {
	for name, data := range map[string][]byte{
		"text":    key("k", u32(8), int64(1<<33)),
		"name":    key(int64(1 << 33)),
		"numbers": key("k", u32(9), u32(10), int64(1<<33)),
		"bools":   key("k", u32(9), u32(7), int64(1<<33)),
		"strings": key("k", u32(9), u32(8), int64(1<<33)),
		"keys":    start(3, 0, int64(1<<33)).Bytes(),
		"tensors": start(3, int64(1<<33), 0).Bytes(),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := NewFile(bytes.NewReader(data), 1<<40)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, fault.ErrFormat) {
			t.Errorf("%s: error %v, want fault.ErrFormat", name, err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<18 {
			t.Errorf("%s: %d bytes allocated for what is not there", name, got)
		}
	}
}

// TestMemory parses files of a megabyte that is all header, in the ways that make most of each
// byte. What is kept is within a small factor of the file's size.
func TestMemory(t *testing.T) {
	const size = 1 << 20
	keys := start(3, 0, size/14)
	for i := range size / 14 {
		keys.put(fmt.Sprintf("%x", i), u32(0), byte(1))
	}
	tensors := start(3, size/30, 0)
	for i := range size / 30 {
		tensors.put(fmt.Sprintf("%x", i), u32(1), 0, u32(0), u64(0))
	}
	for name, data := range map[string][]byte{
		"keys":    keys.Bytes(),
		"tensors": tensors.Bytes(),
		"strings": start(3, 0, 1).put("k", u32(9), u32(8), size/8).put(make([]byte, size)).Bytes(),
		"text":    start(3, 0, 1).put("k", u32(8), string(make([]byte, size))).Bytes(),
		"numbers": start(3, 0, 1).put("k", u32(9), u32(0), size).put(make([]byte, size)).Bytes(),
	} {
		filetest.Memory(t, name, len(data), func() (*File, error) {
			f, err := Parse(data)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return f, err
		})
	}
}

func TestReadErrorsAreReported(t *testing.T) {
	data := small(3)
	for n := range int64(len(data)) {
		f, err := NewFile(filetest.FailingReader{Data: data, N: n}, int64(len(data)))
		if err == nil {
			_, err = f.Bytes("b")
		}
		if !errors.Is(err, filetest.ErrDisk) {
			t.Errorf("a reader that fails after %d bytes: %v", n, err)
		}
	}
}

func TestDequantizeChecks(t *testing.T) {
	for _, c := range []struct {
		kind     Type
		elements int
		bytes    int
		want     error
	}{
		{Q8_0, 64, 68, nil}, {Q8_0, 64, 67, fault.ErrFormat}, {Q8_0, 64, 69, fault.ErrFormat}, {Q8_0, 63, 68, fault.ErrFormat},
		{Q4_K, 256, 144, nil}, {Q4_K, 32, 18, fault.ErrFormat}, {16, 256, 66, fault.ErrType}, {99, 1, 1, fault.ErrType},
		{Q6_K, 0, 0, nil},
	} {
		if err := Dequantize(c.kind, make([]float32, c.elements), make([]byte, c.bytes)); !errors.Is(err, c.want) {
			t.Errorf("%d elements and %d bytes of %v: %v, want %v", c.elements, c.bytes, c.kind, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, data := range hostile {
		f.Add(data)
	}
	for version := 1; version <= 3; version++ {
		f.Add(small(version))
	}
	if data, err := os.ReadFile("testdata/formats.gguf"); err == nil {
		f.Add(data[:4096])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			if !errors.Is(err, fault.ErrFormat) && !errors.Is(err, fault.ErrUnsupported) {
				t.Fatalf("error %v, want fault.ErrFormat or fault.ErrUnsupported", err)
			}
			return
		}
		total := 0
		for _, name := range file.Names() {
			info, _ := file.Info(name)
			raw, err := file.Bytes(name)
			if err != nil {
				t.Fatalf("Bytes(%q): %v", name, err)
			}
			if want := info.Len() / info.Type.Block() * layouts[info.Type].bytes; len(raw) != want {
				t.Fatalf("%q: %d bytes for %v", name, len(raw), info)
			}
			total += len(raw)
			if _, err := file.Float32(name); err != nil && !errors.Is(err, fault.ErrType) {
				t.Fatalf("Float32(%q): %v", name, err)
			}
		}
		if total > len(data) {
			t.Fatalf("%d bytes of tensors out of %d bytes of file", total, len(data))
		}
		for _, key := range file.Keys() {
			file.Int(key)
			file.Ints(key)
			file.Floats(key)
		}
	})
}

// TestIs recognizes files of this format by their first bytes.
func TestIs(t *testing.T) {
	for path, want := range map[string]bool{"testdata/formats.gguf": true, "gguf.go": false, "testdata": false, "none.gguf": false} {
		if got := Is(path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}
