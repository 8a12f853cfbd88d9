package arm64

import (
	"fmt"
	"slices"
)

// form is a combination of operands. It determines the positions of their fields.
type form uint8

const (
	three      form = iota // op vd.T, vn.T, vm.T
	two                    // op vd.T, vn.T
	across                 // op sd, vn.T
	byElement              // op vd.T, vn.T, vm.S[lane]
	shiftRight             // op vd.T, vn.T, #shift
	convert                // op vd.T, vn.S
	widening               // op vd.T, vn.S, vm.S
	dotElement             // op vd.T, vn.S, vm.4b[lane]
)

// fields returns the bits of a form that its operands fill.
func (f form) fields() uint32 {
	const d, n, m = 0x1f, 0x1f << 5, 0x1f << 16
	switch f {
	case three:
		return d | n | m
	case byElement, dotElement:
		return d | n | m | 1<<21 | 1<<11
	case widening:
		return d | n | m
	case shiftRight:
		return d | n | m // the shift is in the low bits of immh:immb, here 32-bit lanes
	}
	return d | n
}

// word is an instruction that Go 1.26's assembler lacks.
type word struct {
	op   string // the name in Go's assembler, or the name that it would have there
	form form
	arr  Arrangement
	base uint32 // the word, with zeros in the fields
	gnu  string
	// go127 says that Go 1.27's assembler has the instruction.
	go127 bool
	// from is the arrangement S of the operands that are only read, if it differs.
	from Arrangement
	// extension is the architecture extension with the instruction, if not all processors have it.
	// The decoder does not know such instructions.
	extension string
}

// words is the table of instructions that are printed as WORD.
var words = []word{
	{op: "VFADD", form: three, arr: S4, base: 0x4e20d400, gnu: "fadd", go127: true},
	{op: "VFSUB", form: three, arr: S4, base: 0x4ea0d400, gnu: "fsub", go127: true},
	{op: "VFMUL", form: three, arr: S4, base: 0x6e20dc00, gnu: "fmul", go127: true},
	{op: "VFDIV", form: three, arr: S4, base: 0x6e20fc00, gnu: "fdiv", go127: true},
	{op: "VFMAX", form: three, arr: S4, base: 0x4e20f400, gnu: "fmax", go127: true},
	{op: "VFMIN", form: three, arr: S4, base: 0x4ea0f400, gnu: "fmin", go127: true},
	{op: "VFMAXNM", form: three, arr: S4, base: 0x4e20c400, gnu: "fmaxnm", go127: true},
	{op: "VFMINNM", form: three, arr: S4, base: 0x4ea0c400, gnu: "fminnm", go127: true},
	{op: "VFADDP", form: three, arr: S4, base: 0x6e20d400, gnu: "faddp", go127: true},
	{op: "VFMAXP", form: three, arr: S4, base: 0x6e20f400, gnu: "fmaxp", go127: true},
	{op: "VFMINP", form: three, arr: S4, base: 0x6ea0f400, gnu: "fminp", go127: true},
	{op: "VFCMEQ", form: three, arr: S4, base: 0x4e20e400, gnu: "fcmeq", go127: true},
	{op: "VFCMGE", form: three, arr: S4, base: 0x6e20e400, gnu: "fcmge", go127: true},
	{op: "VFCMGT", form: three, arr: S4, base: 0x6ea0e400, gnu: "fcmgt", go127: true},
	{op: "VBIC", form: three, arr: B16, base: 0x4e601c00, gnu: "bic", go127: true},
	{op: "VFABS", form: two, arr: S4, base: 0x4ea0f800, gnu: "fabs", go127: true},
	{op: "VFNEG", form: two, arr: S4, base: 0x6ea0f800, gnu: "fneg", go127: true},
	{op: "VFSQRT", form: two, arr: S4, base: 0x6ea1f800, gnu: "fsqrt", go127: true},
	{op: "VFRINTN", form: two, arr: S4, base: 0x4e218800, gnu: "frintn", go127: true},
	{op: "VFRINTM", form: two, arr: S4, base: 0x4e219800, gnu: "frintm", go127: true},
	{op: "VFCVTZS", form: two, arr: S4, base: 0x4ea1b800, gnu: "fcvtzs", go127: true},
	{op: "VFCVTNS", form: two, arr: S4, base: 0x4e21a800, gnu: "fcvtns"},
	{op: "VSCVTF", form: two, arr: S4, base: 0x4e21d800, gnu: "scvtf", go127: true},
	{op: "VNOT", form: two, arr: B16, base: 0x6e205800, gnu: "mvn", go127: true},
	{op: "VFMAXV", form: across, arr: S4, base: 0x6e30f800, gnu: "fmaxv", go127: true},
	{op: "VFMINV", form: across, arr: S4, base: 0x6eb0f800, gnu: "fminv", go127: true},
	{op: "VFMLA", form: byElement, arr: S4, base: 0x4f801000, gnu: "fmla"},
	{op: "VFMLS", form: byElement, arr: S4, base: 0x4f805000, gnu: "fmls"},
	{op: "VFMUL", form: byElement, arr: S4, base: 0x4f809000, gnu: "fmul"},
	{op: "VSSHR", form: shiftRight, arr: S4, base: 0x4f200400, gnu: "sshr", go127: true},
	{op: "VFCVTL", form: convert, arr: S4, from: H4, base: 0x0e217800, gnu: "fcvtl"},
	{op: "VXTN", form: convert, arr: H4, from: S4, base: 0x0e612800, gnu: "xtn"},
	{op: "VXTN", form: convert, arr: B8, from: H8, base: 0x0e212800, gnu: "xtn"},
	{op: "VSMULL", form: widening, arr: H8, from: B8, base: 0x0e20c000, gnu: "smull"},
	{op: "VSMULL2", form: widening, arr: H8, from: B16, base: 0x4e20c000, gnu: "smull2"},
	{op: "VSMLAL", form: widening, arr: H8, from: B8, base: 0x0e208000, gnu: "smlal"},
	{op: "VSMLAL2", form: widening, arr: H8, from: B16, base: 0x4e208000, gnu: "smlal2"},
	{op: "VSMLAL", form: widening, arr: S4, from: H4, base: 0x0e608000, gnu: "smlal"},
	{op: "VSMLAL2", form: widening, arr: S4, from: H8, base: 0x4e608000, gnu: "smlal2"},
	{op: "VSADALP", form: convert, arr: S4, from: H8, base: 0x4e606800, gnu: "sadalp"},
	{op: "VSDOT", form: dotElement, arr: S4, from: B16, base: 0x4f80e000, gnu: "sdot", extension: "dotprod"},
	{op: "VSMMLA", form: widening, arr: S4, from: B16, base: 0x4e80a400, gnu: "smmla", extension: "i8mm"},
}

// read returns the arrangement of the operands that are only read.
func (w *word) read() Arrangement {
	switch w.form {
	case convert, widening, dotElement:
		return w.from
	}
	return w.arr
}

func (w *word) encode(d, n, m, imm int) uint32 {
	v := w.base | uint32(d) | uint32(n)<<5
	switch w.form {
	case three, widening:
		v |= uint32(m) << 16
	case byElement, dotElement:
		v |= uint32(m)<<16 | uint32(imm&1)<<21 | uint32(imm>>1)<<11
	case shiftRight:
		v |= uint32(arrangements[w.arr].bits-imm) << 16
	}
	return v
}

// text returns the instruction in GNU syntax.
func (w *word) text(d, n, m, imm int) string {
	t := arrangements[w.arr].gnu
	switch w.form {
	case three:
		return fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s", w.gnu, d, t, n, t, m, t)
	case across:
		return fmt.Sprintf("%s s%d, v%d.%s", w.gnu, d, n, t)
	case byElement:
		return fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.s[%d]", w.gnu, d, t, n, t, m, imm)
	case shiftRight:
		return fmt.Sprintf("%s v%d.%s, v%d.%s, #%d", w.gnu, d, t, n, t, imm)
	case convert:
		return fmt.Sprintf("%s v%d.%s, v%d.%s", w.gnu, d, t, n, arrangements[w.from].gnu)
	case widening:
		from := arrangements[w.from].gnu
		return fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.%s", w.gnu, d, t, n, from, m, from)
	case dotElement:
		return fmt.Sprintf("%s v%d.%s, v%d.%s, v%d.4b[%d]", w.gnu, d, t, n, arrangements[w.from].gnu, m, imm)
	}
	return fmt.Sprintf("%s v%d.%s, v%d.%s", w.gnu, d, t, n, t)
}

// word appends an instruction of the table. from is in Go's order; imm is the shift.
func (f *Function) word(op string, form form, readsDst bool, from []VecOperand, d VecOperand, imm int) {
	arr := from[len(from)-1].(Arranged).arr
	var w *word
	for i := range words {
		if words[i].op == op && words[i].form == form && words[i].read() == arr {
			w = &words[i]
		}
	}
	if w == nil {
		f.errorf("%s: no form for arrangement %s", op, arr)
		return
	}
	n := node{op: op, writes: []*register{d.vec().r}}
	for i, o := range append(slices.Clone(from), d) {
		switch o := o.(type) {
		case Arranged:
			if i < len(from) && o.arr != arr || i == len(from) && o.arr != w.arr {
				f.errorf("%s: operands of arrangements %s and %s", op, o.arr, arr)
			}
		case Element:
			f.lane(op, o)
			if o.size != 'S' {
				f.errorf("%s: a lane of %c beside %s", op, o.size, arr)
			}
			imm = o.lane
		}
		n.args = append(n.args, o)
	}
	for _, o := range from {
		n.reads = append(n.reads, o.vec().r)
	}
	if readsDst {
		n.reads = append(n.reads, d.vec().r)
	}
	if form == shiftRight {
		n.args = append([]operand{Imm(imm)}, n.args...)
	}
	if form == across {
		n.args[len(n.args)-1] = lane0{d.vec()}
	}
	if !w.go127 || !f.file.Go127 {
		n.word, n.imm = w, imm
	}
	f.add(n)
}

// asWord returns the instruction and its GNU syntax, after register allocation.
func (n *node) asWord() (code uint32, gnu string) {
	var number []int // m, n and d, or n and d if there is no m
	for _, o := range n.args {
		switch o := o.(type) {
		case VecOperand:
			number = append(number, o.vec().r.physical)
		case lane0:
			number = append(number, o.v.r.physical)
		}
	}
	if len(number) == 2 {
		number = append([]int{0}, number...)
	}
	rd, rn, rm := number[2], number[1], number[0]
	return n.word.encode(rd, rn, rm, n.imm), n.word.text(rd, rn, rm, n.imm)
}

func (f *Function) word3(op string, m, n, d Arranged) {
	f.word(op, three, false, []VecOperand{m, n}, d, 0)
}

func (f *Function) word2(op string, n, d Arranged) { f.word(op, two, false, []VecOperand{n}, d, 0) }

// VFADD sets d to n + m.
func (f *Function) VFADD(m, n, d Arranged) { f.word3("VFADD", m, n, d) }

// VFSUB sets d to n - m.
func (f *Function) VFSUB(m, n, d Arranged) { f.word3("VFSUB", m, n, d) }

// VFMUL sets d to n * m; m may be one lane.
func (f *Function) VFMUL(m VecOperand, n, d Arranged) {
	if e, ok := m.(Element); ok {
		f.word("VFMUL", byElement, false, []VecOperand{e, n}, d, 0)
		return
	}
	f.word3("VFMUL", m.(Arranged), n, d)
}

// VFDIV sets d to n / m.
func (f *Function) VFDIV(m, n, d Arranged) { f.word3("VFDIV", m, n, d) }

// VFMAX sets d to max(n, m), or to NaN if n or m is NaN.
func (f *Function) VFMAX(m, n, d Arranged) { f.word3("VFMAX", m, n, d) }

// VFMIN sets d to min(n, m), or to NaN if n or m is NaN.
func (f *Function) VFMIN(m, n, d Arranged) { f.word3("VFMIN", m, n, d) }

// VFMAXNM sets d to max(n, m), or to the number if only one is NaN.
func (f *Function) VFMAXNM(m, n, d Arranged) { f.word3("VFMAXNM", m, n, d) }

// VFMINNM sets d to min(n, m), or to the number if only one is NaN.
func (f *Function) VFMINNM(m, n, d Arranged) { f.word3("VFMINNM", m, n, d) }

// VFADDP sets d to the sums of the adjacent pairs of n, and then of m.
func (f *Function) VFADDP(m, n, d Arranged) { f.word3("VFADDP", m, n, d) }

// VFMAXP sets d to the maxima of the adjacent pairs of n, and then of m.
func (f *Function) VFMAXP(m, n, d Arranged) { f.word3("VFMAXP", m, n, d) }

// VFMINP sets d to the minima of the adjacent pairs of n, and then of m.
func (f *Function) VFMINP(m, n, d Arranged) { f.word3("VFMINP", m, n, d) }

// VFCMEQ sets the bits of a lane of d to ones if n == m, and otherwise to zeros.
func (f *Function) VFCMEQ(m, n, d Arranged) { f.word3("VFCMEQ", m, n, d) }

// VFCMGE sets the bits of a lane of d to ones if n >= m, and otherwise to zeros.
func (f *Function) VFCMGE(m, n, d Arranged) { f.word3("VFCMGE", m, n, d) }

// VFCMGT sets the bits of a lane of d to ones if n > m, and otherwise to zeros.
func (f *Function) VFCMGT(m, n, d Arranged) { f.word3("VFCMGT", m, n, d) }

// VBIC sets d to n &^ m.
func (f *Function) VBIC(m, n, d Arranged) { f.word3("VBIC", m, n, d) }

// VFABS sets d to |n|.
func (f *Function) VFABS(n, d Arranged) { f.word2("VFABS", n, d) }

// VFNEG sets d to -n.
func (f *Function) VFNEG(n, d Arranged) { f.word2("VFNEG", n, d) }

// VFSQRT sets d to sqrt(n).
func (f *Function) VFSQRT(n, d Arranged) { f.word2("VFSQRT", n, d) }

// VFRINTN sets d to n rounded to an integer, ties to even.
func (f *Function) VFRINTN(n, d Arranged) { f.word2("VFRINTN", n, d) }

// VFRINTM sets d to n rounded down to an integer.
func (f *Function) VFRINTM(n, d Arranged) { f.word2("VFRINTM", n, d) }

// VFCVTZS sets d to n as an int32, truncated.
func (f *Function) VFCVTZS(n, d Arranged) { f.word2("VFCVTZS", n, d) }

// VFCVTNS sets d to n as an int32, rounded, ties to even.
func (f *Function) VFCVTNS(n, d Arranged) { f.word2("VFCVTNS", n, d) }

// VSCVTF sets d to n, an int32, as a float.
func (f *Function) VSCVTF(n, d Arranged) { f.word2("VSCVTF", n, d) }

// VNOT sets d to ^n.
func (f *Function) VNOT(n, d Arranged) { f.word2("VNOT", n, d) }

// VFMAXV sets lane 0 of d to the maximum of all lanes of n, or to NaN if any lane is NaN.
func (f *Function) VFMAXV(n Arranged, d Vec) {
	f.word("VFMAXV", across, false, []VecOperand{n}, d.As(n.arr), 0)
}

// VFMINV sets lane 0 of d to the minimum of all lanes of n, or to NaN if any lane is NaN.
func (f *Function) VFMINV(n Arranged, d Vec) {
	f.word("VFMINV", across, false, []VecOperand{n}, d.As(n.arr), 0)
}

// VFCVTL sets d to the four floats of 16 bits in n, which is H4, as floats of 32 bits.
func (f *Function) VFCVTL(n, d Arranged) { f.word("VFCVTL", convert, false, []VecOperand{n}, d, 0) }

// VSSHR sets d to n >> i, signed.
func (f *Function) VSSHR(i int, n, d Arranged) {
	if top := arrangements[n.arr].bits; i < 1 || i > top {
		f.errorf("VSSHR: shift by %d, want 1 to %d", i, top)
		return
	}
	f.word("VSSHR", shiftRight, false, []VecOperand{n}, d, i)
}

// VXTN sets the lower half of d to the lower half of each lane of n.
func (f *Function) VXTN(n, d Arranged) { f.word("VXTN", convert, false, []VecOperand{n}, d, 0) }

// VSMULL sets d to the products of the lower eight bytes of n and m, in 16 bits.
func (f *Function) VSMULL(m, n, d Arranged) {
	f.word("VSMULL", widening, false, []VecOperand{m, n}, d, 0)
}

// VSMULL2 does the same as VSMULL, for the upper eight bytes.
func (f *Function) VSMULL2(m, n, d Arranged) {
	f.word("VSMULL2", widening, false, []VecOperand{m, n}, d, 0)
}

// VSMLAL adds to d the products of the lower eight bytes of n and m, in 16 bits, or of the lower
// four words of 16 bits, in 32 bits.
func (f *Function) VSMLAL(m, n, d Arranged) {
	f.word("VSMLAL", widening, true, []VecOperand{m, n}, d, 0)
}

// VSMLAL2 does the same as VSMLAL, for the upper eight bytes or four words.
func (f *Function) VSMLAL2(m, n, d Arranged) {
	f.word("VSMLAL2", widening, true, []VecOperand{m, n}, d, 0)
}

// VSADALP adds a pair of 16-bit lanes of n to each 32-bit lane of d.
func (f *Function) VSADALP(n, d Arranged) { f.word("VSADALP", convert, true, []VecOperand{n}, d, 0) }

// VSDOT adds to each 32-bit lane of d the products of four bytes of n and the four bytes of a lane
// of m.
func (f *Function) VSDOT(m Element, n, d Arranged) {
	f.word("VSDOT", dotElement, true, []VecOperand{m, n}, d, 0)
}

// VSMMLA adds n*m^T to the four 32-bit lanes of d, which are a 2x2 matrix. n and m have two rows of
// eight bytes.
func (f *Function) VSMMLA(m, n, d Arranged) {
	f.word("VSMMLA", widening, true, []VecOperand{m, n}, d, 0)
}
