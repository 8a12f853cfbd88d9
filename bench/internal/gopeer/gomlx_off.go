//go:build 386 || arm || mips || mipsle || wasm

package gopeer

import "github.com/avoformer/avoformer/bench/internal/work"

// gomlx needs 64-bit integers.
func gomlx(*work.Data, []float32) func() { return nil }
