//go:build !purego

package checkasm

import (
	"encoding/binary"
	"fmt"
	"runtime"

	"golang.org/x/sys/cpu"
)

const haveHarness = true

// The assembly uses state's layout through go_asm.h.
type state struct {
	avx, avx512 uint8 // 1 if the machine has such vector registers, otherwise 0

	sp, gotSP       uintptr
	bp, gotBP       uintptr
	flags           uintptr
	mxcsr, gotMXCSR uint32
	mask            uint64     // junk for the mask registers
	junk            [16]uint32 // for the vector registers: not zero, and a NaN
	zmm             [16][16]uint32

	tiles      uint8  // 1 if they are to be filled with junk, otherwise 0
	tilesInUse uint32 // the bits for them that XGETBV reports after the call
	tileConfig [64]byte
}

// Offsets in the configuration of tiles, of the palette, the bytes per row and the numbers of rows;
// and the number of tiles.
const tilePalette, tileColumns, tileRows, allTiles = 0, 16, 48, 8

// xgetbv executes XGETBV, for the assembly.
//
//lint:ignore U1000 the assembly calls it
func xgetbv()

// call copies f to the stack, fills every register except SP and BP with junk, calls fn, and copies
// the arguments back. It records the registers in machine, and restores those that fn must not
// change.
//
//go:noescape
func call(fn uintptr, f *frame)

func (s *state) prepare(tiles bool) {
	*s = state{mask: 0xa5a5a5a5a5a5a5a5}
	if tiles {
		s.tiles, s.tileConfig[tilePalette] = 1, 1
		for t := range allTiles {
			s.tileConfig[tileColumns+2*t], s.tileConfig[tileRows+t] = 64, 16
		}
	}
	if cpu.X86.HasAVX {
		s.avx = 1
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW {
		s.avx512 = 1
	}
	for i := range s.junk {
		s.junk[i] = canary
	}
}

func (s *state) verify() (errs []error) {
	if s.gotSP != s.sp {
		errs = append(errs, fmt.Errorf("returned with the stack pointer %d bytes off", int(s.gotSP-s.sp)))
	}
	if s.gotBP != s.bp {
		errs = append(errs, fmt.Errorf("clobbered the frame pointer BP: %#x, was %#x", s.gotBP, s.bp))
	}
	if s.flags&(1<<10) != 0 {
		errs = append(errs, fmt.Errorf("left the direction flag set"))
	}
	const status = 0x3f // the exceptions seen so far: any function may set them
	if s.gotMXCSR&^status != s.mxcsr&^status {
		errs = append(errs, fmt.Errorf("changed MXCSR: %#x, was %#x", s.gotMXCSR, s.mxcsr))
	}
	const tileState = 3 << 17
	if s.tilesInUse&tileState != 0 {
		errs = append(errs, fmt.Errorf("left tiles in use: TILERELEASE is missing"))
	}
	if s.avx == 0 {
		return errs
	}
	for i, r := range s.zmm {
		for _, lane := range r[4:] {
			if lane != 0 {
				return append(errs, fmt.Errorf("left the upper half of Y%d dirty: VZEROUPPER is missing", i))
			}
		}
	}
	return errs
}

// callTargets returns the targets of the direct calls near pc.
func callTargets(pc uintptr) (targets []uintptr) {
	f := runtime.FuncForPC(pc)
	for b := code(pc, 1024); len(b) >= 5; b = b[1:] {
		at := pc + uintptr(1024-len(b))
		if runtime.FuncForPC(at).Entry() != f.Entry() {
			break
		}
		if b[0] == 0xe8 {
			targets = append(targets, at+5+uintptr(int32(binary.LittleEndian.Uint32(b[1:]))))
		}
	}
	return targets
}
