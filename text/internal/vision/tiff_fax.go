// TIFF: the three fax codes.
//
// A row is a list of the positions where its colour changes; it begins with white. Codes of one
// dimension are lengths of runs, codes of two dimensions refer to the changes of the row above.
//
// Sources: ITU-T T.4 (2003), T.6 (1988) and, for rows that begin at bytes, TIFF 6.0, section 10.

package vision

import (
	"errors"
	"strings"
	"sync"
)

var (
	errFaxCode = errors.New("malformed fax code")
	errFaxEnd  = errors.New("fax data are cut off")
)

// The codes of runs, white and black, of 0 to 63 pixels, then of 64, 128, ..., 1728 pixels. faxLong
// has those of 1792 to 2560 pixels of either colour.
const (
	faxWhite = "00110101 000111 0111 1000 1011 1100 1110 1111 10011 10100 00111 01000 001000 000011 110100 110101 101010 101011 0100111 0001100 0001000 0010111 " +
		"0000011 0000100 0101000 0101011 0010011 0100100 0011000 00000010 00000011 00011010 00011011 00010010 00010011 00010100 00010101 00010110 00010111 " +
		"00101000 00101001 00101010 00101011 00101100 00101101 00000100 00000101 00001010 00001011 01010010 01010011 01010100 01010101 00100100 00100101 " +
		"01011000 01011001 01011010 01011011 01001010 01001011 00110010 00110011 00110100 " +
		"11011 10010 010111 0110111 00110110 00110111 01100100 01100101 01101000 01100111 011001100 011001101 011010010 011010011 011010100 011010101 " +
		"011010110 011010111 011011000 011011001 011011010 011011011 010011000 010011001 010011010 011000 010011011 "
	faxBlack = "0000110111 010 11 10 011 0011 0010 00011 000101 000100 0000100 0000101 0000111 00000100 00000111 000011000 0000010111 0000011000 0000001000 " +
		"00001100111 00001101000 00001101100 00000110111 00000101000 00000010111 00000011000 000011001010 000011001011 000011001100 000011001101 000001101000 " +
		"000001101001 000001101010 000001101011 000011010010 000011010011 000011010100 000011010101 000011010110 000011010111 000001101100 000001101101 " +
		"000011011010 000011011011 000001010100 000001010101 000001010110 000001010111 000001100100 000001100101 000001010010 000001010011 000000100100 " +
		"000000110111 000000111000 000000100111 000000101000 000001011000 000001011001 000000101011 000000101100 000001011010 000001100110 000001100111 " +
		"0000001111 000011001000 000011001001 000001011011 000000110011 000000110100 000000110101 0000001101100 0000001101101 0000001001010 0000001001011 " +
		"0000001001100 0000001001101 0000001110010 0000001110011 0000001110100 0000001110101 0000001110110 0000001110111 0000001010010 0000001010011 " +
		"0000001010100 0000001010101 0000001011010 0000001011011 0000001100100 0000001100101 "
	faxLong = "00000001000 00000001100 00000001101 000000010010 000000010011 000000010100 000000010101 000000010110 000000010111 000000011100 000000011101 " +
		"000000011110 000000011111"
)

// The codes of two dimensions: the colour changes where it does above, or up to three pixels to the
// right or left of it; two runs follow; or the row goes on below the next run above.
const (
	faxModes = "1 011 000011 0000011 010 000010 0000010 001 0001"
	faxRuns  = 7 // after the seven shifts
	faxPass  = 8
)

var faxShifts = [7]int{0, 1, 2, 3, -1, -2, -3}

// faxCode is the code that 13 bits begin with: its place in the list and its length, 0 if there is
// none.
type faxCode struct{ n, bits uint8 }

// faxTables has the codes of white runs, black runs and modes.
var faxTables = sync.OnceValue(func() *[3][1 << 13]faxCode {
	var tables [3][1 << 13]faxCode
	for i, list := range []string{faxWhite + faxLong, faxBlack + faxLong, faxModes} {
		for n, code := range strings.Fields(list) {
			first, bits := 0, len(code)
			for _, c := range code {
				first = first<<1 | int(c-'0')
			}
			for j := range 1 << (13 - bits) {
				tables[i][first<<(13-bits)+j] = faxCode{uint8(n), uint8(bits)}
			}
		}
	}
	return &tables
})

// faxReader decodes rows of w pixels.
type faxReader struct {
	data   []byte
	at     int // the bits read
	w      int
	above  []int // where the colours of the row above change
	row    []int // where those of this row do
	tables *[3][1 << 13]faxCode
}

// The compressions of TIFF that are fax codes.
const (
	faxRows   = 2 // one dimension, rows begin at bytes
	faxGroup3 = 3
	faxGroup4 = 4
)

// unpackFax returns h rows of w pixels of a bit each, 1 for black. Rows may have two dimensions in
// Group 3 if mixed is set.
func unpackFax(data []byte, w, h, kind int, mixed bool) ([]byte, error) {
	f := &faxReader{data: data, w: w, tables: faxTables()}
	stride := ceilDiv(w, 8)
	out := make([]byte, h*stride)
	for y := range h {
		f.above, f.row = f.row, f.above[:0]
		if err := f.decode(kind, mixed); err != nil {
			return nil, err
		}
		row := out[y*stride : (y+1)*stride]
		for i := 0; i < len(f.row); i += 2 {
			end := w
			if i+1 < len(f.row) {
				end = f.row[i+1]
			}
			blacken(row, f.row[i], end)
		}
	}
	return out, nil
}

// blacken sets the bits of pixels [from, to).
func blacken(row []byte, from, to int) {
	for x := from; x < to; {
		if x%8 == 0 && to-x >= 8 {
			row[x/8] = 0xff
			x += 8
			continue
		}
		row[x/8] |= 0x80 >> (x % 8)
		x++
	}
}

// decode decodes the next row.
func (f *faxReader) decode(kind int, mixed bool) error {
	flat := true
	switch kind {
	case faxRows:
		f.at = ceilDiv(f.at, 8) * 8
	case faxGroup4:
		flat = false
	case faxGroup3: // an end of a line, at least 11 zeros and a one, is before each row
		for f.peek(11) != 0 && f.at < 8*len(f.data) {
			f.at++
		}
		for f.peek(1) == 0 && f.at < 8*len(f.data) {
			f.at++
		}
		f.at++
		if mixed {
			flat = f.peek(1) == 1
			f.at++
		}
	}
	if flat {
		return f.runs()
	}
	return f.modes()
}

// peek returns the next n bits, at most 25; after the end come zeros.
func (f *faxReader) peek(n int) int {
	var v uint32
	for i := range 4 {
		v <<= 8
		if at := f.at/8 + i; at < len(f.data) {
			v |= uint32(f.data[at])
		}
	}
	return int(v << (f.at % 8) >> (32 - n))
}

// code returns the place of the next code in a table's list.
func (f *faxReader) code(table int) (int, error) {
	c := f.tables[table][f.peek(13)]
	f.at += int(c.bits)
	switch {
	case f.at+13 > 8*len(f.data) && c.bits == 0 || f.at > 8*len(f.data):
		return 0, errFaxEnd
	case c.bits == 0:
		return 0, errFaxCode
	}
	return int(c.n), nil
}

// run returns the length of a run, 0 for white and 1 for black: long ones are sums of several
// codes.
func (f *faxReader) run(colour int) (n int, err error) {
	for n <= f.w {
		c, err := f.code(colour)
		if err != nil {
			return 0, err
		}
		if c < 64 {
			return n + c, nil
		}
		n += (c - 63) * 64
	}
	return 0, errFaxCode
}

// change changes the colour at a pixel. Two changes at the same pixel cancel out.
func (f *faxReader) change(x int) {
	if last := len(f.row) - 1; last >= 0 && f.row[last] == x {
		f.row = f.row[:last]
	} else if x < f.w {
		f.row = append(f.row, x)
	}
}

// runs decodes a row of one dimension.
func (f *faxReader) runs() error {
	for x, colour := 0, 0; x < f.w; colour ^= 1 {
		n, err := f.run(colour)
		if err != nil {
			return err
		}
		if x += n; x > f.w {
			return errFaxCode
		}
		f.change(x)
	}
	return nil
}

// modes decodes a row of two dimensions.
func (f *faxReader) modes() error {
	above := func(i int) int { // the change i of the row above
		if i < len(f.above) {
			return f.above[i]
		}
		return f.w
	}
	next := 0 // the first change to the other colour above that is to the right of x
	for x, colour := -1, 0; x < f.w; {
		for next > 0 && above(next-1) > x {
			next--
		}
		for next < len(f.above) && above(next) <= x || next%2 != colour {
			next++
		}
		mode, err := f.code(2)
		if err != nil {
			return err
		}
		switch mode {
		case faxPass:
			x = above(next + 1)
		case faxRuns:
			x = max(x, 0)
			for _, c := range [2]int{colour, colour ^ 1} {
				n, err := f.run(c)
				if err != nil {
					return err
				}
				if x += n; x > f.w {
					return errFaxCode
				}
				f.change(x)
			}
		default:
			to := above(next) + faxShifts[mode]
			if to < max(x, 0) || to > f.w {
				return errFaxCode
			}
			f.change(to)
			x, colour = to, colour^1
		}
	}
	return nil
}
