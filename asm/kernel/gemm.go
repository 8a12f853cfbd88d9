package kernel

import (
	"fmt"

	"github.com/avoformer/avoformer/asm/vec"
)

// GemmTile is the register tile of a machine: MR rows by NR columns of C.
type GemmTile struct{ MR, NR int }

// GemmPanel is the GEMM micro-kernel with the given tile.
func GemmPanel(tile GemmTile) func(vec.Machine) {
	return func(m vec.Machine) {
		switch m := m.(type) {
		case *vec.X86:
			if tile.NR != 2*m.Width() {
				panic(fmt.Sprintf("kernel.GemmPanel: NR = %d, want two vectors of %d", tile.NR, m.Width()))
			}
			gemmX86(m, tile.MR)
		case *vec.NEON:
			gemmNEON(m, tile)
		default:
			panic(fmt.Sprintf("kernel.GemmPanel: no micro-kernel for %T", m))
		}
	}
}

// GemmPack is one full tile of GemmPanel on B in place, which also stores the
// rows of B that it loads, one after the other: the tile's multiply-adds hide
// what packing costs.
func GemmPack(tile GemmTile) func(vec.Machine) {
	return func(m vec.Machine) {
		switch m := m.(type) {
		case *vec.X86:
			gemmPackX86(m, tile.MR)
		case *vec.NEON:
			gemmPackNEON(m, tile)
		default:
			panic(fmt.Sprintf("kernel.GemmPack: no micro-kernel for %T", m))
		}
	}
}
