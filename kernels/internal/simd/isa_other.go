//go:build purego || !(amd64 || arm64)

package simd

func machineISAs() []ISA { return nil }

func machineFeatures() Features { return 0 }

func preferred(supported []ISA) ISA { return supported[len(supported)-1] }
