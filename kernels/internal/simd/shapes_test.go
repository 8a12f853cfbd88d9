package simd

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/internal/checkasm"
)

// shape holds the value of each size and stride of a call, and of width, mr and nr of the
// implementation.
type shape map[string]int

func (s shape) String() string {
	var w []string
	for k, v := range s {
		if k != "width" && k != "mr" && k != "nr" {
			w = append(w, fmt.Sprintf("%s=%d", k, v))
		}
	}
	slices.Sort(w)
	return strings.Join(w, " ")
}

// shapes lists the sizes for which the tests move the operands of an implementation in memory.
func shapes(im tested) []shape {
	if special := shapesOf[im.kernel]; special != nil {
		return withStrides(im.kernel, special(im))
	}
	return withStrides(im.kernel, sweep(im))
}

// sweep lists the sizes that the kernel's record asks for.
func sweep(im tested) []shape {
	all := []shape{constants(im)}
	turns := 1
	for _, z := range ordered(records[im.kernel].sizes, all[0]) {
		var next []shape
		for i, s := range all {
			values := slices.DeleteFunc(slices.Clone(z.values(s)), func(v int) bool { return v < z.least && !z.hint })
			if !z.each {
				values = values[i/turns%len(values):][:1]
			}
			for _, v := range values {
				with := maps.Clone(s)
				with[z.name] = v
				next = append(next, with)
			}
		}
		if !z.each {
			turns *= len(z.values(all[0]))
		}
		all = next
	}
	if few() && len(all) > 24 {
		all = slices.Concat(all[:8], all[len(all)-16:])
	}
	// Every size that may be 0 is 0 in one case, even if its values do not include 0.
	for _, z := range records[im.kernel].sizes {
		if z.least == 0 && !z.hint {
			none := maps.Clone(all[len(all)/2])
			none[z.name] = 0
			all = append(all, none)
		}
	}
	return all
}

// ordered returns the sizes in order: those with one value first, then those whose values are
// combined with all others, then those that take turns.
func ordered(sizes []size, constants shape) []size {
	class := func(z size) int {
		switch {
		case z.hint:
			return 3
		case z.each:
			return 1
		case len(z.values(constants)) == 1:
			return 0
		}
		return 2
	}
	sizes = slices.Clone(sizes)
	slices.SortStableFunc(sizes, func(a, b size) int { return class(a) - class(b) })
	return sizes
}

func constants(im tested) shape {
	return shape{"width": im.Width, "mr": im.MR, "nr": im.NR}
}

// withStrides chooses the strides that shapes leave open: in every other case rows are adjacent; in
// the other cases there are gaps, of a different size for each operand. Strides that may be 0 are
// sometimes 0.
func withStrides(k Kernel, all []shape) []shape {
	for i, s := range all {
		for j, p := range records[k].params {
			if p.operand == nil || p.operand.stride == "" {
				continue
			}
			if _, ok := s[p.operand.stride]; ok {
				continue
			}
			ld := max(p.operand.cols(s), 1)
			if i%2 == 1 {
				ld += 1 + (i/2+j)%7
			}
			if p.operand.oneRow && i%5 == 3 {
				ld = 0
			}
			s[p.operand.stride] = ld
		}
	}
	return all
}

// The functions below list sizes for records.

// vectorLengths has every length up to four vectors and three elements, and the edges of loops that
// are unrolled more than that.
func vectorLengths(s shape) []int {
	w := max(s["width"], 4)
	if few() {
		return []int{0, 1, w - 1, w, w + 1, 2*w + 3, 4*w + 3, 8 * w}
	}
	return checkasm.Lengths(w, 6*w, 8*w, 16*w)
}

// rowLengths has vectorLengths and, if rows may be processed in aligned vectors, rows that are long
// enough for that.
func rowLengths(s shape) []int {
	lengths := vectorLengths(s)
	if s["width"] == 16 {
		step := 1
		if few() {
			step = 7
		}
		for n := 257; n < 257+3*16; n += step {
			lengths = append(lengths, n)
		}
		lengths = append(lengths, 513, 521, 527)
	}
	return lengths
}

// moreShapes lists sizes that are tried only at few places.
func moreShapes(im tested) []shape {
	switch im.kernel {
	case KernelGemmPanel:
		return panelShapes(im)
	case KernelGemmNear:
		return nearShapes(im)
	case KernelInt8Quads, KernelInt8Pairs, KernelInt8Dots, KernelInt8Octets:
		return int8Heights(im)
	}
	return nil
}

// panelShapes has every height up to more than two tiles, and every width.
func panelShapes(im tested) (all []shape) {
	for m := range 2*im.MR + 3 {
		for n := 1; n <= im.NR+1; n++ {
			if few() && (m+n)%7 != 0 {
				continue
			}
			n := n
			if n > im.NR {
				n = 2 * im.NR
			}
			for i, k := range []int{1, 2 + n%8, 13} {
				s := constants(im)
				s["m"], s["n"], s["k"] = m, n, k
				s["next"], s["pace"] = []int{0, k * im.NR, -im.NR}[(m+n)%3], []int{0, 4 * im.NR, 3}[(m+n+i)%3]
				s["turn"] = []int{0, -64, 3}[(m+n+k)%3]
				all = append(all, s)
			}
		}
	}
	return withStrides(im.kernel, all)
}

// nearShapes has every height up to more than two tiles, and every width up to more than one.
func nearShapes(im tested) (all []shape) {
	for m := 1; m < 2*im.MR+3; m++ {
		for n := 1; n <= 4*im.Width+1; n++ {
			if few() && (m+n)%7 != 0 {
				continue
			}
			s := constants(im)
			s["m"], s["n"], s["k"] = m, n+(m+n)%3*4*im.Width, []int{1, 2 + n%8, 13}[(m+n/2)%3]
			all = append(all, s)
		}
	}
	return withStrides(im.kernel, all)
}

// shapesOf has the kernels whose sizes depend on one another in other ways.
var shapesOf = map[Kernel]func(im tested) []shape{
	KernelAttnShort:    func(im tested) []shape { return headShapes(im, ShortQueries, ShortQueries) },
	KernelAttnFew:      func(im tested) []shape { return headShapes(im, 7, FewKeys) },
	KernelInt8Quads:    int8Shapes,
	KernelInt8Winograd: int8Shapes,
	KernelInt8Pairs:    int8Shapes,
	KernelInt8Dots:     int8Shapes,
	KernelInt8Octets:   int8Shapes,
	KernelInt8Tiles:    tileShapes,
}

// tileShapes has the shapes of the record, with and without a bias.
func tileShapes(im tested) (all []shape) {
	for _, s := range sweep(im) {
		all = append(all, s)
		without := maps.Clone(s)
		without["bias is empty"] = 1
		all = append(all, without)
	}
	return all
}

// headShapes has shapes of heads with at most the given queries and keys.
func headShapes(im tested, queries, keys int) (all []shape) {
	for i, n := range vectorLengths(constants(im)) {
		if n == 0 {
			continue
		}
		s := shape{"rows": (i*5 + i/7) % (queries + 1), "n": 1 + i*7%min(keys, 80), "cols": n}
		if i%3 == 0 { // enough keys for one vector
			s["n"] = 1 + i/3%im.Width
		}
		all = append(all, s)
	}
	// The last columns, if there are few, and every number of keys in the lanes of a sum.
	for i, s := range [][2]int{{5, 3}, {2, 2}, {3, 6}, {7, 7}, {4, 5}, {2, 3}, {6, 3}, {7, 3}} {
		all = append(all, shape{"rows": s[0], "n": s[1], "cols": 3 + i%2})
	}
	for n := 1; n <= min(keys, 64); n++ {
		all = append(all, shape{"rows": 3, "n": n, "cols": 3})
	}
	all = append(all, shape{"rows": 7, "n": keys, "cols": 8})
	for i, s := range all {
		if im.kernel == KernelAttnShort && i/3%2 == 1 {
			s["bias is empty"] = 1
		}
	}
	return all
}

// contents fills operands for which arbitrary numbers do not work.
var contents = map[Kernel]func(o *checkasm.Operand, s shape){
	KernelInt8Quads:          int8Contents,
	KernelInt8Pairs:          int8Contents,
	KernelInt8Dots:           int8Contents,
	KernelInt8Octets:         int8Contents,
	KernelInt8Winograd:       int8Contents,
	KernelWinogradRows:       int8Contents,
	KernelWinogradColumns:    int8Contents,
	KernelWordPanel:          wordContents,
	KernelBlocks8:            blocks8Contents,
	KernelBlocks4NL:          blocks8Contents,
	KernelBlocks4NLK:         blocks8Contents,
	KernelBFloat16Tiles:      bfloat16Contents,
	KernelBFloat16Pairs:      pairContents,
	KernelGemmPanelFloat16:   halfContents,
	KernelGemmPanelBFloat16:  halfContents,
	KernelGemvPanelsFloat16:  halfContents,
	KernelGemvPanelsBFloat16: halfContents,
	KernelAttnScoresFloat16:  halfContents,
	KernelAttnScoresBFloat16: halfContents,
	KernelAttnValuesFloat16:  halfContents,
	KernelAttnValuesBFloat16: halfContents,
	KernelAttnShort:          func(o *checkasm.Operand, s shape) { headContents(o, s, true) },
	KernelAttnFew:            func(o *checkasm.Operand, s shape) { headContents(o, s, false) },
}

// bfloat16Contents has numbers of many magnitudes, the smallest of which have denormal products and
// sums, and denormal and special numbers.
func bfloat16Contents(o *checkasm.Operand, _ shape) {
	data, ok := o.Data.([]uint16)
	if !ok {
		return
	}
	special := []uint16{0x8000, 0, 0x0001, 0x807f, 0x007f, 0x0080, 0x8080}
	r := random(o.Name + " sizes")
	for i, bits := range data {
		exponent := 127 - 8 + r.IntN(16)
		if r.IntN(4) == 0 {
			exponent = 40 + r.IntN(40)
		}
		data[i] = bits&0x807f | uint16(exponent)<<7
		if r.IntN(40) == 0 {
			data[i] = special[r.IntN(len(special))]
		}
		if r.IntN(20000) == 0 {
			data[i] = []uint16{0x7f80, 0xff80, 0x7fc0}[r.IntN(3)]
		}
	}
}

// pairContents does the same as bfloat16Contents, with sums around the smallest normal number if
// there are few steps.
func pairContents(o *checkasm.Operand, s shape) {
	bfloat16Contents(o, s)
	if data, ok := o.Data.([]uint16); ok && s["k"] == 8 {
		r := random(o.Name + " small")
		for i, bits := range data {
			data[i] = bits&0x807f | uint16(56+r.IntN(12))<<7
		}
	}
}

// blocks8Contents sets the sum of each block of A to 5, for which sums start with -640. Kernels
// that multiply signed bytes need not read that start.
func blocks8Contents(o *checkasm.Operand, s shape) {
	switch data := o.Data.(type) {
	case []int8:
		for i := range data {
			switch p := i % s["k"] % WeightBlock; {
			case p < 2:
				data[i] = int8(3 - p)
			case p%2 == 0:
				data[i] = max(data[i], -127)
			default:
				data[i] = -data[i-1]
			}
		}
	case []int32:
		for i := range data {
			data[i] = -640
		}
	}
}

// halfContents sets elements of 16 bits to numbers up to 2 and their negatives, as binary16 and as
// bfloat16: sums of arbitrary numbers would overflow.
func halfContents(o *checkasm.Operand, _ shape) {
	data, _ := o.Data.([]uint16)
	for i, bits := range data {
		data[i] = bits&0x8000 | 0x3800 + bits%0x800
	}
}

// headContents hides some keys: all keys of query 2, and those past the last key. The rows of the
// bias belong to keys or to queries.
func headContents(o *checkasm.Operand, s shape, ofKeys bool) {
	data, _ := o.Data.([]float32)
	if o.Name == "bias" {
		for i := range data {
			query, key := i/o.Cols, i%o.Cols
			if ofKeys {
				query, key = key, query
			}
			if i%3 == 0 || query == 2 || key >= s["n"] {
				data[i] = -inf32
			}
		}
	}
}

// int8Contents keeps integers in their range, and fills C with NaN if it must not be read.
func int8Contents(o *checkasm.Operand, s shape) {
	switch data := o.Data.(type) {
	case []int8:
		for i := range data {
			data[i] = max(data[i], -127)
		}
	case []int16:
		for i := range data {
			data[i] %= 128
		}
	case []int32: // the start of sums: small, so that a bias makes a difference
		for i := range data {
			data[i] %= 1 << 12
		}
	case []float32:
		if o.Name == "c" && s["add"] == 0 {
			for i := range data {
				data[i] = nan32
			}
		}
	}
}

// wordContents fills C with NaN if it must not be read. Sums of arbitrary words wrap around in
// the same way.
func wordContents(o *checkasm.Operand, s shape) {
	if data, ok := o.Data.([]float32); ok && o.Name == "c" && s["add"] == 0 {
		for i := range data {
			data[i] = nan32
		}
	}
}

// int8Heights has tiles of every height: with the scales of the columns and the bias, without the
// bias, and without both.
func int8Heights(im tested) (all []shape) {
	for m := 1; m <= 7; m++ {
		for empty := range 3 {
			s := constants(im)
			s["m"], s["k"], s["add"] = m, 80, (m+empty)%2
			s["bias is empty"], s["weight is empty"] = min(empty, 1), empty/2
			all = append(all, s)
		}
	}
	return withStrides(im.kernel, all)
}

// int8Shapes sometimes leaves out the bias, or the bias and the scales of the columns.
func int8Shapes(im tested) []shape {
	all := sweep(im)
	for i, s := range all {
		if i%3 > 0 {
			s["bias is empty"] = 1
		}
		if i%3 == 2 {
			s["weight is empty"] = 1
		}
	}
	return all
}
