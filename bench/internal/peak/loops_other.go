//go:build !amd64 && !arm64

package peak

import "github.com/avoformer/avoformer/kernels"

func loopsOf(kernels.ISA) loops { return generic }
