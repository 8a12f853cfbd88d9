//go:build linux && amd64

package main

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/avoformer/avoformer/scripts/amx/tile"
)

// This file reads the vector registers of a stopped thread, and executes VDPBF16PS on them.

// These describe the state that XSAVE writes (Intel SDM volume 1, chapter 13). The lowest 16 bytes
// of the first 16 vectors are in the legacy area. A header says which components are not in their
// initial state, and CPUID gives the offsets of components.
const (
	getRegSet, setRegSet, ofXState = 0x4204, 0x4205, 0x202 // requests of ptrace
	atLowest, atHeader             = 160, 512

	componentSSE, componentAVX, componentUpper, componentHigh = 1, 2, 6, 7

	pairsBit = 1 << 5 // a bit of EAX, leaf 7, subleaf 1
)

// vectorState is the memory that holds a thread's registers.
type vectorState struct {
	bytes                []byte
	atAVX, atUpper, high int
}

// regSet reads or writes the state.
func (s *vectorState) regSet(request, tid int) bool {
	v := unix.Iovec{Base: unsafe.SliceData(s.bytes), Len: uint64(len(s.bytes))}
	_, _, err := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), ofXState, uintptr(unsafe.Pointer(&v)), 0, 0)
	s.bytes = s.bytes[:v.Len]
	return err == 0
}

// vectorsOf returns the state of a thread.
func vectorsOf(tid int) (s vectorState, ok bool) {
	at := func(component uint32) int {
		_, offset, _, _ := cpuid(0xd, component)
		return int(offset)
	}
	_, _, size, _ := cpuid(0xd, 0) // the size with all components of the processor
	s = vectorState{make([]byte, size), at(componentAVX), at(componentUpper), at(componentHigh)}
	return s, s.atAVX > 0 && s.atUpper > 0 && s.high > 0 && s.regSet(getRegSet, tid) && len(s.bytes) >= s.high+16*64
}

// parts returns the slices that hold the bytes of a vector, in order.
func (s *vectorState) parts(n int) [][]byte {
	if n >= 16 {
		return [][]byte{s.bytes[s.high+64*(n-16):][:64]}
	}
	return [][]byte{s.bytes[atLowest+16*n:][:16], s.bytes[s.atAVX+16*n:][:16], s.bytes[s.atUpper+32*n:][:32]}
}

// runPairs executes VDPBF16PS at the beginning of code, and further ones that follow it. It returns
// the number of bytes of these instructions.
func (p *program) runPairs(tid int, code []byte) (done int) {
	i, ok := tile.DecodePairs(code)
	if !ok {
		return 0
	}
	s, ok := vectorsOf(tid)
	if !ok {
		return 0
	}
	var v tile.Vectors
	for n := range v {
		to := v[n][:]
		for _, part := range s.parts(n) {
			to = to[copy(to, part):]
		}
	}
	for ; ok; i, ok = tile.DecodePairs(code[done:]) {
		i.Run(&v)
		p.ran[tile.PairsName]++
		done += tile.PairsLen
	}
	for n := range v {
		from := v[n][:]
		for _, part := range s.parts(n) {
			from = from[copy(part, from):]
		}
	}
	header := s.bytes[atHeader:]
	binary.LittleEndian.PutUint64(header, binary.LittleEndian.Uint64(header)|1<<componentSSE|1<<componentAVX|1<<componentUpper|1<<componentHigh)
	if !s.regSet(setRegSet, tid) {
		return 0
	}
	return done
}

// illegalVector executes the instruction at which a thread of a program with -bf16 stopped. It
// returns a signal as illegal does.
func (p *program) illegalVector(tid int, r *unix.PtraceRegs, code []byte) syscall.Signal {
	done := p.runPairs(tid, code)
	if done == 0 {
		return unix.SIGILL
	}
	r.Rip += uint64(done)
	unix.PtraceSetRegs(tid, r)
	return 0
}
