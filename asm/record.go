package asm

import (
	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
	"github.com/avoformer/avoformer/asm/vec"
)

// This file has the record of a kernel: the only place that states the types and shapes of its
// operands. The generator derives from it the signature, the contract above its constant, the
// reports to the race detector, the calls of the tests and the limits that drivers ask for.

// Kernel is one operation of the catalog.
type Kernel struct {
	File   string // the name of the file of package simd, without tier and architecture
	Source string // the file of asm/kernel that defines it
	Name   string // prefix of the symbols, which end with the implementation; exported, the name of the dispatching function
	// Doc documents what the kernel computes. Params describe its operands.
	Doc    []string
	Params []Param
	// Sizes has the sizes that are not parameters: lengths of slices.
	Sizes []Size
	// Result is the type of the result, or "" if there is none.
	Result string

	// Blocks is the layout of the weights, for kernels with weights in blocks.
	Blocks kernel.BlockLayout

	// Close states how close the results are to those of the pure-Go twin.
	Close Closeness
	// Elements is the largest number of elements of a call, by the implementation's name, for
	// implementations whose limit is below mostElements.
	Elements map[string]int

	// On has the implementations, best first; nil means one on every tier.
	On []On
	// Body emits the kernel.
	Body func(vec.Machine)
}

// On is an implementation of a kernel: a tier, and the features beyond it that it needs.
type On struct {
	Tier  string
	Needs []arch.Feature
	// Body emits the implementation; nil means the kernel's own Body.
	Body func(vec.Machine)
}

// float16Tiers has the tiers that widen binary16.
var float16Tiers = []On{{Tier: "AVX512"}, {Tier: "AVX2", Needs: []arch.Feature{arch.F16C}}, {Tier: "NEON"}}

// Closeness is the allowed difference between the results of two implementations.
type Closeness struct {
	// Exact is set if all bits agree.
	Exact bool
	// Relative is set if terms cannot cancel each other: results are as close as rounding allows,
	// relative to their size.
	Relative bool
	// Sums is the size of sums that may cancel; 0 means 1.
	Sums int
}

// Param is a parameter: an Operand, a Size, a Stride or a Scalar.
type Param interface {
	paramName() string
	paramType() string
}

// Elem is the type of an operand's elements.
type Elem string

// The types of elements. Uint16 elements are floats of 16 bits, given by their bits.
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

// A kernel may leave any values in Scratch operands.
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
	// Stride is the parameter with the distance between rows; "" if they are adjacent.
	Stride string
	// OneRow is set if the stride may be 0: then all rows are the same row.
	OneRow bool
	Access Access
	// Beta is the scalar parameter that, if it is 0, keeps the kernel from reading the operand.
	Beta string
	// Same has the operands that may be the same memory.
	Same []string
	// MayBeEmpty is set if the operand may be omitted.
	MayBeEmpty bool
}

// Size is an int parameter, or the length of a slice.
type Size struct {
	Name  string
	Least int
	// Values has the values that tests use: expressions over width, mr and nr of the
	// implementation, and over the sizes before this one; or the name of a function of the tests
	// that lists sizes.
	Values []Expr
	From   string
	// Each is set if tests combine every value with every value of the other sizes; otherwise the
	// values take turns.
	Each bool
	// Hint is set if the value affects only speed.
	Hint bool
}

// Stride is the int parameter with the distance between an operand's rows.
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

// in, out and update return float32 matrices; a stride of "" means adjacent rows.

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

// or returns the operand as one that may be the same memory as the named operands.
func (o Operand) or(others ...string) Operand { o.Same = others; return o }

// orEmpty returns the operand as one that may be omitted.
func (o Operand) orEmpty() Operand { o.MayBeEmpty = true; return o }

// orOneRow returns the operand as one that may have a single row, used for all.
func (o Operand) orOneRow() Operand { o.OneRow = true; return o }

// each and turn return sizes with the values that tests take.

func each(name string, least int, values ...Expr) Size {
	return Size{Name: name, Least: least, Values: values, Each: true}
}

func turn(name string, least int, values ...Expr) Size {
	return Size{Name: name, Least: least, Values: values}
}

// lengths returns a size with every length that vector code can get wrong, from a function of the
// tests.
func lengths(name string, least int, from string) Size {
	return Size{Name: name, Least: least, From: from, Each: true}
}

// hint returns a parameter that affects only speed.
func hint(name string, values ...Expr) Size { return Size{Name: name, Values: values, Hint: true} }

func scalar(name string, values ...float32) Scalar { return Scalar{name, values} }
