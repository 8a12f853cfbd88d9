package x86

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/avoformer/avoformer/asm/vec"
)

// This file has the tiles of AMX. Go's assembler and avo know none of their instructions. The
// kernel allocates tile registers, and their numbers are constants for avo.

// The features that the instructions need, and the instruction before a return.
const (
	amxTile, amxInt8, amxBF16 = "AMXTILE", "AMXINT8", "AMXBF16"
	tileRelease               = "TILERELEASE"
)

// tileOp adds an instruction with operands in memory and in tiles.
func (x *Machine) tileOp(opcode, feature string, ops ...operand.Op) {
	i := &ir.Instruction{Opcode: opcode, Operands: ops, ISA: []string{feature}}
	for _, op := range ops {
		if m, ok := op.(operand.Mem); ok {
			i.Inputs = append(i.Inputs, m)
		}
	}
	x.Instruction(i)
}

func tile(t vec.Tile) operand.Op { return operand.U8(t) }

// rowsAt returns memory with rows apart bytes apart.
func rowsAt(p vec.Ptr, apart vec.Int) operand.Mem {
	m := at(p, 0)
	m.Index, m.Scale = general(apart), 1
	return m
}

// These are offsets in a configuration: the palette, 16 bits per tile with the bytes of a row, and
// a byte per tile with the number of rows.
const (
	configBytes          = 64
	palette              = 1
	configColumns        = 16
	configRows           = 48
	configWords, tileMax = configBytes / 8, 8
)

// tileShapes is a configuration in the frame.
type tileShapes struct {
	x  *Machine
	at operand.Mem
}

// TileShapes implements Tiles.
func (x *Machine) TileShapes() vec.TileShapes {
	s := tileShapes{x, x.AllocLocal(configBytes)}
	word := x.GP64()
	x.MOVQ(operand.I32(palette), word)
	x.MOVQ(word, s.at)
	x.XORL(word.As32(), word.As32())
	for w := 1; w < configWords; w++ {
		x.MOVQ(word, s.at.Offset(8*w))
	}
	return s
}

// Set implements TileShapes.
func (s tileShapes) Set(t vec.Tile, rows, bytes vec.Int) {
	s.x.MOVB(rows.Reg.(reg.GPVirtual).As8(), s.at.Offset(configRows+int(t)))
	s.x.MOVW(bytes.Reg.(reg.GPVirtual).As16(), s.at.Offset(configColumns+2*int(t)))
}

// Configure implements TileShapes.
func (s tileShapes) Configure() {
	p := s.x.GP64()
	s.x.LEAQ(s.at, p)
	s.x.tileOp("LDTILECFG", amxTile, operand.Mem{Base: p})
}

// ZeroTile implements Tiles.
func (x *Machine) ZeroTile(t vec.Tile) { x.tileOp("TILEZERO", amxTile, tile(t)) }

// LoadTile implements Tiles.
func (x *Machine) LoadTile(t vec.Tile, p vec.Ptr, apart vec.Int) {
	x.tileOp("TILELOADD", amxTile, rowsAt(p, apart), tile(t))
}

// StoreTile implements Tiles.
func (x *Machine) StoreTile(p vec.Ptr, apart vec.Int, t vec.Tile) {
	x.tileOp("TILESTORED", amxTile, tile(t), rowsAt(p, apart))
}

// DotTile implements Tiles.
func (x *Machine) DotTile(sums, a, b vec.Tile) {
	x.tileOp("TDPBSUD", amxInt8, tile(b), tile(a), tile(sums))
}

// DotSignedTile implements Tiles.
func (x *Machine) DotSignedTile(sums, a, b vec.Tile) {
	x.tileOp("TDPBSSD", amxInt8, tile(b), tile(a), tile(sums))
}

// DotBFloat16Tile implements Tiles.
func (x *Machine) DotBFloat16Tile(sums, a, b vec.Tile) {
	x.tileOp("TDPBF16PS", amxBF16, tile(b), tile(a), tile(sums))
}

// ReleaseTiles releases the thread's tiles.
func (x *Machine) ReleaseTiles() { x.tileOp(tileRelease, amxTile) }

// tileInstruction is an instruction on tiles, with operands in the GNU assembler's order.
type tileInstruction struct {
	opcode string
	tiles  []int
	mem    *tileAddress
	first  bool // memory comes first
}

// tileAddress is an address with the numbers of its registers. index is -1 if there is none.
type tileAddress struct{ base, index int }

// tileOf returns the instruction, after register allocation.
func tileOf(i *ir.Instruction) tileInstruction {
	t := tileInstruction{opcode: i.Opcode}
	for n, op := range i.Operands {
		switch op := op.(type) {
		case operand.U8:
			t.tiles = append(t.tiles, int(op))
		case operand.Mem:
			t.mem, t.first = &tileAddress{number(op.Base), -1}, n == 0
			if op.Index != nil {
				t.mem.index = number(op.Index)
			}
		}
	}
	return t
}

func number(r reg.Register) int { return int(r.(reg.Physical).PhysicalIndex()) }

// tileEncodings has the prefix in VEX and the opcode (Intel SDM volume 2).
var tileEncodings = map[string]struct{ prefix, opcode byte }{
	"LDTILECFG": {0, 0x49}, tileRelease: {0, 0x49}, "TILEZERO": {3, 0x49},
	"TILELOADD": {3, 0x4b}, "TILESTORED": {2, 0x4b}, "TDPBSUD": {2, 0x5e}, "TDPBSSD": {3, 0x5e}, "TDPBF16PS": {2, 0x5c},
}

// code returns VEX.128.p.0F38.W0, the opcode, and the registers in ModR/M.
func (t tileInstruction) code() []byte {
	e := tileEncodings[t.opcode]
	c := []byte{0xc4, 0xe2, 0x78 | e.prefix, e.opcode, 0xc0}
	switch {
	case t.mem != nil:
		register := 0
		if len(t.tiles) > 0 {
			register = t.tiles[0]
		}
		return t.mem.encode(c, register)
	case len(t.tiles) == 3: // B, A and the sums
		c[2] ^= byte(t.tiles[0]) << 3
		c[4] |= byte(t.tiles[2]<<3 | t.tiles[1])
	case len(t.tiles) == 1:
		c[4] |= byte(t.tiles[0] << 3)
	}
	return c
}

// encode completes an instruction on memory and a tile. As a base, the stack pointer and R12 have
// the code that announces an index, and BP and R13 the code that announces a displacement: they get
// a displacement of 0.
func (m *tileAddress) encode(c []byte, register int) []byte {
	const withIndex, noIndex, byteFollows = 4, 4, 0x40
	c[1] ^= byte(m.base >> 3 << 5)
	modrm, low := byte(register<<3), byte(m.base&7)
	var rest []byte
	if m.index >= 0 || low == withIndex {
		index := noIndex
		if m.index >= 0 {
			index = m.index
			c[1] ^= byte(index >> 3 << 6)
		}
		rest = append(rest, byte(index&7)<<3|low)
		modrm |= withIndex
	} else {
		modrm |= low
	}
	if low == 5 {
		modrm |= byteFollows
		rest = append(rest, 0)
	}
	c[4] = modrm
	return append(c, rest...)
}

var generalNames = [...]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// text returns the instruction for the GNU assembler.
func (t tileInstruction) text() string {
	var ops []string
	for _, n := range t.tiles {
		ops = append(ops, "%tmm"+strconv.Itoa(n))
	}
	if m := t.mem; m != nil {
		text := "(%" + generalNames[m.base]
		if m.index >= 0 {
			text += fmt.Sprintf(",%%%s,1", generalNames[m.index])
		}
		if text += ")"; t.first {
			ops = append([]string{text}, ops...)
		} else {
			ops = append(ops, text)
		}
	}
	return strings.TrimSpace(strings.ToLower(t.opcode) + " " + strings.Join(ops, ", "))
}
