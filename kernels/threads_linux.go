package kernels

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Linux may wake a worker on the CPU of the goroutine that wants its help and
// leave the two there for some 10 ms while another CPU idles: where all CPUs
// that share a cache were busy of late, it does not search them for an idle one
// (select_idle_cpu in kernel/sched/fair.c). A small virtual machine that has
// just computed on all its CPUs is such a place. So a worker that wakes to find
// itself on its caller's CPU goes elsewhere.

// currentCPU is the CPU that the caller runs on, or -1 if it cannot be told.
func currentCPU() int {
	var cpu uint32
	if _, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); err != 0 {
		return -1
	}
	return int(cpu)
}

// leaveCPU moves the calling thread off a CPU if it is there and may run on
// others: by not being allowed there for a moment. Where the system forbids
// that, it stays.
func leaveCPU(cpu int) {
	if currentCPU() != cpu {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(0, &allowed) != nil || allowed.Count() < 2 || !allowed.IsSet(cpu) {
		return
	}
	others := allowed
	others.Clear(cpu)
	if unix.SchedSetaffinity(0, &others) == nil {
		unix.SchedSetaffinity(0, &allowed)
	}
}

// letWorkersMove lets a worker that was woken on the caller's CPU run for as
// long as it takes to leave. It costs a fraction of a microsecond if there is
// none.
func letWorkersMove() { unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
