package arm64

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mmcloughlin/avo/gotypes"
)

// Function is a function under construction. Its methods append to it.
//
// A method with an invalid argument records the error and continues; File.Assembly returns all
// errors.
type Function struct {
	name    string
	doc     []string
	sig     *gotypes.Signature
	file    *File
	regs    []*register
	nodes   []node
	comment []string // the comment of the next node
	pool    *register
	consts  []*register // the registers that Const made, in order
	table   []*register // the registers of TablePair, or nil
	errs    []error
}

// node is an instruction or a label.
type node struct {
	label   string
	op      string
	args    []operand
	reads   []*register
	writes  []*register
	target  string // the target of a branch
	final   bool   // control never continues with the next node
	move    bool   // it copies the only register that it reads to the only one that it writes
	comment []string
	made    string
	word    *word // the instruction is printed as this word, or nil
	imm     int   // the word's immediate: a lane or a shift
}

// errorf records an error at the caller's line.
func (f *Function) errorf(format string, args ...any) {
	f.errs = append(f.errs, fmt.Errorf("%s: %s: %s", caller(), f.name, fmt.Sprintf(format, args...)))
}

// caller returns the nearest line outside this package's methods.
func caller() string {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		if !more || !strings.Contains(frame.Function, "/asm/arm64.(*F") && !strings.HasSuffix(frame.Function, "/asm/arm64.caller") {
			return fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line)
		}
	}
}

func (f *Function) newRegister(c class) *register {
	r := &register{class: c, id: len(f.regs), fn: f, made: caller(), physical: -1}
	f.regs = append(f.regs, r)
	return r
}

// GP returns a fresh general register.
func (f *Function) GP() GP { return GP{f.newRegister(gp)} }

// V returns a fresh vector register.
func (f *Function) V() Vec { return Vec{f.newRegister(vector)} }

// TablePair returns two vector registers with consecutive numbers, the same two in each call. VTBL2
// uses them as a table.
func (f *Function) TablePair() (a, b Vec) {
	if f.table == nil {
		last := allocatable[vector][len(allocatable[vector])-1]
		for i := range 2 {
			r := f.newRegister(vector)
			r.fixed, r.physical = true, last-1+i
			f.table = append(f.table, r)
		}
	}
	return Vec{f.table[0]}, Vec{f.table[1]}
}

// Doc sets the comment of the function's Go declaration. It follows the function's name.
func (f *Function) Doc(lines ...string) { f.doc = lines }

// Comment adds a comment to the next instruction.
func (f *Function) Comment(text string) {
	f.comment = append(f.comment, strings.Split(text, "\n")...)
}

// Param returns a parameter; see gotypes.Component for its parts, as in Param("x").Base().
func (f *Function) Param(name string) gotypes.Component { return f.sig.Params().Lookup(name) }

// ReturnIndex returns the i-th result.
func (f *Function) ReturnIndex(i int) gotypes.Component { return f.sig.Results().At(i) }

// Load reads a parameter. Floats go to lane 0 of a vector register, and the other lanes become 0.
func (f *Function) Load(from gotypes.Component, to Reg) {
	f.frame(from, to, false)
}

// Store writes a result.
func (f *Function) Store(from Reg, to gotypes.Component) {
	f.frame(to, from, true)
}

// frame moves data between a register and the frame of arguments and results.
func (f *Function) frame(c gotypes.Component, o Reg, store bool) {
	b, err := c.Resolve()
	if err != nil {
		f.errorf("%v", err)
		return
	}
	kind := b.Type.String()
	if kind == "uintptr" || kind == "int" || kind == "uint" || strings.HasPrefix(kind, "*") {
		kind = "int64"
	}
	n := node{args: []operand{literal(b.Addr.Asm()), o}}
	switch o.(type) {
	case GP:
		n.op = map[string]string{"int64": "MOVD", "uint64": "MOVD", "int32": "MOVW", "uint32": "MOVWU",
			"int16": "MOVH", "uint16": "MOVHU", "int8": "MOVB", "uint8": "MOVBU", "bool": "MOVBU"}[kind]
	case Vec:
		n.op = map[string]string{"float32": "FMOVS", "float64": "FMOVD"}[kind]
	}
	if n.op == "" {
		f.errorf("no move between %s and %T", b.Type, o)
		return
	}
	n.writes = []*register{o.reg()}
	if store {
		n.args[0], n.args[1] = n.args[1], n.args[0]
		n.reads, n.writes = n.writes, nil
	}
	f.add(n)
}

// Label defines a label for branches.
func (f *Function) Label(name string) { f.add(node{label: name}) }

// Undefine makes the contents of a register arbitrary from here on: later instructions may read it,
// but it need not keep its contents. It emits no instruction.
func (f *Function) Undefine(v Vec) { f.add(node{writes: []*register{v.r}}) }

// add appends a node and checks its registers.
func (f *Function) add(n node) {
	n.comment, f.comment = f.comment, nil
	n.made = caller()
	for _, list := range []*[]*register{&n.reads, &n.writes} {
		kept := (*list)[:0:0]
		for _, r := range *list {
			switch {
			case r == ZR.r:
				continue // ZR is neither read nor written
			case r == nil:
				f.errorf("%s: no register", n.op)
				return
			case r.fn != f:
				f.errorf("%s: register made at %s belongs to another function", n.op, r.made)
				return
			}
			kept = append(kept, r)
		}
		*list = kept
	}
	for _, w := range n.writes {
		if w.constant != nil {
			f.errorf("%s: writes the constant made at %s", n.op, w.made)
			return
		}
	}
	f.nodes = append(f.nodes, n)
}

// Const returns a register that holds four 32-bit words throughout the function. The caller must
// only read it. It is loaded once, on entry, or at each use if registers are scarce.
func (f *Function) Const(words [4]uint32) Vec {
	for _, r := range f.consts {
		if *r.constant == words {
			return Vec{r}
		}
	}
	v := f.V()
	v.r.constant = &words
	f.consts = append(f.consts, v.r)
	return v
}

// LoadConst loads four 32-bit words from the file's read-only data.
func (f *Function) LoadConst(words [4]uint32, d Vec) { f.add(f.loadConst(words, d.r)) }

func (f *Function) loadConst(words [4]uint32, d *register) node {
	if f.pool == nil {
		f.pool = f.newRegister(gp)
	}
	m := At(GP{f.pool}, f.file.poolOffset(words))
	return node{op: "FMOVQ", args: []operand{m, Vec{d}}, reads: []*register{f.pool}, writes: []*register{d}, made: caller()}
}
