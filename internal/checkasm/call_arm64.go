//go:build !purego

package checkasm

import (
	"encoding/binary"
	"fmt"
	"runtime"
)

const haveHarness = true

// The assembly uses state's layout through go_asm.h.
type state struct {
	setR18 uint64 // 1 if the platform lets programs use R18

	sp, gotSP     uintptr
	fp, gotFP     uintptr
	r18, gotR18   uintptr
	gotR27        uintptr
	g, gotG       uintptr
	fpcr, gotFPCR uintptr
	junk          [4]uint32 // for the vector registers: not zero, and a NaN
}

// junkWord is the value that the assembly writes to general registers.
const junkWord = 0x5c5c5c5c5c5c5c5c

// call copies f to the stack, fills every register that the callee may use with junk, calls fn, and
// copies the arguments back. It records the registers in machine, and restores those that fn must
// not change.
//
//go:noescape
func call(fn uintptr, f *frame)

func (s *state) prepare(bool) {
	*s = state{}
	if runtime.GOOS == "linux" {
		s.setR18 = 1
	}
	for i := range s.junk {
		s.junk[i] = canary
	}
}

func (s *state) verify() (errs []error) {
	if s.gotSP != s.sp {
		errs = append(errs, fmt.Errorf("returned with the stack pointer %d bytes off", int(s.gotSP-s.sp)))
	}
	if s.gotFP != s.fp {
		errs = append(errs, fmt.Errorf("clobbered the frame pointer R29: %#x, was %#x", s.gotFP, s.fp))
	}
	if s.gotG != s.g {
		errs = append(errs, fmt.Errorf("clobbered g (R28): %#x, was %#x", s.gotG, s.g))
	}
	if s.gotR18 != s.r18 {
		errs = append(errs, fmt.Errorf("clobbered the platform's register R18: %#x, was %#x", s.gotR18, s.r18))
	}
	if s.gotR27 != junkWord {
		// The register is not forbidden, but its value is lost when the assembler next turns one
		// instruction into two.
		errs = append(errs, fmt.Errorf("clobbered the assembler's register R27: %#x, was %#x", s.gotR27, uintptr(junkWord)))
	}
	if s.gotFPCR != s.fpcr {
		errs = append(errs, fmt.Errorf("changed FPCR: %#x, was %#x", s.gotFPCR, s.fpcr))
	}
	return errs
}

// callTargets returns the targets of the direct calls near pc.
func callTargets(pc uintptr) (targets []uintptr) {
	f := runtime.FuncForPC(pc)
	for at := pc; runtime.FuncForPC(at).Entry() == f.Entry(); at += 4 {
		if op := binary.LittleEndian.Uint32(code(at, 4)); op>>26 == 0b100101 { // BL
			targets = append(targets, at+uintptr(int64(int32(op<<6)>>6)*4))
		}
		if at-pc > 4096 {
			break
		}
	}
	return targets
}
