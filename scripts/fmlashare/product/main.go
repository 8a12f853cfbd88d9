// Command product multiplies a 128x768 by a 768x768 matrix several times; its argument is the
// number of times. Command fmlashare counts the instructions.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/avoformer/avoformer/kernels"
)

func main() {
	times, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	const m, n, k = 128, 768, 768
	a, b, c := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
	for range times {
		kernels.Gemm(kernels.NoTrans, kernels.NoTrans, m, n, k, 1, a, k, b, n, 0, c, n)
	}
}
