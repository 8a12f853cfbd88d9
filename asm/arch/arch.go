// Package arch has a record for each instruction set that kernels are generated for: what
// the generator, its checks and the sources must know of the machine, as data. There is
// a file for each architecture. How instructions are written is the matter of the
// backends, asm/vec/x86 and asm/vec/neon.
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
	Masks Masks // how some lanes of a vector are named
	// Embedded is set where an operand in memory may be one element for every lane.
	Embedded bool
	// ByLane is set where instructions multiply with one lane of a vector, so that nothing is broadcast.
	ByLane bool
	// Prefetches is set where the kernels fetch what they need next.
	Prefetches bool

	// General and Vectors are the registers, by number, that a kernel may use. Go's ABI0 has it
	// save none of them; Reserved says why the others are left out.
	General, Vectors []int
	Reserved         string
	// Leave is the instructions that must come right before a return, in this order.
	Leave []string
	// State is what the operating system must have enabled before the first instruction. Package
	// simd asks before it chooses the tier.
	State State

	// Features are those that every processor of the tier has, by avo's names.
	Features []string
	// Distrusted are instructions that the tests cannot vouch for, because the emulator that they
	// run in computes them wrongly.
	Distrusted []string

	Gemm     Tile
	Strip    int // columns of the narrowest tile of gemmPanel
	Blocking Blocking
	Integers Integers
}

// Masks is how a machine names some of the lanes of a vector.
type Masks string

// The kinds of masks.
const (
	NoMasks     Masks = "none"      // elements one by one instead
	VectorMasks Masks = "vectors"   // all-ones lanes, for loads and stores alone
	Opmasks     Masks = "registers" // of their own, for every instruction, at no cost
)

// State is what of a processor the operating system must save when it changes threads, and
// how a program learns that it does.
type State string

// The states. A new one needs code in package simd first; see Check.
const (
	Always    State = ""                                      // every system does
	XCR0AVX   State = "bits 1 and 2 of XCR0"                  // golang.org/x/sys/cpu asks, for AVX2
	XCR0EVX   State = "bits 1, 2 and 5 to 7 of XCR0"          // the same, for AVX512F
	XCR0Tiles State = "bits 17 and 18 of XCR0, by permission" // simd.Permitted asks, before the first tile is used
)

// What package simd asks the system for: before it chooses a tier, and before it uses a feature.
var ofTiers, ofFeatures = []State{Always, XCR0AVX, XCR0EVX}, []State{Always, XCR0Tiles}

// Tile is the register tile of a machine: MR rows by NR columns of C.
type Tile struct{ MR, NR int }

// Blocking is how much the kernels keep in registers at once. It was measured on AVX2
// and AVX-512, and on NEON follows AVX2.
type Blocking struct {
	// Held is how many vectors of one operand the dot products of attention hold.
	Held int
	// ValueRows is how many queries take each vector of values.
	ValueRows int
	// GemvRows is how many rows of B one row is multiplied with at once, from memory.
	GemvRows int
	// DotRows is how many rows of A share the loads of four rows of B.
	DotRows int
	// SoftmaxRows is how many rows of scores become exponentials at once.
	SoftmaxRows int
}

// Integers is how products of integers are tiled and fetched.
type Integers struct {
	// Rows is the height of the tiles of int8 products.
	Rows int
	// FetchC is set where tiles fetch their rows of C at the beginning, FetchNext where they fetch what
	// follows the panel in B, and FetchAhead where tiles of one row fetch what is ahead in B.
	FetchC, FetchNext, FetchAhead bool
}

// Feature is an extension that a processor of a tier may or may not have.
type Feature struct {
	Name   string   // the constant of package simd
	Suffix string   // of the names of implementations that need it
	Avo    []string // on amd64, what instructions that need it say that they need; avo's names where it knows them
	// State is what the operating system must have enabled besides the tier's.
	State State
	// Enter is the instruction that comes before all others of the feature, "" where none must, and Leave is those that
	// must come before a return, in this order, followed by those of the tier.
	Enter string
	Leave []string
}

// Check finds what a record leaves open or contradicts.
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

// Tiers is ordered best first within an architecture.
var Tiers = []Tier{AVX512, AVX2, NEON}

// Check finds what a record leaves open or contradicts.
func (t Tier) Check() error {
	switch {
	case t.Name == "" || t.File == "" || t.GOARCH == "":
		return fmt.Errorf("arch: tier %q: Name, File and GOARCH must be given", t.Name)
	case t.Width < 1 || t.Gemm.MR < 1 || t.Gemm.NR%t.Width != 0 || t.Strip < 1:
		return fmt.Errorf("arch: tier %s: Width %d, Strip %d and the tile %+v do not go together", t.Name, t.Width, t.Strip, t.Gemm)
	case len(t.General) == 0 || len(t.Vectors) == 0:
		return fmt.Errorf("arch: tier %s: no registers", t.Name)
	case !slices.Contains(ofTiers, t.State):
		return fmt.Errorf("arch: tier %s: State %q: package simd does not ask the system for that", t.Name, t.State)
	case min(t.Blocking.Held, t.Blocking.ValueRows, t.Blocking.GemvRows, t.Blocking.DotRows, t.Blocking.SoftmaxRows) < 1:
		return fmt.Errorf("arch: tier %s: Blocking %+v has a zero", t.Name, t.Blocking)
	case t.Integers.Rows < 1:
		return fmt.Errorf("arch: tier %s: Integers has no rows", t.Name)
	}
	return nil
}

// upTo are the numbers below n except for those left out.
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
