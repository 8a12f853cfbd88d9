// Package simd has the kernels in assembly, which package asm generates, their twins in pure Go,
// and the choice among them. The choice depends on the machine and on the environment, and each
// kernel has a dispatching function.
//
// The dispatching functions check nothing: package kernels does.
package simd

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// ISA is a tier of kernels: a bundle of instruction-set extensions that a processor has or lacks as
// a whole.
type ISA uint8

// These are the tiers. Each needs all extensions that it names, from the processor and from the
// operating system.
const (
	Generic ISA = iota // pure Go, everywhere
	NEON               // arm64: Advanced SIMD, which every arm64 has
	AVX2               // amd64: AVX2 and FMA
	AVX512             // amd64: AVX-512 F, BW, DQ and VL
)

var isaNames = [...]string{"generic", "neon", "avx2", "avx512"}

// String returns the tier's name in lower case, which ParseISA and AVOFORMER_ISA accept.
func (i ISA) String() string {
	if int(i) < len(isaNames) {
		return isaNames[i]
	}
	return fmt.Sprintf("ISA(%d)", uint8(i))
}

// ParseISA returns the tier of that name, even if this machine lacks it.
func ParseISA(name string) (ISA, error) {
	for i, n := range isaNames {
		if n == name {
			return ISA(i), nil
		}
	}
	return Generic, fmt.Errorf("kernels: unknown ISA %q, want one of %s", name, strings.Join(isaNames[:], ", "))
}

// active is the tier that kernels run on. It is set at init; only Use writes it later.
var active = orStop(chooseISA(os.Getenv("AVOFORMER_ISA")))

// chooseISA returns the tier at the start of the program: the best one, or the one that the
// environment forces. If the machine lacks a forced tier, it returns an error, because a program
// that forces a tier must not run on another one.
func chooseISA(forced string) (ISA, error) {
	supported := Supported()
	if forced == "" {
		return preferred(supported), nil
	}
	isa, err := ParseISA(forced)
	if err != nil || !slices.Contains(supported, isa) {
		names := make([]string, len(supported))
		for i, s := range supported {
			names[i] = s.String()
		}
		return Generic, fmt.Errorf("kernels: AVOFORMER_ISA = %q, want one of those this machine has: %s", forced, strings.Join(names, ", "))
	}
	return isa, nil
}

// Active returns the tier that kernels run on now.
func Active() ISA { return active }

// Supported lists the tiers that this machine can run, Generic first.
func Supported() []ISA { return append([]ISA{Generic}, machineISAs()...) }

// Use makes the kernels run on another tier until restore is called. It must not be called while
// kernels run, and panics if the machine lacks the tier.
func Use(isa ISA) (restore func()) {
	if supported := Supported(); !slices.Contains(supported, isa) {
		panic(fmt.Sprintf("machine.Use: isa = %v, want one of %v", isa, supported))
	}
	old := active
	active = isa
	return func() { active = old }
}
