package kernels

import "github.com/avoformer/avoformer/kernels/internal/simd"

// ISA is a tier of kernels: a bundle of instruction-set extensions that a
// processor has or lacks as a whole. Its String method is the tier's name in
// lower case, as ParseISA and the environment variable AVOFORMER_ISA take it.
type ISA = simd.ISA

// The tiers. Each needs everything it names, from the processor and from the
// operating system.
const (
	Generic = simd.Generic // pure Go, everywhere
	NEON    = simd.NEON    // arm64: Advanced SIMD, which every arm64 has
	AVX2    = simd.AVX2    // amd64: AVX2 and FMA
	AVX512  = simd.AVX512  // amd64: AVX-512 F, BW, DQ and VL
)

// ParseISA is the tier of that name, whether or not this machine has it.
func ParseISA(name string) (ISA, error) { return simd.ParseISA(name) }

// Active is the tier that kernels run on now: the best one, or what the
// environment variable AVOFORMER_ISA forces.
func Active() ISA { return simd.Active() }

// Supported lists the tiers that this machine can run, Generic first.
func Supported() []ISA { return simd.Supported() }

// Use makes the kernels run on another tier until restore is called. It is
// meant for tests and benchmarks, and must not be called while kernels run.
// It panics if the machine lacks the tier.
func Use(isa ISA) (restore func()) { return simd.Use(isa) }
