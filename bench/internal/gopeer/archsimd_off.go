//go:build !(goexperiment.simd && amd64)

package gopeer

import "github.com/avoformer/avoformer/bench/internal/workload"

// experimental returns nil: its libraries need GOEXPERIMENT=simd.
func experimental() []workload.Contestant { return nil }
