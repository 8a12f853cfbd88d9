package simd

import (
	"math/bits"
	"slices"
	"strings"
)

// Kernel is a kernel of the catalog.
type Kernel uint8

func (k Kernel) String() string { return kernelNames[k] }

// Implementation holds the properties of a kernel's implementation that callers may need.
type Implementation struct {
	Name   string   // the tier and the features that it needs, in lower case
	ISA    ISA      // the lowest tier that it runs on
	Needs  Features // the features that it needs beyond the tier
	Width  int      // elements of a vector
	MR, NR int      // rows and columns of the register tile of products
	// Elements is the largest number of elements of a call, so that the call ends within 100 µs:
	// assembly cannot be preempted.
	Elements int
}

const maxInt = int(^uint(0) >> 1)

const (
	numISAs = 4
	// With isaMask, the dispatching functions need no check of bounds.
	isaMask = numISAs - 1
)

// chosen holds, for each kernel and tier, the index in implementations of the one that runs: the
// best that the tier and the features allow. It is set at init; only Configuration.Use writes it
// later.
var chosen = choose(features)

// choose returns the chosen implementations for a set of features.
func choose(features Features) (c [numKernels][numISAs]uint8) {
	for k, list := range implementations {
		for isa := range c[k] {
			c[k][isa] = uint8(slices.IndexFunc(list, func(im Implementation) bool {
				return im.ISA <= ISA(isa) && im.Needs&^features == 0
			}))
		}
	}
	return c
}

// On returns the implementation of the kernel that runs on a tier.
func (k Kernel) On(isa ISA) *Implementation {
	return &implementations[k][chosen[k][isa&isaMask]]
}

// InAssembly reports whether a kernel has an implementation other than that in pure Go on a tier.
func (k Kernel) InAssembly(isa ISA) bool { return k.On(isa).ISA != Generic }

// GemmTile returns the register tile of GemmPanel on a tier: mr rows by nr columns.
func GemmTile(isa ISA) (mr, nr int) {
	im := KernelGemmPanel.On(isa)
	return im.MR, im.NR
}

// Configuration is a tier and the features in use on it. Tests run on all configurations of the
// machine in which some kernel has another implementation.
type Configuration struct {
	ISA      ISA
	Features Features
}

// String returns the tier, and the features of the machine that are not in use.
func (c Configuration) String() string {
	name := c.ISA.String()
	if off := features &^ c.Features; off != 0 {
		name += "-" + strings.Join(off.names(), "-")
	}
	return name
}

// Configurations returns the configurations of this machine. For each tier it lists the one with
// all features first, and then leaves out one feature after the other, the last one first, if that
// changes an implementation.
func Configurations() []Configuration {
	var all []Configuration
	for _, isa := range Supported() {
		on := features
		all = append(all, Configuration{isa, on})
		for {
			needed := neededOn(isa, on)
			if needed == 0 {
				break
			}
			on &^= 1 << (bits.Len32(uint32(needed)) - 1)
			all = append(all, Configuration{isa, on})
		}
	}
	return all
}

// neededOn returns the features that implementations chosen on a tier need.
func neededOn(isa ISA, on Features) (needed Features) {
	c := choose(on)
	for k := range c {
		needed |= implementations[k][c[k][isa]].Needs
	}
	return needed
}

// Use makes the kernels run in the configuration until restore is called. It must not be called
// while kernels run.
func (c Configuration) Use() (restore func()) {
	oldChosen, restoreISA := chosen, Use(c.ISA)
	chosen = choose(c.Features & features)
	return func() {
		restoreISA()
		chosen = oldChosen
	}
}
