//go:build !(goexperiment.simd && amd64)

package gopeer

import "github.com/avoformer/avoformer/bench/internal/work"

// experimental lists what needs GOEXPERIMENT=simd.
func experimental() []work.Contestant { return nil }
