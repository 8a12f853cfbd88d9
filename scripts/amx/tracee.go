//go:build linux && amd64

package main

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/avoformer/avoformer/scripts/amx/tile"
)

// program is a traced program.
type program struct {
	pid     int
	refuse  bool
	pairs   bool // the program sees AVX512_BF16 instead of AMX
	threads map[int]*thread
	// asked says that the program has asked for tiles, or that there are none to ask for. permitted
	// says that the program may use tiles. Until asked is set, the program stops at each system
	// call.
	asked, permitted bool
	patched          map[uint64]query
	ran              map[string]int // how many times each instruction ran, by name
	status           int            // the program's exit status after its end
}

// thread is a thread of the program.
type thread struct {
	tile.Machine
	begun     bool
	answering bool   // its system call is answered by this command
	answer    uint64 // the answer
}

// query is an instruction that asks for the processor's features or state.
type query byte

const (
	askCPUID query = iota + 1
	askXGETBV
)

// start begins a program, which waits at its first instruction.
func start(args []string, refuse, pairs bool) (*program, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &program{pid: cmd.Process.Pid, refuse: refuse, pairs: pairs, asked: pairs, threads: map[int]*thread{}, patched: map[uint64]query{}, ran: map[string]int{}}
	var status unix.WaitStatus
	if _, err := unix.Wait4(p.pid, &status, unix.WALL, nil); err != nil {
		return nil, err
	}
	p.threads[p.pid] = &thread{begun: true}
	if err := unix.PtraceSetOptions(p.pid, unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_EXITKILL); err != nil {
		return nil, err
	}
	return p, p.patch(cmd.Path)
}

// UD2 is illegal on every processor. It has the same length as CPUID.
var (
	cpuidCode  = []byte{0x0f, 0xa2}
	xgetbvCode = []byte{0x0f, 0x01, 0xd0}
	ud2        = []byte{0x0f, 0x0b}
)

// patch replaces CPUID and XGETBV by illegal instructions in the functions with these names.
func (p *program) patch(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return fmt.Errorf("%s: %v: build it with -buildmode=exe", path, f.Type)
	}
	functions, err := functionsOf(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, fn := range functions {
		of, code := askCPUID, cpuidCode
		switch fn.BaseName() {
		case "cpuid":
		case "xgetbv":
			of, code = askXGETBV, xgetbvCode
		default:
			continue
		}
		text := make([]byte, fn.End-fn.Entry)
		if _, err := unix.PtracePeekData(p.pid, uintptr(fn.Entry), text); err != nil {
			return fmt.Errorf("%s: %w", fn.Name, err)
		}
		for at := range text {
			if bytes.HasPrefix(text[at:], code) {
				where := fn.Entry + uint64(at)
				if _, err := unix.PtracePokeData(p.pid, uintptr(where), ud2); err != nil {
					return fmt.Errorf("%s: %w", fn.Name, err)
				}
				p.patched[where] = of
			}
		}
	}
	if len(p.patched) == 0 {
		return fmt.Errorf("%s has no function named cpuid", path)
	}
	return nil
}

// functionsOf returns the functions of a Go program. It reads the table that every Go program has,
// even a stripped one.
func functionsOf(f *elf.File) ([]gosym.Func, error) {
	lines, text := f.Section(".gopclntab"), f.Section(".text")
	if lines == nil || text == nil {
		return nil, errors.New("not a Go program")
	}
	data, err := lines.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	return table.Funcs, nil
}

// follow runs the program to its end.
func (p *program) follow() error {
	p.goOn(p.pid, 0)
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case status.Exited() || status.Signaled():
			if tid == p.pid {
				if p.status = status.ExitStatus(); status.Signaled() {
					p.status = 128 + int(status.Signal())
				}
				return nil
			}
			delete(p.threads, tid)
			continue
		}
		t := p.threads[tid]
		if t == nil {
			t = &thread{}
			p.threads[tid] = t
		}
		signal := status.StopSignal()
		switch {
		case signal == unix.SIGSTOP && !t.begun:
			t.begun, signal = true, 0
		case signal == unix.SIGTRAP|0x80:
			p.call(tid, t)
			signal = 0
		case signal == unix.SIGTRAP && status>>16 != 0: // a thread began
			signal = 0
		case signal == unix.SIGILL:
			signal = p.illegal(tid, t)
		}
		p.goOn(tid, signal)
	}
}

// goOn continues a thread, with a signal. The thread may have been killed in the meantime.
func (p *program) goOn(tid int, signal syscall.Signal) {
	request := unix.PTRACE_SYSCALL
	if p.asked {
		request = unix.PTRACE_CONT
	}
	unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), 0, uintptr(signal), 0, 0)
}

// These are the arguments that ask Linux for permission to use tiles
// (arch/x86/include/uapi/asm/prctl.h).
const (
	requestPermission = 0x1023
	tileData          = 18
)

// call answers the system call that asks for tiles, at the call's beginning and at its end.
func (p *program) call(tid int, t *thread) {
	var r unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &r) != nil {
		return
	}
	switch {
	case t.answering:
		t.answering, r.Rax = false, t.answer
		p.asked = true
	case r.Orig_rax == unix.SYS_ARCH_PRCTL && r.Rdi == requestPermission && r.Rsi == tileData:
		t.answering, t.answer = true, 0
		if p.refuse {
			t.answer = ^uint64(unix.EPERM) + 1
		} else {
			p.permitted = true
		}
		r.Orig_rax = ^uint64(0) // no system call
	default:
		return
	}
	unix.PtraceSetRegs(tid, &r)
}

// signalInfo has the layout of the beginning of siginfo_t.
type signalInfo struct {
	signal, errno, code, _ int32
	addr                   uint64
	_                      [128 - 24]byte
}

// tell sets the thread's signal information to that of a fault, and returns the signal.
func tell(tid int, f *tile.Fault) syscall.Signal {
	const segvMapErr, fromKernel = 1, 0x80
	info := signalInfo{signal: int32(unix.SIGSEGV), code: segvMapErr, addr: f.Addr}
	switch f.Exception {
	case tile.UD:
		return unix.SIGILL
	case tile.GP:
		info.code = fromKernel
	}
	unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGINFO, uintptr(tid), 0, uintptr(unsafe.Pointer(&info)), 0, 0)
	return unix.SIGSEGV
}
