//go:build !(goexperiment.simd && amd64)

package gopeer

import "github.com/avoformer/avoformer/bench/internal/workload"

// experimental lists what needs GOEXPERIMENT=simd.
func experimental() []workload.Contestant { return nil }
