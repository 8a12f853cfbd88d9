//go:build arm64 && !purego

package kernels

func machineISAs() []ISA { return nil }

func preferred(supported []ISA) ISA { return supported[len(supported)-1] }
