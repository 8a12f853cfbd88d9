package kernels

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// ISA is a tier of kernels: a bundle of instruction-set extensions that a
// processor has or lacks as a whole.
type ISA uint8

// The tiers. Each needs everything it names, from the processor and from the
// operating system.
const (
	Generic ISA = iota // pure Go, everywhere
	NEON               // arm64: Advanced SIMD, which every arm64 has
	AVX2               // amd64: AVX2 and FMA
	AVX512             // amd64: AVX-512 F, BW, DQ and VL
)

var isaNames = [...]string{"generic", "neon", "avx2", "avx512"}

// String is the tier's name in lower case, as ParseISA and AVOFORMER_ISA take it.
func (i ISA) String() string {
	if int(i) < len(isaNames) {
		return isaNames[i]
	}
	return fmt.Sprintf("ISA(%d)", uint8(i))
}

// ParseISA is the tier of that name, whether or not this machine has it.
func ParseISA(name string) (ISA, error) {
	for i, n := range isaNames {
		if n == name {
			return ISA(i), nil
		}
	}
	return Generic, fmt.Errorf("kernels: unknown ISA %q, want one of %s", name, strings.Join(isaNames[:], ", "))
}

// active is the tier that kernels run on. It is set at init; only Use writes it
// later.
var active = chooseISA(os.Getenv("AVOFORMER_ISA"))

// chooseISA is the tier to start with: the best one, or the one forced by the
// environment. A choice that cannot be met stops the program: running silently
// on another tier is what forcing one is meant to exclude.
func chooseISA(forced string) ISA {
	supported := Supported()
	if forced == "" {
		return preferred(supported)
	}
	isa, err := ParseISA(forced)
	if err != nil || !slices.Contains(supported, isa) {
		names := make([]string, len(supported))
		for i, s := range supported {
			names[i] = s.String()
		}
		panic(fmt.Sprintf("kernels: AVOFORMER_ISA = %q, want one of those this machine has: %s", forced, strings.Join(names, ", ")))
	}
	return isa
}

// Active is the tier that kernels run on now.
func Active() ISA { return active }

// Supported lists the tiers that this machine can run, Generic first.
func Supported() []ISA { return append([]ISA{Generic}, machineISAs()...) }

// Use makes the kernels run on another tier until restore is called. It is
// meant for tests and benchmarks, and must not be called while kernels run.
// It panics if the machine lacks the tier.
func Use(isa ISA) (restore func()) {
	if supported := Supported(); !slices.Contains(supported, isa) {
		panic(fmt.Sprintf("kernels.Use: isa = %v, want one of %v", isa, supported))
	}
	old := active
	active = isa
	return func() { active = old }
}
