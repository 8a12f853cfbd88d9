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
// A constructor is named after Go's mnemonic and takes its operands in Go's order, sources first
// and the destination last. The source that Go's manual writes first is the second operand of the
// machine's manual: VFSUB(m, n, d) is d = n - m.
//
// Go 1.26's assembler lacks most float vector instructions. Those are printed as WORD with the GNU
// syntax as comment, from a table (words.go) whose every row the tests hold against an independent
// decoder and an assembler. Since the assembler cannot check a WORD, and lets some mistakes pass
// elsewhere, operands are checked here: wrong arrangements, lanes, immediates and offsets,
// registers read before they are written, undefined labels and running out of registers are errors
// of File.Assembly, with the line of the generator that made them.
//
// # Registers
//
// Those that arch.NEON lists are allocated; it says who the others belong to. Nothing is spilled,
// except that constants made by Function.Const are loaded again at each use where keeping them in
// registers fails.
package arm64
