package kernel

import (
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// The products of float32 whose panels are as wide as the tier's tile.

// GemmPanel is the GEMM micro-kernel. x86 has tiles of its own, with masks, operands in memory and what they
// fetch; GemmNear and AttnPanels are such tiles too.
var GemmPanel = Own(AnyGemmPanel, gemmX86)

// GemmPanelFloat16 and GemmPanelBFloat16 are GemmPanel for whole panels of 16 bits, on x86.
var (
	GemmPanelFloat16  = Only(func(x *x86.Machine) { gemmHalvesX86(x, loadFloat16) })
	GemmPanelBFloat16 = Only(func(x *x86.Machine) { gemmHalvesX86(x, loadBFloat16) })
)

// AttnPanels is GemmPanel for one whole panel after the other, on x86: calls of their own for each,
// and what these fetch, take 1 to 3% of the time of attention.
var AttnPanels = Only(attnPanelsX86)

// GemmNear is GemmPanel for any number of columns, on x86, so that a small product is one call.
var GemmNear = Only(gemmNearX86)

// GemmPair is GemmPanel for two whole panels at once, on x86: few rows of one panel have fewer vectors of sums than
// multiply-adds are on their way.
var GemmPair = Only(gemmPairX86)

// GemmPack is one full tile of GemmPanel on B in place, which also stores the
// rows of B that it loads, one after the other: the tile's multiply-adds hide
// what packing costs.
var GemmPack = Own(AnyGemmPack, gemmPackX86)
