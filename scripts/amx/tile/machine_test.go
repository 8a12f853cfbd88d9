package tile

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// flat is memory that begins at address base. No other memory is mapped.
type flat struct{ bytes []byte }

const base = 1 << 20

func (f flat) slice(at uint64, n int) ([]byte, error) {
	if at < base || at+uint64(n) > base+uint64(len(f.bytes)) {
		return nil, &Fault{Exception: PF, Addr: at, Reason: "nothing there"}
	}
	return f.bytes[at-base:][:n], nil
}

func (f flat) Read(at []uint64, rows [][]byte) error {
	for i, row := range rows {
		b, err := f.slice(at[i], len(row))
		if err != nil {
			return err
		}
		copy(row, b)
	}
	return nil
}

func (f flat) Write(at []uint64, rows [][]byte) error {
	for i, row := range rows {
		b, err := f.slice(at[i], len(row))
		if err != nil {
			return err
		}
		copy(b, row)
	}
	return nil
}

// config returns a configuration of tiles with the given numbers of rows and bytes.
func config(shapes ...[2]int) (c [ConfigBytes]byte) {
	c[atPalette] = 1
	for t, s := range shapes {
		c[atRows+t] = byte(s[0])
		binary.LittleEndian.PutUint16(c[atColumns+2*t:], uint16(s[1]))
	}
	return c
}

// do executes an instruction with an address and a stride.
func (m *Machine) do(t *testing.T, f flat, op Op, tile int, at, stride uint64) {
	t.Helper()
	i := Instruction{Op: op, C: tile, Mem: Address{Base: 0, Index: 1, Scale: 1}}
	if err := m.Run(i, func(n int) uint64 { return []uint64{at, stride}[n] }, 0, f); err != nil {
		t.Fatalf("%v: %v", i, err)
	}
}

// TestConfiguration: bytes that are not a configuration are refused, and the previous configuration
// stays in effect.
func TestConfiguration(t *testing.T) {
	good := config([2]int{16, 64}, [2]int{3, 20})
	for name, c := range map[string]struct {
		at int
		to byte
	}{
		"palette": {atPalette, 2}, "start row": {atStartRow, 1}, "reserved 2": {2, 1}, "reserved 15": {15, 1}, "reserved 32": {32, 1},
		"reserved 47": {47, 1}, "reserved 56": {56, 1}, "reserved 63": {63, 1}, "17 rows": {atRows, 17},
		"65 bytes": {atColumns, 65}, "256 bytes": {atColumns + 1, 1}, "rows without bytes": {atRows + 7, 1}, "bytes without rows": {atColumns + 14, 4},
	} {
		var m Machine
		if err := m.configure(good); err != nil {
			t.Fatal(err)
		}
		bad := good
		bad[c.at] = c.to
		var f *Fault
		if err := m.configure(bad); !errors.As(err, &f) || f.Exception != GP {
			t.Errorf("%s: %v, want %s", name, err, GP)
		}
		if m.config != good {
			t.Errorf("%s: the configuration has changed", name)
		}
	}
	m := Machine{config: good}
	if err := m.configure([ConfigBytes]byte{}); err != nil || m.InUse() {
		t.Errorf("palette 0: %v, in use: %v", err, m.InUse())
	}
}

// TestLoadStore loads and stores rows with positive and negative strides, checks that LDTILECFG
// clears the tiles, and stores the configuration.
func TestLoadStore(t *testing.T) {
	f := flat{make([]byte, 8192)}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range f.bytes {
		f.bytes[i] = byte(r.Uint32())
	}
	c := config([2]int{3, 20}, [2]int{16, 64})
	copy(f.bytes, c[:])
	var m Machine
	m.do(t, f, LDTILECFG, 0, base, 0)
	m.do(t, f, STTILECFG, 0, base+64, 0)
	if [ConfigBytes]byte(f.bytes[64:]) != c {
		t.Errorf("STTILECFG stores % x, want % x", f.bytes[64:128], c)
	}
	m.do(t, f, TILELOADD, 0, base+1000, 100)
	m.do(t, f, TILESTORED, 0, base+5000, ^uint64(39))
	for row := range 3 {
		got, want := f.bytes[5000-40*row:][:24], f.bytes[1000+100*row:][:20]
		if string(got[:20]) != string(want) {
			t.Errorf("row %d is % x, want % x", row, got[:20], want)
		}
	}
	m.do(t, f, TILEZERO, 0, 0, 0)
	m.do(t, f, TILELOADDT1, 1, base+2000, 64)
	m.do(t, f, LDTILECFG, 0, base, 0)
	m.do(t, f, TILESTORED, 1, base+6000, 64)
	for i, b := range f.bytes[6000:][:1024] {
		if b != 0 {
			t.Fatalf("byte %d of a tile is %d after LDTILECFG", i, b)
		}
	}
	m.do(t, f, TILERELEASE, 0, 0, 0)
	if m.InUse() {
		t.Error("in use after TILERELEASE")
	}
	m.do(t, f, STTILECFG, 0, base, 0)
	if [ConfigBytes]byte(f.bytes) != [ConfigBytes]byte{} {
		t.Errorf("STTILECFG without tiles stores % x", f.bytes[:64])
	}
}

// TestRefused has instructions that processors refuse as #UD, and accesses to memory that is not
// mapped.
func TestRefused(t *testing.T) {
	f := flat{make([]byte, 64)}
	c := config([2]int{4, 16}, [2]int{4, 16}, [2]int{4, 16}, [2]int{5, 16}, [2]int{4, 20}, [2]int{4, 18})
	for _, x := range []struct {
		i      Instruction
		want   Exception
		reason string
	}{
		{Instruction{Op: TILEZERO, C: 7}, UD, "not in the configuration"},
		{Instruction{Op: TDPBSUD, C: 0, A: 1, B: 1}, UD, "must differ"},
		{Instruction{Op: TDPBSUD, C: 0, A: 0, B: 1}, UD, "must differ"},
		{Instruction{Op: TDPBSUD, C: 0, A: 1, B: 0}, UD, "must differ"},
		{Instruction{Op: TDPBSUD, C: 0, A: 6, B: 1}, UD, "not in the configuration"},
		{Instruction{Op: TDPBSUD, C: 0, A: 1, B: 7}, UD, "not in the configuration"},
		{Instruction{Op: TDPBSUD, C: 0, A: 3, B: 1}, UD, "5 rows of A, 4 of C"},
		{Instruction{Op: TDPBSUD, C: 0, A: 1, B: 3}, UD, "16 bytes in a row of A, 5 rows of B"},
		{Instruction{Op: TDPBSUD, C: 0, A: 1, B: 4}, UD, "20 bytes in a row of B, 16 of C"},
		{Instruction{Op: TDPBF16PS, C: 0, A: 5, B: 1}, UD, "not groups of 4"},
		{Instruction{Op: TILELOADD, C: 0, Mem: Address{Base: 0, Index: 1, Scale: 1}}, PF, "nothing there"},
		{Instruction{Op: TILESTORED, C: 0, Mem: Address{Base: 0, Index: 1, Scale: 1}}, PF, "nothing there"},
	} {
		m := Machine{config: c}
		before := m
		err := m.Run(x.i, func(n int) uint64 { return []uint64{base, 17}[n] }, 0, f)
		var fault *Fault
		if !errors.As(err, &fault) || fault.Exception != x.want || !strings.Contains(err.Error(), x.reason) {
			t.Errorf("%v: %v, want %s: %s", x.i, err, x.want, x.reason)
		}
		if m != before {
			t.Errorf("%v changed the tiles", x.i)
		}
		if m = (Machine{}); x.i.Op != TILELOADD && x.i.Op != TILESTORED {
			if err := m.Run(x.i, nil, 0, f); err == nil {
				t.Errorf("%v runs without a configuration", x.i)
			}
		}
	}
}

// TestProducts compares every product with the sum in the manual, for tiles of all heights, widths
// and depths.
func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, op := range []Op{TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD, TDPBF16PS} {
		for n := range 48 {
			rows, columns, depth := 1+n%16, 1+n*7%16, 1+n*5%16
			m := Machine{config: config([2]int{rows, 4 * columns}, [2]int{rows, 4 * depth}, [2]int{depth, 4 * columns})}
			fill(r, op, &m)
			before := m
			if err := m.Run(Instruction{Op: op, C: 0, A: 1, B: 2}, nil, 0, nil); err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				for j := range columns {
					got := binary.LittleEndian.Uint32(m.tiles[0][i][4*j:])
					if want := wanted(op, &before, depth, i, j); got != want {
						t.Fatalf("%v, %d x %d x %d: element %d,%d is %#x, want %#x", op, rows, columns, depth, i, j, got, want)
					}
				}
			}
			if m.tiles[1] != before.tiles[1] || m.tiles[2] != before.tiles[2] {
				t.Errorf("%v changed an operand", op)
			}
		}
	}
}

// fill sets the tiles to random bits or, for TDPBF16PS, to numbers of many sizes.
func fill(r *rand.Rand, op Op, m *Machine) {
	for t := range 3 {
		for i := range mostRows {
			for at := 0; at < mostRow; at += 4 {
				bits := r.Uint32()
				if op == TDPBF16PS {
					bits = bits&0x83ff83ff | uint32(100+r.IntN(40))<<23 | uint32(100+r.IntN(40))<<7
					if r.IntN(50) == 0 {
						bits &= 0x807f807f // denormal, or zero
					}
				}
				binary.LittleEndian.PutUint32(m.tiles[t][i][at:], bits)
			}
		}
	}
}

// wanted returns element i, j of the sum, computed by its definition.
func wanted(op Op, m *Machine, depth, i, j int) uint32 {
	c := binary.LittleEndian.Uint32(m.tiles[0][i][4*j:])
	if op == TDPBF16PS {
		return wantedBF16(m, depth, i, j, c)
	}
	sum := int64(int32(c))
	for k := range 4 * depth {
		a, b := m.tiles[1][i][k], m.tiles[2][k/4][4*j+k%4]
		x, y := int64(a), int64(b)
		if op == TDPBSSD || op == TDPBSUD {
			x = int64(int8(a))
		}
		if op == TDPBSSD || op == TDPBUSD {
			y = int64(int8(b))
		}
		sum += x * y
	}
	return uint32(sum)
}

// wantedBF16 does the same with numbers of 200 bits. It rounds them at the same steps as the
// manual.
func wantedBF16(m *Machine, depth, i, j int, c uint32) uint32 {
	number := func(bits uint32) *big.Float {
		if bits&0x7f800000 == 0 {
			bits &= 0x80000000
		}
		return new(big.Float).SetPrec(200).SetFloat64(float64(math.Float32frombits(bits)))
	}
	rounded := func(x *big.Float) *big.Float {
		f, _ := x.Float32()
		return number(math.Float32bits(f))
	}
	sums := [2]*big.Float{number(0), number(0)}
	for k := range depth {
		for n := range sums {
			a := number(uint32(binary.LittleEndian.Uint16(m.tiles[1][i][4*k+2*n:])) << 16)
			b := number(uint32(binary.LittleEndian.Uint16(m.tiles[2][k][4*j+2*n:])) << 16)
			sums[n] = rounded(new(big.Float).SetPrec(200).Add(sums[n], a.Mul(a, b)))
		}
	}
	both := rounded(sums[0].Add(sums[0], sums[1]))
	f, _ := rounded(both.Add(both, number(c))).Float32()
	return math.Float32bits(f)
}
