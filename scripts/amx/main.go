//go:build linux && amd64

package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/avoformer/avoformer/scripts/amx/tile"
)

func main() {
	refuse := flag.Bool("refuse", false, "tiles are not permitted to the program")
	pairs := flag.Bool("bf16", false, "the program sees AVX512_BF16 instead of AMX; the processor has AVX-512 without it")
	count := flag.Bool("count", false, "tell how often each instruction ran")
	need := flag.String("need", "", "instructions, separated by commas, of which each must have run")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: amx [flags] PROGRAM ARGUMENT...")
		os.Exit(2)
	}
	runtime.LockOSThread() // Linux ties a tracer to a thread
	p, err := start(flag.Args(), *refuse, *pairs)
	if err == nil {
		err = p.follow()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "amx:", err)
		os.Exit(2)
	}
	if *count {
		for _, op := range tile.Ops() {
			fmt.Fprintf(os.Stderr, "amx: %v ran %d times\n", op, p.ran[op.String()])
		}
		fmt.Fprintf(os.Stderr, "amx: %s ran %d times\n", tile.PairsName, p.ran[tile.PairsName])
	}
	for name := range strings.SplitSeq(*need, ",") {
		if name != "" && p.status == 0 && p.ran[name] == 0 {
			fmt.Fprintln(os.Stderr, "amx:", name, "never ran")
			p.status = 1
		}
	}
	os.Exit(p.status)
}
