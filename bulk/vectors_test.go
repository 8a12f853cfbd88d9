package bulk

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/half"
	"github.com/avoformer/avoformer/text"
)

// TestVectors compares the columns of vectors in fewer bits with values that were computed by hand.
func TestVectors(t *testing.T) {
	x := []float32{1, -2, 0.5, 0, 2, -0.25, 1.5, 0.01, -1}
	binary, err := BinaryVectors.values(x)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{0b10101011, 0}; !slices.Equal(binary[0].([]byte), want) {
		t.Errorf("signs %08b, want %08b", binary[0], want)
	}
	if mean, want := binary[1].(float32), float32(8.26/9); math.Abs(float64(mean-want)) > 1e-6 {
		t.Errorf("mean magnitude %g, want %g", mean, want)
	}
	int8s, err := Int8Vectors.values(x)
	if err != nil {
		t.Fatal(err)
	}
	if want := []int8{64, -127, 32, 0, 127, -16, 95, 1, -64}; !slices.Equal(int8s[0].([]int8), want) || int8s[1] != float32(2.0/127) {
		t.Errorf("%d times %g, want %d times %g", int8s[0], int8s[1], want, 2.0/127)
	}
}

// TestFloat16Range verifies that only a vector beyond the range of float16 is a dead letter.
func TestFloat16Range(t *testing.T) {
	r := text.Results[[]float32]{Outputs: [][]float32{{65504}, {-65520}, {1}}}
	r.Tokens, r.Cut, r.Windows = make([]int, 3), make([]bool, 3), make([]int, 3)
	out, err := results(r, nil, Float16Vectors.values)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range out {
		if (o.Err != nil) != (i == 1) || o.Err != nil && !errors.Is(o.Err, fault.ErrNotFinite) {
			t.Errorf("row %d: %v", i, o.Err)
		}
	}
}

// written returns the file of rows in a format.
func written(t *testing.T, format string, columns []Column, rows [][]any) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows")
	o, err := create(path, "test")
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(format, []io.Writer{o, io.Discard}, columns, "rows.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() error{func() error { return w.write(rows) }, w.close, o.finish, o.place} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestFloat16Formats reads the bits of float16 from each format: subnormal numbers, the largest
// ones, and zeros of both signs.
func TestFloat16Formats(t *testing.T) {
	want := []uint16{0, 0x8000, 1, 0x83ff, 0x0400, 0x3c01, 0x7bff, 0xfbff}
	columns := []Column{{Name: "embedding", Kind: Float16s, Length: 4}}
	rows := [][]any{{want[:4]}, {want[4:]}}
	same := func(format string, got []uint16) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %#04x, want %#04x", format, got, want)
		}
	}
	bitsOf := func(data []byte) (bits []uint16) {
		for ; len(data) >= 2; data = data[2:] {
			bits = append(bits, binary.LittleEndian.Uint16(data))
		}
		return bits
	}

	npy := written(t, "npy", columns, rows)
	if head := npy[:len(npy)-16]; !bytes.Contains(head, []byte("'<f2'")) || !bytes.Contains(head, []byte("(2, 4)")) {
		t.Errorf("npy: header %q", head)
	}
	same("npy", bitsOf(npy[len(npy)-16:]))

	arrows, err := ipc.NewFileReader(bytes.NewReader(written(t, "arrow", columns, rows)))
	if err != nil {
		t.Fatal(err)
	}
	batch, err := arrows.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint16
	for _, v := range batch.Column(0).(*array.FixedSizeList).ListValues().(*array.Float16).Values() {
		got = append(got, v.Uint16())
	}
	same("arrow", got)

	parquets, err := file.NewParquetReader(bytes.NewReader(written(t, "parquet", columns, rows)))
	if err != nil {
		t.Fatal(err)
	}
	if l := parquets.MetaData().Schema.Column(0).LogicalType().String(); l != "Float16" {
		t.Errorf("parquet: the logical type %s", l)
	}
	column, err := parquets.RowGroup(0).Column(0)
	if err != nil {
		t.Fatal(err)
	}
	elements := make([]parquet.FixedLenByteArray, len(want))
	if _, _, err := column.(*file.FixedLenByteArrayColumnChunkReader).ReadBatch(int64(len(want)), elements, nil, nil); err != nil {
		t.Fatal(err)
	}
	same("parquet", bitsOf(bytes.Join(toBytes(elements), nil)))

	got = nil
	for line := range bytes.Lines(written(t, "jsonl", columns, rows)) {
		var row struct{ Embedding []float32 }
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for _, x := range row.Embedding {
			h := half.ToFloat16(x)
			if half.Float16(h) != x {
				t.Errorf("jsonl: %g is not a float16", x)
			}
			got = append(got, h)
		}
	}
	same("jsonl", got)
}

func toBytes(v []parquet.FixedLenByteArray) (out [][]byte) {
	for _, b := range v {
		out = append(out, b)
	}
	return out
}

// TestCSV compares each kind of column with its text, null and special numbers included.
func TestCSV(t *testing.T) {
	day := int32(19782)
	columns := []Column{{Name: "embedding", Kind: Floats, Length: 2}, {Name: "half", Kind: Float16s, Length: 2}, {Name: "codes", Kind: Int8s, Length: 2},
		{Name: "bits", Kind: Bytes, Length: 2}, {Name: "a,b", Kind: String}, {Name: "json", Kind: JSON}, {Name: "n", Kind: Int64}, {Name: "x", Kind: Float64},
		{Name: "y", Kind: Float32}, {Name: "yes", Kind: Bool}, {Name: "blob", Kind: Bytes}, {Name: "day", Kind: Date},
		{Name: "at", Kind: Timestamp, Unit: time.Second, Zone: "UTC"}, {Name: "price", Kind: Decimal, Precision: 5, Scale: 2}}
	rows := [][]any{
		{[]float32{0.1, -2}, []uint16{0x3c00, 0x8001}, []int8{-127, 5}, []byte{0x80, 0x01}, `say "a", b`, `{"a":1}`, int64(-7), math.NaN(),
			float32(math.Inf(-1)), true, []byte{0, 255}, day, int64(0), big.NewInt(-5)},
		{[]float32{1, 1e-30}, []uint16{0, 0}, []int8{0, 0}, []byte{0, 0}, "", nil, nil, math.Inf(1), float32(0.1), nil, nil, nil, nil, nil},
		{[]float32{0, 0}, []uint16{0, 0}, []int8{0, 0}, []byte{0, 0}, "two\nlines", nil, nil, 1e100, nil, false, []byte{}, nil, nil, nil},
		{[]float32{0, 0}, []uint16{0, 0}, []int8{0, 0}, []byte{0, 0}, `\.`, nil, nil, 1.5, nil, false, []byte{}, nil, nil, nil},
	}
	want := `embedding,half,codes,bits,"a,b",json,n,x,y,yes,blob,day,at,price
"[0.1,-2]","[1,-5.9604645e-08]","[-127,5]",1000000000000001,"say ""a"", b","{""a"":1}",-7,NaN,-Infinity,true,\x00ff,2024-02-29,1970-01-01T00:00:00Z,-0.05
"[1,1e-30]","[0,0]","[0,0]",0000000000000000,"",,,Infinity,0.1,,,,,
"[0,0]","[0,0]","[0,0]",0000000000000000,"two
lines",,,1e+100,,false,\x,,,
"[0,0]","[0,0]","[0,0]",0000000000000000,"\.",,,1.5,,false,\x,,,
`
	if got := string(written(t, "csv", columns, rows)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestElastic compares the body of a request to _bulk with lines that were written by hand: vectors
// of each type, and each source of _id.
func TestElastic(t *testing.T) {
	columns := []Column{{Name: "id", Kind: JSON}, {Name: "row", Kind: Int64}, {Name: "floats", Kind: Floats, Length: 2}, {Name: "half", Kind: Float16s, Length: 2},
		{Name: "codes", Kind: Int8s, Length: 2}, {Name: "bits", Kind: Bytes, Length: 3}, {Name: "blob", Kind: Bytes}}
	row := func(id any, number int64) []any {
		return []any{id, number, []float32{0.1, -2}, []uint16{0x3c00, 0x8001}, []int8{-128, 127}, []byte{0x80, 0x7f, 0xff}, []byte{0, 255}}
	}
	rest := `"floats":[0.1,-2],"half":[1,-5.9604645e-08],"codes":[-128,127],"bits":[-128,127,-1],"blob":"AP8="}` + "\n"
	rows := [][]any{row(`"a\"b"`, 0), row("17", 1), row(nil, 2), row(`""`, 3), row("null", 4)}
	want := `{"index":{"_id":"a\"b"}}` + "\n" + `{"id":"a\"b","row":0,` + rest +
		`{"index":{"_id":"17"}}` + "\n" + `{"id":17,"row":1,` + rest +
		`{"index":{"_id":"rows.txt:2"}}` + "\n" + `{"id":null,"row":2,` + rest +
		`{"index":{"_id":"rows.txt:3"}}` + "\n" + `{"id":"","row":3,` + rest +
		`{"index":{"_id":"rows.txt:4"}}` + "\n" + `{"id":null,"row":4,` + rest
	if got := string(written(t, "elastic", columns, rows)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	columns, rows = []Column{{Name: "row", Kind: Int64}}, [][]any{{int64(5)}}
	if got, want := string(written(t, "elastic", columns, rows)), `{"index":{"_id":"rows.txt:5"}}`+"\n"+`{"row":5}`+"\n"; got != want {
		t.Errorf("without a column id: %s, want %s", got, want)
	}
}
