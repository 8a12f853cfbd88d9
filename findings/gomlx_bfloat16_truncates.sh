#!/bin/bash
# Guess: GoMLX converts a float32 to the nearest bfloat16, to even where two are as near, as XLA does, which its other backend is.
# Found: its backend in Go cuts off the lower 16 bits. Errors are up to a whole step, and no magnitude becomes larger.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > go.mod <<'MOD'
module finding

go 1.25

require github.com/gomlx/gomlx v0.26.0
MOD
cat > main.go <<'GO'
package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/graph"
)

func main() {
	backend, err := backends.NewWithConfig("go")
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	x := []float32{1.007, 65519, 1.99, -1.99}
	for range 10000 {
		x = append(x, float32(r.NormFloat64()))
	}
	through := func(x *graph.Node) *graph.Node { return graph.ConvertDType(graph.ConvertDType(x, dtypes.BFloat16), dtypes.Float32) }
	got := graph.MustNewExec(backend, through).MustExec(x)[0].Value().([]float32)
	nearest, smaller := 0, 0
	for i, v := range x {
		bits := math.Float32bits(v)
		even := math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff)
		if i < 4 {
			fmt.Println("GoMLX 0.26.0:", v, "becomes", got[i], "and the nearest bfloat16 is", even)
		}
		if got[i] == even {
			nearest++
		}
		if math.Abs(float64(got[i])) <= math.Abs(float64(v)) {
			smaller++
		}
	}
	fmt.Println(len(x), "numbers:", nearest, "become the nearest bfloat16,", smaller, "become smaller or stay")
	if nearest == len(x) {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOWORK=off GOFLAGS=-mod=mod
go mod tidy 2>tidy.log || { cat tidy.log; exit 1; }
go run .
