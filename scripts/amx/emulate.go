//go:build linux && amd64

package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/avoformer/avoformer/scripts/amx/tile"
)

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
func xgetbv() (eax, edx uint32)

// These are the features of AMX that a program sees.
const (
	bf16Bit, tileBit, int8Bit = 1 << 22, 1 << 24, 1 << 25 // bits of EDX, leaf 7
	tileBits                  = 1<<17 | 1<<18             // bits of XCR0
)

// codeAtOnce is the number of bytes of code that are read at an illegal instruction. Instructions
// of AMX that follow in these bytes are executed too, without another stop.
const codeAtOnce = 256

// illegal executes the instruction at which a thread stopped. It returns the signal for the thread:
// 0 unless illegal refuses the instruction too.
func (p *program) illegal(tid int, t *thread) syscall.Signal {
	var r unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &r); err != nil {
		return unix.SIGILL
	}
	if of := p.patched[r.Rip]; of != 0 {
		p.answerQuery(t, of, &r)
		unix.PtraceSetRegs(tid, &r)
		return 0
	}
	code := make([]byte, codeAtOnce)
	n, _ := unix.ProcessVMReadv(p.pid, []unix.Iovec{iovec(code)}, []unix.RemoteIovec{{Base: uintptr(r.Rip), Len: len(code)}}, 0)
	code = code[:max(n, 0)]
	if p.pairs {
		return p.illegalVector(tid, &r, code)
	}
	for ran := 0; ; ran++ {
		i, err := tile.Decode(code)
		if err != nil {
			if ran > 0 {
				break
			}
			return unix.SIGILL // the program's own illegal instruction
		}
		next := r.Rip + uint64(i.Len)
		if err = p.run(t, i, &r, next); err != nil {
			unix.PtraceSetRegs(tid, &r)
			var f *tile.Fault
			if !errors.As(err, &f) {
				f = &tile.Fault{Exception: tile.UD, Reason: err.Error()}
			}
			fmt.Fprintf(os.Stderr, "amx: %v at %#x: %v\n", i.Op, r.Rip, f)
			return tell(tid, f)
		}
		p.ran[i.Op.String()]++
		r.Rip = next
		code = code[i.Len:]
	}
	unix.PtraceSetRegs(tid, &r)
	return 0
}

// run executes an instruction of AMX.
func (p *program) run(t *thread, i tile.Instruction, r *unix.PtraceRegs, next uint64) error {
	if !p.permitted && i.Op != tile.LDTILECFG && i.Op != tile.STTILECFG && i.Op != tile.TILERELEASE {
		return errors.New("tiles are not permitted")
	}
	return t.Run(i, func(n int) uint64 { return register(r, n) }, next, memory(p.pid))
}

// answerQuery executes CPUID or XGETBV.
func (p *program) answerQuery(t *thread, of query, r *unix.PtraceRegs) {
	if of == askXGETBV {
		eax, edx := xgetbv()
		if p.pairs {
			eax &^= tileBits
		} else if eax |= tileBits; uint32(r.Rcx) == 1 && !t.InUse() {
			eax &^= tileBits
		}
		r.Rax, r.Rdx = uint64(eax), uint64(edx)
		r.Rip += uint64(len(xgetbvCode))
		return
	}
	leaf, subleaf := uint32(r.Rax), uint32(r.Rcx)
	a, b, c, d := cpuid(leaf, subleaf)
	switch {
	case p.pairs && leaf == 7 && subleaf == 0:
		a = max(a, 1) // the largest subleaf
		d &^= bf16Bit | tileBit | int8Bit
	case p.pairs && leaf == 7 && subleaf == 1:
		a |= pairsBit
	case p.pairs:
	case leaf == 7 && subleaf == 0:
		d |= bf16Bit | tileBit | int8Bit
	case leaf == 0xd && subleaf == 0:
		a |= tileBits
	}
	r.Rax, r.Rbx, r.Rcx, r.Rdx = uint64(a), uint64(b), uint64(c), uint64(d)
	r.Rip += uint64(len(cpuidCode))
}

// register returns the general register with a number, as instructions encode it.
func register(r *unix.PtraceRegs, n int) uint64 {
	return [...]uint64{r.Rax, r.Rcx, r.Rdx, r.Rbx, r.Rsp, r.Rbp, r.Rsi, r.Rdi,
		r.R8, r.R9, r.R10, r.R11, r.R12, r.R13, r.R14, r.R15}[n]
}

// memory is the memory of a process, with the access rights of the process.
type memory int

func iovec(b []byte) unix.Iovec { return unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))} }

// transfer reads or writes rows.
func (pid memory) transfer(at []uint64, rows [][]byte, move func(pid int, local []unix.Iovec, remote []unix.RemoteIovec, flags uint) (int, error)) error {
	local, remote, size := make([]unix.Iovec, len(at)), make([]unix.RemoteIovec, len(at)), 0
	for i, row := range rows {
		local[i], remote[i] = iovec(row), unix.RemoteIovec{Base: uintptr(at[i]), Len: len(row)}
		size += len(row)
	}
	n, err := move(int(pid), local, remote, 0)
	if n == size {
		return nil
	}
	f := &tile.Fault{Exception: tile.PF, Reason: fmt.Sprintf("%d of %d bytes: %v", max(n, 0), size, err)}
	for i, left := 0, max(n, 0); i < len(rows); i++ {
		if left < len(rows[i]) {
			f.Addr = pid.missing(at[i])
			break
		}
		left -= len(rows[i])
	}
	return f
}

// missing returns the first byte from at on that is not mapped: at itself, or the beginning of the
// next page.
func (pid memory) missing(at uint64) uint64 {
	page := uint64(os.Getpagesize())
	var b [1]byte
	if n, _ := unix.ProcessVMReadv(int(pid), []unix.Iovec{iovec(b[:])}, []unix.RemoteIovec{{Base: uintptr(at), Len: 1}}, 0); n == 1 {
		return at/page*page + page
	}
	return at
}

// Read implements tile.Memory.
func (pid memory) Read(at []uint64, rows [][]byte) error {
	return pid.transfer(at, rows, unix.ProcessVMReadv)
}

// Write implements tile.Memory.
func (pid memory) Write(at []uint64, rows [][]byte) error {
	return pid.transfer(at, rows, unix.ProcessVMWritev)
}
