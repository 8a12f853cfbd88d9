//go:build !(linux && amd64)

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "amx: only for Linux on amd64")
	os.Exit(2)
}
