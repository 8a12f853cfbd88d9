// Package tile executes the instructions of Intel's AMX: it has a decoder of their encodings, and a
// machine with the tiles of one thread. The runner in the folder above uses it for programs on
// processors that have no tiles.
//
// decode.go decodes instructions, machine.go has tiles, their configuration, loads and stores, and
// dot.go has the products. pairs.go has VDPBF16PS, which multiplies bfloat16 in vectors, as
// products of tiles do.
//
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18, and
// volume 2, the pages of the instructions.
package tile

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// Op is an instruction.
type Op uint8

// These are the instructions.
const (
	LDTILECFG Op = iota
	STTILECFG
	TILERELEASE
	TILEZERO
	TILELOADD
	TILELOADDT1
	TILESTORED
	TDPBSSD
	TDPBSUD
	TDPBUSD
	TDPBUUD
	TDPBF16PS
)

var opNames = [...]string{"LDTILECFG", "STTILECFG", "TILERELEASE", "TILEZERO", "TILELOADD", "TILELOADDT1", "TILESTORED",
	"TDPBSSD", "TDPBSUD", "TDPBUSD", "TDPBUUD", "TDPBF16PS"}

func (o Op) String() string { return opNames[o] }

// Ops returns all instructions.
func Ops() (all []Op) {
	for o := range opNames {
		all = append(all, Op(o))
	}
	return all
}

// Instruction is a decoded instruction.
type Instruction struct {
	Op
	// C is the tile that changes or is stored. A product adds A times B to it.
	C, A, B int
	// Mem is the operand in memory. For loads and stores, its index is the stride of rows.
	Mem Address
	Len int // length in bytes
}

// Address is an operand in memory. Registers have the numbers of their encoding; -1 means no
// register.
type Address struct {
	Base, Index int
	Scale       int
	Disp        int64
	OfNext      bool // Disp is relative to the next instruction
}

// encoding identifies an instruction: the prefix that VEX holds, the opcode, and whether the
// operand is in memory.
type encoding struct {
	prefix, opcode byte
	memory         bool
}

var encodings = map[encoding]Op{
	{0, 0x49, true}: LDTILECFG, {1, 0x49, true}: STTILECFG, {0, 0x49, false}: TILERELEASE, {3, 0x49, false}: TILEZERO,
	{3, 0x4b, true}: TILELOADD, {1, 0x4b, true}: TILELOADDT1, {2, 0x4b, true}: TILESTORED,
	{3, 0x5e, false}: TDPBSSD, {2, 0x5e, false}: TDPBSUD, {1, 0x5e, false}: TDPBUSD, {0, 0x5e, false}: TDPBUUD,
	{2, 0x5c, false}: TDPBF16PS,
}

// Decode decodes the instruction at the beginning of code. It returns an error if that is not an
// instruction of AMX, or if the processor refuses it as #UD.
func Decode(code []byte) (i Instruction, err error) {
	if len(code) < 5 || code[0] != 0xc4 || code[1]&0x1f != 2 {
		return i, fmt.Errorf("% x: not an instruction of AMX", code[:min(len(code), 5)])
	}
	r, x, b := ^code[1]>>7&1, ^code[1]>>6&1, ^code[1]>>5&1
	wide, v, long, prefix := code[2]>>7, ^code[2]>>3&15, code[2]>>2&1, code[2]&3
	modrm := code[4]
	mod, reg, rm := modrm>>6, modrm>>3&7, modrm&7
	op, ok := encodings[encoding{prefix, code[3], mod != 3}]
	if !ok || wide != 0 || long != 0 {
		return i, fmt.Errorf("% x: not an instruction of AMX", code[:5])
	}
	i = Instruction{Op: op, C: int(reg), Len: 5}
	switch op {
	case TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD, TDPBF16PS:
		i.A, i.B = int(rm), int(v)
		if r != 0 || b != 0 || v > 7 {
			return i, fmt.Errorf("%v: tile number above 7", op)
		}
		return i, nil
	case TILEZERO, TILERELEASE:
		if r != 0 || v != 0 || rm != 0 || op == TILERELEASE && reg != 0 {
			return i, fmt.Errorf("% x: reserved bits of %v are set", code[:5], op)
		}
		return i, nil
	case LDTILECFG, STTILECFG:
		if reg != 0 {
			return i, fmt.Errorf("% x: reserved bits of %v are set", code[:5], op)
		}
	default:
		if rm != 4 {
			return i, fmt.Errorf("% x: %v without an index", code[:5], op)
		}
	}
	if r != 0 || v != 0 {
		return i, fmt.Errorf("% x: reserved bits of %v are set", code[:5], op)
	}
	return i, i.address(code[4:], x, b)
}

// address decodes ModR/M and the bytes that follow it.
func (i *Instruction) address(code []byte, x, b byte) error {
	mod, rm := code[0]>>6, code[0]&7
	m := Address{Base: int(rm | b<<3), Index: -1, Scale: 1}
	at := 1
	if rm == 4 {
		if len(code) < 2 {
			return fmt.Errorf("%v ends within its address", i.Op)
		}
		sib := code[1]
		at = 2
		m.Scale, m.Base = 1<<(sib>>6), int(sib&7|b<<3)
		if index := int(sib>>3&7 | x<<3); index != 4 {
			m.Index = index
		}
		rm = sib & 7
	}
	bytes := [4]int{0, 1, 4}[mod]
	if mod == 0 && rm == 5 {
		m.OfNext = code[0]&7 == 5
		m.Base, bytes = -1, 4
	}
	if len(code) < at+bytes {
		return fmt.Errorf("%v ends within its address", i.Op)
	}
	switch bytes {
	case 1:
		m.Disp = int64(int8(code[at]))
	case 4:
		m.Disp = int64(int32(binary.LittleEndian.Uint32(code[at:])))
	}
	i.Mem, i.Len = m, 4+at+bytes
	return nil
}

// Of returns the address without its index. reg returns the contents of registers, and next is the
// address of the next instruction.
func (m Address) Of(reg func(n int) uint64, next uint64) uint64 {
	at := uint64(m.Disp)
	if m.Base >= 0 {
		at += reg(m.Base)
	}
	if m.OfNext {
		at += next
	}
	return at
}

// Stride returns the scaled index, or 0 if there is no index.
func (m Address) Stride(reg func(n int) uint64) uint64 {
	if m.Index < 0 {
		return 0
	}
	return reg(m.Index) * uint64(m.Scale)
}

// Registers are the names of the general registers, indexed by the numbers that instructions
// encode.
var Registers = [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// String returns the instruction in the syntax of the GNU assembler.
func (i Instruction) String() string {
	name := strings.ToLower(i.Op.String())
	switch i.Op {
	case LDTILECFG, STTILECFG:
		return fmt.Sprintf("%s %v", name, i.Mem)
	case TILERELEASE:
		return name
	case TILEZERO:
		return fmt.Sprintf("%s %%tmm%d", name, i.C)
	case TILELOADD, TILELOADDT1:
		return fmt.Sprintf("%s %v,%%tmm%d", name, i.Mem, i.C)
	case TILESTORED:
		return fmt.Sprintf("%s %%tmm%d,%v", name, i.C, i.Mem)
	}
	return fmt.Sprintf("%s %%tmm%d,%%tmm%d,%%tmm%d", name, i.B, i.A, i.C)
}

func (m Address) String() string {
	text := ""
	if m.Disp != 0 {
		text = strconv.FormatInt(m.Disp, 10)
	}
	if m.OfNext {
		return text + "(%rip)"
	}
	text += "("
	if m.Base >= 0 {
		text += "%" + Registers[m.Base]
	}
	if m.Index >= 0 {
		text += fmt.Sprintf(",%%%s,%d", Registers[m.Index], m.Scale)
	}
	return text + ")"
}
