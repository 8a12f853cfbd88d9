package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// GemmTile is the register tile of a machine: MR rows by NR columns of C.
type GemmTile struct{ MR, NR int }

// GemmPanel is the GEMM micro-kernel with the given tile.
func GemmPanel(tile GemmTile) Body {
	return Body{
		X86: func(x *vec.X86) {
			if tile.NR != 2*x.Width() {
				panic(fmt.Sprintf("kernel.GemmPanel: NR = %d, want two vectors of %d", tile.NR, x.Width()))
			}
			gemmX86(x, tile.MR)
		},
		NEON: func(x *vec.NEON) { gemmNEON(x, tile) },
	}
}

// GemmPanelFloat16 is GemmPanel for whole panels of binary16, on x86.
func GemmPanelFloat16(tile GemmTile) Body {
	return Body{X86: func(x *vec.X86) { gemmHalvesX86(x, tile.MR, loadFloat16) }}
}

// GemmPanelBFloat16 is GemmPanel for whole panels of bfloat16, on x86.
func GemmPanelBFloat16(tile GemmTile) Body {
	return Body{X86: func(x *vec.X86) { gemmHalvesX86(x, tile.MR, loadBFloat16) }}
}

// AttnPanels is GemmPanel for one whole panel after the other, on x86: calls of their own for each,
// and what these fetch, take 1 to 3% of the time of attention.
func AttnPanels(tile GemmTile) Body {
	return Body{X86: func(x *vec.X86) { attnPanelsX86(x, tile.MR) }}
}

// GemmNear is GemmPanel for any number of columns, on x86, so that a small product is one call.
func GemmNear(tile GemmTile) Body {
	return Body{X86: func(x *vec.X86) { gemmNearX86(x, tile.MR) }}
}

// GemmPack is one full tile of GemmPanel on B in place, which also stores the
// rows of B that it loads, one after the other: the tile's multiply-adds hide
// what packing costs.
func GemmPack(tile GemmTile) Body {
	return Body{
		X86:  func(x *vec.X86) { gemmPackX86(x, tile.MR) },
		NEON: func(x *vec.NEON) { gemmPackNEON(x, tile) },
	}
}
