//go:build amd64 && !purego

package kernels

import "golang.org/x/sys/cpu"

// machineISAs lists the vector tiers of this machine, in ascending order.
//
// cpu.X86.HasAVX512 means the foundation alone, and HasFMA does not ask whether
// the operating system saves the registers, which HasAVX2 does.
func machineISAs() []ISA {
	var isas []ISA
	x := &cpu.X86
	if x.HasAVX2 && x.HasFMA {
		isas = append(isas, AVX2)
		if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasBMI2 {
			isas = append(isas, AVX512)
		}
	}
	return isas
}

// preferred is the tier to run on by default.
func preferred(supported []ISA) ISA { return supported[len(supported)-1] }
