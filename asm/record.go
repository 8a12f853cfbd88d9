package asm

import (
	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has the record of a kernel: the one place that states the types and
// shapes of its operands. The signature, the contract that its declarations
// carry, what the race detector is told, the calls of the tests and the limits
// that drivers ask for are all made from it.

// Kernel is one operation of the catalog.
type Kernel struct {
	File   string // the file of package simd, without tier and architecture
	Source string // the file of asm/kernel that it comes from
	Name   string // the symbols are this and the implementation; the dispatching function is this, exported
	// Doc says what the kernel computes. What its operands are, Params says.
	Doc    []string
	Params []Param
	// Sizes are those that no parameter tells: lengths of slices.
	Sizes []Size
	// Result is the type of the result, "" for none.
	Result string

	// Blocks is the layout of the weights, for kernels with weights in blocks.
	Blocks kernel.BlockLayout

	// Close says how close to the pure-Go twin the results are.
	Close Closeness
	// Elements is how many elements a call of an implementation may take, by its name, where
	// those are fewer than mostElements.
	Elements map[string]int

	// On are the implementations, best first; nil stands for one on every tier.
	On []On
	// Body writes it.
	Body func(vec.Machine)
}

// On is an implementation of a kernel: a tier, and the features beyond it that it needs.
type On struct {
	Tier  string
	Needs []arch.Feature
	// Body writes it; nil stands for the kernel's own Body.
	Body func(vec.Machine)
}

// Closeness is how far the elements of two implementations may lie apart.
type Closeness struct {
	// Exact is set where all bits agree.
	Exact bool
	// Relative is set where nothing can cancel, so that results are as close as rounding lets
	// them be, relative to their size.
	Relative bool
	// Sums is the size of sums that may cancel; 0 stands for 1.
	Sums int
}

// Param is a parameter: an Operand, a Size, a Stride or a Scalar.
type Param interface {
	paramName() string
	paramType() string
}

// Elem is the type of an operand's elements.
type Elem string

// The types of elements. Those of 16 bits are floats, as their bits.
const (
	Float32 Elem = "float32"
	Uint16  Elem = "uint16"
	Int16   Elem = "int16"
	Int8    Elem = "int8"
	Uint8   Elem = "uint8"
	Int32   Elem = "int32"
)

// Access is what a kernel does with an operand.
type Access uint8

// Scratch operands are memory that the kernel may leave anything in.
const (
	Read Access = 1 << iota
	Write
	Scratch
)

// Expr is an expression in Go over the sizes of a kernel.
type Expr string

// Operand is a matrix whose rows begin Stride elements apart, or one row where Rows is "1".
type Operand struct {
	Name       string
	Elem       Elem
	Rows, Cols Expr
	// Stride is the parameter with the distance of two rows; "" where they touch.
	Stride string
	// OneRow is set where the stride may be 0: there is one row then, used for all.
	OneRow bool
	Access Access
	// Beta is the scalar parameter that, being 0, keeps the operand from being read.
	Beta string
	// Same are the operands that may be the same memory.
	Same []string
	// MayBeEmpty is set where the operand may be left out.
	MayBeEmpty bool
}

// Size is an int parameter, or the length of a slice.
type Size struct {
	Name  string
	Least int
	// Values are those that tests take: expressions over width, mr and nr, of the
	// implementation, and over the sizes before this one; or the name of one of the
	// functions of the tests that list sizes.
	Values []Expr
	From   string
	// Each is set where every value goes with every one of the other sizes; otherwise the values take turns.
	Each bool
	// Hint is set where the value changes only the time.
	Hint bool
}

// Stride is the int parameter with the distance of an operand's rows.
type Stride string

// Scalar is a float32 parameter and the values that tests take in turn.
type Scalar struct {
	Name   string
	Values []float32
}

func (o Operand) paramName() string { return o.Name }
func (o Operand) paramType() string { return "[]" + string(o.Elem) }
func (s Size) paramName() string    { return s.Name }
func (s Size) paramType() string    { return "int" }
func (s Stride) paramName() string  { return string(s) }
func (s Stride) paramType() string  { return "int" }
func (s Scalar) paramName() string  { return s.Name }
func (s Scalar) paramType() string  { return "float32" }

// in, out and update are float32 matrices; "" for stride stands for rows that touch.

func in(name string, rows, cols Expr, stride string) Operand {
	return Operand{Name: name, Elem: Float32, Rows: rows, Cols: cols, Stride: stride, Access: Read}
}

func out(name string, rows, cols Expr, stride string) Operand {
	o := in(name, rows, cols, stride)
	o.Access = Write
	return o
}

func update(name string, rows, cols Expr, stride string) Operand {
	o := in(name, rows, cols, stride)
	o.Access = Read | Write
	return o
}

// of returns the operand with elements of another type.
func (o Operand) of(e Elem) Operand { o.Elem = e; return o }

// or returns the operand that may be the same memory as others.
func (o Operand) or(others ...string) Operand { o.Same = others; return o }

// orEmpty returns the operand that may be left out.
func (o Operand) orEmpty() Operand { o.MayBeEmpty = true; return o }

// orOneRow returns the operand that may have one row, used for all.
func (o Operand) orOneRow() Operand { o.OneRow = true; return o }

// each and turn are sizes with the values that tests take.

func each(name string, least int, values ...Expr) Size {
	return Size{Name: name, Least: least, Values: values, Each: true}
}

func turn(name string, least int, values ...Expr) Size {
	return Size{Name: name, Least: least, Values: values}
}

// lengths returns a size of every length that vector code can get wrong, by a function of the tests.
func lengths(name string, least int, from string) Size {
	return Size{Name: name, Least: least, From: from, Each: true}
}

// hint returns a parameter that changes only the time.
func hint(name string, values ...Expr) Size { return Size{Name: name, Values: values, Hint: true} }

func scalar(name string, values ...float32) Scalar { return Scalar{name, values} }
