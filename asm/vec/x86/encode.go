package x86

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// This file replaces instructions that Go's assembler lacks by bytes, after register allocation and
// the check of their features.

// encoded is an instruction as bytes, and as text for the GNU assembler, which assembles it in a
// test.
type encoded interface {
	code() []byte
	text() string
}

// Encode replaces the instructions of a function that Go's assembler lacks by their bytes.
func Encode(fn *ir.Function) {
	for _, i := range fn.Instructions() {
		var e encoded
		switch {
		case slices.Contains(i.ISA, avxVNNI):
			e = vexDot(registersOf(i))
		case slices.Contains(i.ISA, avx512BF16):
			e = evexDot(registersOf(i))
		case slices.ContainsFunc(i.ISA, func(f string) bool { return f == amxTile || f == amxInt8 || f == amxBF16 }):
			e = tileOf(i)
		default:
			continue
		}
		d := directives(e)
		i.Opcode, i.Operands = d[0].name, []operand.Op{bytesOf{d, e.text()}}
	}
}

// registersOf returns the numbers of the three allocated registers of an instruction.
func registersOf(i *ir.Instruction) (numbers [3]int) {
	for n, op := range i.Operands {
		numbers[n] = number(op.(reg.Register))
	}
	return numbers
}

// directive is a directive of Go's assembler that emits bytes.
type directive struct{ name, value string }

func directives(e encoded) (all []directive) {
	for c := e.code(); len(c) > 0; {
		n, d := 1, directive{"BYTE", fmt.Sprintf("$0x%02x", c[0])}
		switch {
		case len(c) >= 4:
			n, d = 4, directive{"LONG", fmt.Sprintf("$0x%08x", binary.LittleEndian.Uint32(c))}
		case len(c) >= 2:
			n, d = 2, directive{"WORD", fmt.Sprintf("$0x%04x", binary.LittleEndian.Uint16(c))}
		}
		all, c = append(all, d), c[n:]
	}
	return all
}

// bytesOf is the operand of the first directive. It prints as the value, followed by the other
// directives.
type bytesOf struct {
	all  []directive
	text string
}

// Asm implements operand.Op.
func (b bytesOf) Asm() string {
	parts := []string{b.all[0].value}
	for _, d := range b.all[1:] {
		parts = append(parts, d.name+" "+d.value)
	}
	return strings.Join(parts, "; ") + " // " + b.text
}
