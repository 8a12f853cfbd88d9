//go:build 386 || arm || mips || mipsle || wasm

package gopeer

import "github.com/avoformer/avoformer/bench/internal/workload"

// gomlx returns nil: the library needs 64-bit integers.
func gomlx(*workload.Data, []float32) func() { return nil }
