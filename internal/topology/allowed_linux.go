package topology

import (
	"os"

	"golang.org/x/sys/unix"
)

// allowed returns the CPUs of the affinity mask of the program's first thread. The other threads
// have the same mask unless the program binds them.
func allowed() (s Set) {
	var mask unix.CPUSet
	if unix.SchedGetaffinity(os.Getpid(), &mask) != nil {
		return nil
	}
	for cpu := range len(mask) * 64 {
		if mask.IsSet(cpu) {
			s = append(s, cpu)
		}
	}
	return s
}
