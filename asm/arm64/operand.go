package arm64

import (
	"fmt"
	"strconv"

	"github.com/avoformer/avoformer/asm/arch"
)

// class is a kind of register.
type class uint8

const (
	gp class = iota
	vector
)

// allocatable lists the registers of each class that functions may use.
var allocatable = [...][]int{
	gp:     arch.NEON.General,
	vector: arch.NEON.Vectors,
}

func (c class) String() string { return [...]string{"general", "vector"}[c] }

// register is a virtual register of one function, or the zero register.
type register struct {
	class    class
	id       int // index in fn.regs
	fn       *Function
	made     string     // line of the generator
	constant *[4]uint32 // the words of a constant; see Function.Const
	fixed    bool       // physical is set at creation, see Function.TablePair
	merged   *register  // the register whose number it shares; set by the allocator
	physical int        // set by the allocator
}

// zeroRegister is the number of the register that reads as zero.
const zeroRegister = 31

// GP is a 64-bit general register.
type GP struct{ r *register }

// ZR reads as zero, and discards writes.
var ZR = GP{&register{class: gp, physical: zeroRegister}}

func (g GP) text() string {
	if g.r.physical == zeroRegister {
		return "ZR"
	}
	return fmt.Sprintf("R%d", g.r.physical)
}

// Vec is a 128-bit vector register. Vector instructions take a view of it, such as v.S4 or v.S(2);
// scalar instructions and moves of whole registers take the Vec.
type Vec struct{ r *register }

func (v Vec) text() string { return fmt.Sprintf("F%d", v.r.physical) }

// Arrangement is the way in which a vector instruction divides a register into lanes.
type Arrangement uint8

// These are the arrangements, in Go's spelling: the size of a lane, and the number of lanes.
const (
	B8 Arrangement = iota
	B16
	H4
	H8
	S2
	S4
	D1
	D2
)

var arrangements = [...]struct {
	name, gnu string
	lane      byte
	bits      int // the size of a lane
	lanes     int
}{
	B8:  {"B8", "8b", 'B', 8, 8},
	B16: {"B16", "16b", 'B', 8, 16},
	H4:  {"H4", "4h", 'H', 16, 4},
	H8:  {"H8", "8h", 'H', 16, 8},
	S2:  {"S2", "2s", 'S', 32, 2},
	S4:  {"S4", "4s", 'S', 32, 4},
	D1:  {"D1", "1d", 'D', 64, 1},
	D2:  {"D2", "2d", 'D', 64, 2},
}

func (a Arrangement) String() string { return arrangements[a].name }

// Arranged is a vector register as a sequence of lanes.
type Arranged struct {
	v   Vec
	arr Arrangement
}

func (a Arranged) text() string { return fmt.Sprintf("V%d.%s", a.v.r.physical, a.arr) }

// As returns v in the given arrangement.
func (v Vec) As(a Arrangement) Arranged { return Arranged{v, a} }

// B16 returns v as 16 bytes.
func (v Vec) B16() Arranged { return v.As(B16) }

// S4 returns v as 4 lanes of 32 bits.
func (v Vec) S4() Arranged { return v.As(S4) }

// H4, H8 and B8 return v, or its lower half, as lanes of 16 and 8 bits.
func (v Vec) H4() Arranged { return v.As(H4) }
func (v Vec) H8() Arranged { return v.As(H8) }
func (v Vec) B8() Arranged { return v.As(B8) }

// D2 returns v as 2 lanes of 64 bits.
func (v Vec) D2() Arranged { return v.As(D2) }

// Element is one lane of a vector register.
type Element struct {
	v    Vec
	size byte // 'B', 'H', 'S' or 'D'
	lane int
}

func (e Element) text() string { return fmt.Sprintf("V%d.%c[%d]", e.v.r.physical, e.size, e.lane) }

// S returns 32-bit lane i of v.
func (v Vec) S(i int) Element { return Element{v, 'S', i} }

// D returns 64-bit lane i of v.
func (v Vec) D(i int) Element { return Element{v, 'D', i} }

// elementBits holds the size of a lane by its letter.
var elementBits = map[byte]int{'B': 8, 'H': 16, 'S': 32, 'D': 64}

// VecOperand is an Arranged, or an Element that is used for every lane.
type VecOperand interface {
	operand
	vec() Vec
}

func (a Arranged) vec() Vec { return a.v }
func (e Element) vec() Vec  { return e.v }

// Reg is a whole register: a GP or a Vec.
type Reg interface {
	operand
	reg() *register
}

func (g GP) reg() *register  { return g.r }
func (v Vec) reg() *register { return v.r }

// Imm is an immediate.
type Imm int64

func (i Imm) text() string { return "$" + strconv.FormatInt(int64(i), 10) }

// Shifted is a general register shifted left, as an operand of ADD and SUB.
type Shifted struct {
	g GP
	n int
}

// LSL returns g << n as an operand.
func (g GP) LSL(n int) Shifted { return Shifted{g, n} }

func (s Shifted) text() string { return fmt.Sprintf("%s<<%d", s.g.text(), s.n) }

// Scalar is a second operand of integer arithmetic: a GP, a Shifted or an Imm.
type Scalar interface {
	operand
	scalar()
}

func (GP) scalar()      {}
func (Shifted) scalar() {}
func (Imm) scalar()     {}

// Mem is a memory operand.
type Mem struct {
	base GP
	disp int
	post bool
}

// At returns the memory at base + disp.
func At(base GP, disp int) Mem { return Mem{base: base, disp: disp} }

// Post returns the memory at base, which advances by disp after the access.
func Post(base GP, disp int) Mem { return Mem{base: base, disp: disp, post: true} }

func (m Mem) text() string {
	if m.disp == 0 {
		return fmt.Sprintf("(%s)", m.base.text())
	}
	return fmt.Sprintf("%d(%s)", m.disp, m.base.text())
}

// suffix returns the suffix of the mnemonic for this form of addressing.
func (m Mem) suffix() string {
	if m.post {
		return ".P"
	}
	return ""
}

// operand is anything that is printed as an operand.
type operand interface{ text() string }

// literal is text that needs no registers.
type literal string

func (l literal) text() string { return string(l) }

// pair prints as (F0, F1).
type pair struct{ a, b Vec }

func (p pair) text() string { return fmt.Sprintf("(%s, %s)", p.a.text(), p.b.text()) }

// list prints as [V0.S4].
type list struct{ a Arranged }

func (l list) text() string { return "[" + l.a.text() + "]" }

// lane0 prints as V0. It is lane 0, the result of an instruction across lanes.
type lane0 struct{ v Vec }

func (s lane0) text() string { return fmt.Sprintf("V%d", s.v.r.physical) }
