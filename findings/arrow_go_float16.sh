#!/bin/bash
# Guess: arrow-go widens each of the 65,536 values of float16 to the float32 of the same value, as numpy does.
# Found: all 2,046 subnormal values become values 2**112 times too small.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv env
env/bin/pip install -q numpy==2.4.6
env/bin/python -c 'import numpy as np; np.arange(65536, dtype=np.uint16).view(np.float16).astype("<f4").tofile("want"); print("numpy", np.__version__)'
cat > go.mod <<'MOD'
module finding

go 1.25

require github.com/apache/arrow-go/v18 v18.8.0
MOD
cat > main.go <<'GO'
package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"

	"github.com/apache/arrow-go/v18/arrow/float16"
)

func main() {
	want, err := os.ReadFile("want")
	if err != nil {
		panic(err)
	}
	differ, subnormal := 0, 0
	for i := range 1 << 16 {
		w := math.Float32frombits(binary.LittleEndian.Uint32(want[4*i:]))
		g := float16.FromBits(uint16(i)).Float32()
		if g == g && math.Float32bits(g) != math.Float32bits(w) {
			differ++
			if i&0x7c00 == 0 && i&0x3ff != 0 {
				subnormal++
			}
			if i == 1 || i == 0x3ff {
				fmt.Printf("%#04x is %g, want %g\n", i, g, w)
			}
		}
	}
	fmt.Printf("arrow-go v18.8.0: %d values differ, %d of them subnormal\n", differ, subnormal)
	if differ == 0 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOWORK=off GOFLAGS=-mod=mod
go mod tidy 2>tidy.log || { cat tidy.log; exit 1; }
go run .
