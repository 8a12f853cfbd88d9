package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// This file has the tiers of the kernels.

// ISA is a tier of kernels: a bundle of instruction-set extensions that a processor has or lacks as
// a whole.
type ISA uint8

// The tiers. Each needs everything it names, from the processor and from the operating system.
const (
	Generic = ISA(simd.Generic) // pure Go, everywhere
	NEON    = ISA(simd.NEON)    // arm64: Advanced SIMD, which every arm64 has
	AVX2    = ISA(simd.AVX2)    // amd64: AVX2 and FMA
	AVX512  = ISA(simd.AVX512)  // amd64: AVX-512 F, BW, DQ and VL
)

// String returns the tier's name in lower case, which [ParseISA] and the environment variable
// AVOFORMER_ISA accept.
func (i ISA) String() string { return simd.ISA(i).String() }

// ParseISA returns the tier with that name, whether or not this machine has it.
func ParseISA(name string) (ISA, error) {
	i, err := simd.ParseISA(name)
	return ISA(i), err
}

// Active returns the tier that kernels run on now: the best one, or the one that the environment
// variable AVOFORMER_ISA forces.
func Active() ISA { return ISA(simd.Active()) }

// Supported lists the tiers that this machine can run, Generic first.
func Supported() []ISA {
	var tiers []ISA
	for _, i := range simd.Supported() {
		tiers = append(tiers, ISA(i))
	}
	return tiers
}
