// Package arch has a record for each instruction set that kernels are generated for: the data that
// the generator, its checks and the sources of kernels need. Each architecture has a file. The
// backends asm/vec/x86 and asm/vec/neon write the instructions.
package arch

import (
	"fmt"
	"slices"
)

// Tier is an instruction set that kernels are generated for.
type Tier struct {
	Name   string // suffix of the symbols, and the name of the simd.ISA constant
	File   string // part of the file name
	GOARCH string

	Width int   // float32 lanes of a vector
	Masks Masks // how instructions select some lanes of a vector
	// Embedded says that an operand in memory may be one element, which is broadcast to all lanes.
	Embedded bool
	// ByLane says that instructions multiply by one lane of a vector. Then kernels need no
	// broadcasts.
	ByLane bool
	// Prefetches says that kernels prefetch the memory that they need next.
	Prefetches bool

	// General and Vectors are the registers, by number, that a kernel may use. In Go's ABI0 a
	// function saves none of them. Reserved says why the remaining registers are not listed.
	General, Vectors []int
	Reserved         string
	// Leave has the instructions that must come immediately before a return, in this order.
	Leave []string
	// State is the processor state that the operating system must have enabled before the first
	// instruction. Package simd asks for it before it chooses the tier.
	State State

	// Features are the extensions that every processor of the tier has, by avo's names.
	Features []string
	// Distrusted are instructions that tests cannot check, because the emulator computes them
	// wrongly.
	Distrusted []string

	Gemm     Tile
	Blocking Blocking
	Integers Integers
}

// Masks is the way in which the instructions of a machine select some lanes of a vector.
type Masks string

// These are the kinds of masks.
const (
	NoMasks     Masks = "none"      // instructions cannot: elements are processed one by one
	VectorMasks Masks = "vectors"   // by lanes of ones in a vector, only for loads and stores
	Opmasks     Masks = "registers" // by mask registers, for every instruction, at no cost
)

// State is the part of the processor's state that the operating system must save when it switches
// threads. Its text says how a program finds out whether the system does.
type State string

// These are the states. A new one needs code in package simd first; see Check.
const (
	Always    State = ""                                      // every system saves it
	XCR0AVX   State = "bits 1 and 2 of XCR0"                  // golang.org/x/sys/cpu asks, for AVX2
	XCR0EVX   State = "bits 1, 2 and 5 to 7 of XCR0"          // the same, for AVX512F
	XCR0Tiles State = "bits 17 and 18 of XCR0, by permission" // simd.Permitted asks, before the first tile is used
)

// package simd asks the system for these states before it chooses a tier, and before it uses a
// feature.
var ofTiers, ofFeatures = []State{Always, XCR0AVX, XCR0EVX}, []State{Always, XCR0Tiles}

// Tile is the register tile of a machine: MR rows by NR columns of C.
type Tile struct{ MR, NR int }

// Blocking holds the numbers of rows and vectors that kernels keep in registers at the same time.
// They were measured on AVX2 and AVX-512. NEON has the values of AVX2.
type Blocking struct {
	// ValueRows is the number of queries that use each load of a vector of values.
	ValueRows int
	// GemvRows is the number of rows of B that a product of one row reads from memory together.
	GemvRows int
	// DotRows is the number of rows of A that use each load of a few rows of B.
	DotRows int
	// SoftmaxRows is the number of rows of scores whose exponentials are computed together.
	SoftmaxRows int
	// Vectors is the number of vectors for which an elementwise function computes its polynomial
	// together, a power of two.
	Vectors int
}

// Integers says how products of integers are tiled, and which memory they prefetch.
type Integers struct {
	// Rows is the height of the tiles of int8 products.
	Rows int
	// FetchC says that tiles prefetch their rows of C at the beginning, FetchNext that they
	// prefetch the memory after the panel of B, and FetchAhead that tiles of one row prefetch ahead
	// in B.
	FetchC, FetchNext, FetchAhead bool
}

// Feature is an extension that a processor of a tier may or may not have.
type Feature struct {
	Name   string   // the constant of package simd
	Suffix string   // the suffix of the names of implementations that need the feature
	Avo    []string // on amd64, the extensions that its instructions require, by avo's names if avo knows them
	// State is the state that the operating system must have enabled in addition to that of the
	// tier.
	State State
	// Enter is the instruction that must come before all instructions of the feature, or "". Leave
	// has the instructions that must come before a return, in this order, followed by those of the
	// tier.
	Enter string
	Leave []string
}

// Check finds missing fields and contradictions in a record.
func (f Feature) Check() error {
	switch {
	case f.Name == "" || f.Suffix == "":
		return fmt.Errorf("arch: feature %q: Name and Suffix must be given", f.Name)
	case !slices.Contains(ofFeatures, f.State):
		return fmt.Errorf("arch: feature %s: State %q: package simd does not ask the system for that", f.Name, f.State)
	case (f.Enter == "") != (len(f.Leave) == 0):
		return fmt.Errorf("arch: feature %s: enters by %q and leaves by %q", f.Name, f.Enter, f.Leave)
	}
	return nil
}

// Check finds missing fields and contradictions in a record.
func (t Tier) Check() error {
	switch {
	case t.Name == "" || t.File == "" || t.GOARCH == "":
		return fmt.Errorf("arch: tier %q: Name, File and GOARCH must be given", t.Name)
	case t.Width < 1 || t.Gemm.MR < 1 || t.Gemm.NR%t.Width != 0:
		return fmt.Errorf("arch: tier %s: Width %d does not fit the tile %+v", t.Name, t.Width, t.Gemm)
	case len(t.General) == 0 || len(t.Vectors) == 0:
		return fmt.Errorf("arch: tier %s: no registers", t.Name)
	case !slices.Contains(ofTiers, t.State):
		return fmt.Errorf("arch: tier %s: State %q: package simd does not ask the system for that", t.Name, t.State)
	case min(t.Blocking.ValueRows, t.Blocking.GemvRows, t.Blocking.DotRows, t.Blocking.SoftmaxRows, t.Blocking.Vectors) < 1:
		return fmt.Errorf("arch: tier %s: Blocking %+v has a zero", t.Name, t.Blocking)
	case t.Integers.Rows < 1:
		return fmt.Errorf("arch: tier %s: Integers has no rows", t.Name)
	}
	return nil
}

// upTo returns the numbers below n, except those in but.
func upTo(n int, but ...int) (all []int) {
	left := map[int]bool{}
	for _, b := range but {
		left[b] = true
	}
	for i := range n {
		if !left[i] {
			all = append(all, i)
		}
	}
	return all
}
