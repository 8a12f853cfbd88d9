package tile

import (
	"encoding/binary"
	"math"
)

// product executes an instruction C += A times B. A row of A consists of groups of 4 bytes; group g
// belongs to row g of B. For each element of C, product multiplies the groups of a row of A by the
// groups in the element's column of B's rows.
func (m *Machine) product(i Instruction) error {
	if err := m.suits(i); err != nil {
		return err
	}
	rows, bytes := m.shape(i.C)
	_, depth := m.shape(i.A)
	var sum func(a []byte, b *[mostRows][mostRow]byte, at int, c uint32) uint32
	switch i.Op {
	case TDPBF16PS:
		sum = sumBF16
	default:
		sum = sumBytes(i.Op == TDPBSSD || i.Op == TDPBSUD, i.Op == TDPBSSD || i.Op == TDPBUSD)
	}
	for r := range rows {
		for at := 0; at < bytes; at += 4 {
			c := m.tiles[i.C][r][at:][:4]
			binary.LittleEndian.PutUint32(c, sum(m.tiles[i.A][r][:depth], &m.tiles[i.B], at, binary.LittleEndian.Uint32(c)))
		}
		clear(m.tiles[i.C][r][bytes:])
	}
	for r := rows; r < mostRows; r++ {
		m.tiles[i.C][r] = [mostRow]byte{}
	}
	return nil
}

// suits returns an error for tiles whose shapes do not fit together.
func (m *Machine) suits(i Instruction) error {
	if i.A == i.B || i.A == i.C || i.B == i.C {
		return refuse(UD, "%v of tiles %d, %d and %d, which must differ", i.Op, i.C, i.A, i.B)
	}
	for _, t := range []int{i.A, i.B} {
		if err := m.valid(t); err != nil {
			return err
		}
	}
	rowsC, bytesC := m.shape(i.C)
	rowsA, bytesA := m.shape(i.A)
	rowsB, bytesB := m.shape(i.B)
	switch {
	case bytesC%4 != 0 || bytesA%4 != 0 || bytesB%4 != 0:
		return refuse(UD, "%v: rows of %d, %d and %d bytes are not groups of 4", i.Op, bytesC, bytesA, bytesB)
	case rowsA != rowsC:
		return refuse(UD, "%v: %d rows of A, %d of C", i.Op, rowsA, rowsC)
	case bytesA/4 != rowsB:
		return refuse(UD, "%v: %d bytes in a row of A, %d rows of B", i.Op, bytesA, rowsB)
	case bytesB != bytesC:
		return refuse(UD, "%v: %d bytes in a row of B, %d of C", i.Op, bytesB, bytesC)
	}
	return nil
}

// sumBytes returns a function that adds products of bytes, with or without signs, and wraps around.
func sumBytes(signedA, signedB bool) func(a []byte, b *[mostRows][mostRow]byte, at int, c uint32) uint32 {
	value := func(signed bool) *[256]int32 {
		if signed {
			return &signedBytes
		}
		return &unsignedBytes
	}
	ofA, ofB := value(signedA), value(signedB)
	return func(a []byte, b *[mostRows][mostRow]byte, at int, c uint32) uint32 {
		s := int32(c)
		for k := 0; k < len(a); k += 4 {
			x, y := a[k:][:4], b[k/4][at:][:4]
			s += ofA[x[0]]*ofB[y[0]] + ofA[x[1]]*ofB[y[1]] + ofA[x[2]]*ofB[y[2]] + ofA[x[3]]*ofB[y[3]]
		}
		return uint32(s)
	}
}

var signedBytes, unsignedBytes = func() (s, u [256]int32) {
	for i := range 256 {
		s[i], u[i] = int32(int8(i)), int32(i)
	}
	return s, u
}()

// sumBF16 adds up the products of even elements and the products of odd elements, adds the two
// sums, and adds the result to C. Denormal operands and results count as zero, and roundings are to
// the nearest even number, for any MXCSR.
func sumBF16(a []byte, b *[mostRows][mostRow]byte, at int, c uint32) uint32 {
	var sums [2]float32
	for k := 0; k < len(a); k += 4 {
		for n := range sums {
			x, y := bf16(a[k+2*n:]), bf16(b[k/4][at+2*n:])
			sums[n] = flush(fma(x, y, sums[n]))
		}
	}
	return math.Float32bits(flush(flush(math.Float32frombits(c)) + flush(sums[0]+sums[1])))
}

func bf16(b []byte) float32 {
	return flush(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
}

// flush returns x, or a zero with its sign if x is denormal.
func flush(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & 0x80000000)
	}
	return x
}

// fma returns x*y + z, rounded once. The product of two numbers of 8 bits is exact. The sum is
// rounded to odd as a float64, which has more than twice the bits of a float32, so that the second
// rounding has the same result as a single one.
func fma(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := p + c
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return float32(s)
	}
	t := s - p
	rest := (p - (s - t)) + (c - t) // the exact rounding error of s
	if bits := math.Float64bits(s); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
		s = math.Float64frombits(bits)
	}
	return float32(s)
}
