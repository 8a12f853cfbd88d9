package kernel

import (
	"github.com/avoformer/avoformer/asm/vec/x86"
)

// Products of float32 whose panels are as wide as the tier's tile.

// GemmPanel is the GEMM micro-kernel. x86 has its own tiles, which use masks, operands in memory
// and prefetches. GemmNear and AttnPanels use these tiles too.
var GemmPanel = Own(AnyGemmPanel, gemmX86)

// GemmPanelFloat16 and GemmPanelBFloat16 are GemmPanel on x86 for whole panels of 16 bits.
var (
	GemmPanelFloat16  = Only(func(x *x86.Machine) { gemmHalvesX86(x, loadFloat16) })
	GemmPanelBFloat16 = Only(func(x *x86.Machine) { gemmHalvesX86(x, loadBFloat16) })
)

// AttnPanels is GemmPanel on x86 for a sequence of whole panels: one call per panel, with the
// prefetches of each, would take 1 to 3% of the time of attention.
var AttnPanels = Only(attnPanelsX86)

// GemmNear is GemmPanel on x86 for any number of columns: a small product takes one call.
var GemmNear = Only(gemmNearX86)

// GemmPair is GemmPanel on x86 for two whole panels together: with few rows, one panel has too few
// vectors of sums to keep all multiply-adds in flight.
var GemmPair = Only(gemmPairX86)

// GemmPack is one full tile of GemmPanel on B in place. It also stores the rows of B that it loads,
// one after the other: the tile's multiply-adds hide the cost of packing.
var GemmPack = Own(AnyGemmPack, gemmPackX86)
