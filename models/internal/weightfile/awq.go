package weightfile

import (
	"encoding/binary"

	"github.com/avoformer/avoformer/models/internal/configuration"
)

// Integers of 4 bits as AutoAWQ stores them for its kernel gemm.

var awq = method{[]string{"quant_method", "bits", "group_size", "zero_point", "version", "modules_to_not_convert", "do_fuse", "fuse_max_seq_len", "modules_to_fuse",
	"exllama_config", "backend"}, awqScheme}

// awqScheme returns what AWQ says.
func awqScheme(d configuration.Document) (scheme, []string, error) {
	of := struct {
		Bits    int    `json:"bits"`
		Group   int    `json:"group_size" min:"-1"`
		Version string `json:"version"`
	}{Bits: 4, Group: 128, Version: "gemm"}
	if err := d.Decode(&of); err != nil {
		return nil, nil, err
	}
	switch {
	case of.Bits != 4:
		return nil, nil, d.Errorf("bits", "want 4")
	case of.Version != "gemm":
		return nil, nil, d.Errorf("version", "want gemm")
	}
	group, err := groupSize(d, of.Group)
	return &intScheme{form: awqForm, bits: of.Bits, group: group}, nil, err
}

// awqShift is the lowest bit of each of eight neighbours.
var awqShift = [8]int{0, 16, 4, 20, 8, 24, 12, 28}

// awqForm has neighbouring outputs in a word, the even ones in its lower half.
var awqForm = &intForm{
	words: ".qweight", scales: ".scales", zeros: ".qzeros", turn: true,
	rows: func(shape []int, _ int) int { return 8 * shape[1] }, columns: func(shape []int, _ int) int { return shape[0] },
	zeroShape: func(rows, groups, _ int) []int { return []int{groups, rows / 8} },
	turned: func(t *ints, words []byte) []byte {
		out := make([]byte, 4*t.rows*t.across())
		for column := 0; column < t.columns; column += 8 {
			for group := range t.rows / 8 {
				var of [8]uint32 // a word of each of eight rows
				for k := range min(8, t.columns-column) {
					w := word(words, (column+k)*(t.rows/8)+group)
					for r, shift := range awqShift {
						of[r] |= w >> shift & 15 << (4 * k)
					}
				}
				for r, w := range of {
					binary.LittleEndian.PutUint32(out[4*((8*group+r)*t.across()+column/8):], w)
				}
			}
		}
		return out
	},
	zero: func(row, group, across, _ int) (at, shift int) { return group*across + row/8, awqShift[row%8] },
}
