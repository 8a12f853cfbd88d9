package par

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLeaveCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Skip(err)
	}
	left := false
	for range 20 { // the system may move the thread back at any time
		cpu := currentCPU()
		if cpu < 0 || !before.IsSet(cpu) {
			t.Fatalf("on CPU %d, which is not allowed", cpu)
		}
		leaveCPU(cpu)
		left = left || currentCPU() != cpu
	}
	if want := before.Count() > 1; left != want {
		t.Errorf("left the CPU: %t, want %t with %d CPUs", left, want, before.Count())
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("the thread is allowed on %v (%v), before on %v", after, err, before)
	}
}
