package par

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// currentCPU returns the CPU that the caller runs on, or -1 if it is not known.
func currentCPU() int {
	var cpu uint32
	if _, _, err := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); err != 0 {
		return -1
	}
	return int(cpu)
}

// leaveCPU moves the calling thread off a CPU if it runs there and may run on other CPUs: it
// briefly excludes the CPU from the thread's affinity. If the system forbids that, the thread
// stays.
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

// allowedCPUs returns the number of CPUs on which the program's first thread may run, or 0 if it is
// not known. Other threads may run on the same CPUs unless the program pins them.
func allowedCPUs() int {
	var allowed unix.CPUSet
	if unix.SchedGetaffinity(unix.Getpid(), &allowed) != nil {
		return 0
	}
	return allowed.Count()
}

// bindThread binds the calling thread, to which its goroutine is locked, to CPUs. restore restores
// the previous binding, and reports whether it could.
func bindThread(cpus []int) (restore func() bool, ok bool) {
	var before, set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if unix.SchedGetaffinity(0, &before) != nil || unix.SchedSetaffinity(0, &set) != nil {
		return nil, false
	}
	return func() bool { return unix.SchedSetaffinity(0, &before) == nil }, true
}

// threadID returns the system's number of the calling thread.
func threadID() int {
	id, _, _ := unix.RawSyscall(unix.SYS_GETTID, 0, 0, 0)
	return int(id)
}

// yieldThread lets other threads run on the calling thread's CPU.
func yieldThread() { unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }
