// Package arm64 writes Go assembly for arm64 from Go, in the manner of avo: instructions on virtual
// registers, a register allocator, and a printer.
//
//	file := arm64.NewFile()
//	f := file.Function("sum4", "func(x *[4]float32) float32")
//	p, v := f.GP(), f.V()
//	f.Load(f.Param("x"), p)
//	f.FMOVQ(arm64.At(p, 0), v)
//	f.VFADDP(v.S4(), v.S4(), v.S4())
//	f.VFADDP(v.S4(), v.S4(), v.S4())
//	f.Store(v, f.ReturnIndex(0))
//	f.RET()
//	text, err := file.Assembly()
//
// A constructor has the name of Go's mnemonic and takes its operands in Go's order: sources first,
// the destination last. The source that Go's manual writes first is the second operand in the
// machine's manual: VFSUB(m, n, d) is d = n - m.
//
// Go 1.26's assembler lacks most float vector instructions. They are printed as WORD with the GNU
// syntax as a comment, from a table (words.go). Tests check every row of the table with an
// independent decoder and an assembler. The assembler cannot check a WORD, and accepts some
// mistakes in other instructions. Therefore this package checks operands: wrong arrangements,
// lanes, immediates and offsets, registers read before they are written, undefined labels and
// running out of registers are errors of File.Assembly, with the generator's line that made them.
//
// # Registers
//
// Only the registers that arch.NEON lists are allocated; its field Reserved says who uses the
// remaining ones. Registers are never spilled. However, constants made by Function.Const are loaded
// again before each use if there are too few registers to keep them.
package arm64
