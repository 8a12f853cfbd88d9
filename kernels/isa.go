package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// The tiers of the kernels.

// ISA is a tier of kernels: a bundle of instruction-set extensions that a
// processor has or lacks as a whole.
type ISA uint8

// The tiers. Each needs everything it names, from the processor and from the
// operating system.
const (
	Generic = ISA(simd.Generic) // pure Go, everywhere
	NEON    = ISA(simd.NEON)    // arm64: Advanced SIMD, which every arm64 has
	AVX2    = ISA(simd.AVX2)    // amd64: AVX2 and FMA
	AVX512  = ISA(simd.AVX512)  // amd64: AVX-512 F, BW, DQ and VL
)

// String returns the tier's name in lower case, as [ParseISA] and the environment variable
// AVOFORMER_ISA take it.
func (i ISA) String() string { return simd.ISA(i).String() }

// ParseISA returns the tier with that name, whether or not this machine has it.
func ParseISA(name string) (ISA, error) {
	i, err := simd.ParseISA(name)
	return ISA(i), err
}

// Active returns the tier that kernels run on now: the best one, or what the
// environment variable AVOFORMER_ISA forces.
func Active() ISA { return ISA(simd.Active()) }

// Supported lists the tiers that this machine can run, Generic first.
func Supported() []ISA {
	var tiers []ISA
	for _, i := range simd.Supported() {
		tiers = append(tiers, ISA(i))
	}
	return tiers
}

// Features lists the extensions of the processor beyond the tier that kernels use now, by the names with which the environment
// variable AVOFORMER_CPU turns them off. Those that the operating system has to permit are asked for, for the whole
// process, and are in refused where it does not.
func Features() (used, refused []string) { return simd.FeaturesOn(simd.Active()) }
