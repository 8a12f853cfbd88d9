// Gopeer runs a Go library that is built in its own way (without assembly, or with an experiment of
// the toolchain). It answers commands on standard input, as the native libraries' programs do.
//
//	gopeer NAME THREADS
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/avoformer/avoformer/bench/internal/gopeer"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gopeer NAME THREADS")
		os.Exit(2)
	}
	threads, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = gopeer.Serve(os.Args[1], threads, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gopeer:", err)
		os.Exit(1)
	}
}
