// Package lineup returns the contestants of a comparison that the flags of the commands name.
package lineup

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/gopeer"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/ours"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

// A Lineup holds all contestants, at a number of threads.
type Lineup struct {
	Contestants []workload.Contestant // tiers of this library first, then other libraries
	Missing     []string              // libraries without which a comparison is incomplete
	natives     []*native.Peer
}

// Options choose the libraries that take part.
type Options struct {
	Threads int
	Tiers   []kernels.ISA
	Float32 bool   // in cases with int8, measure each tier also with weights in float32
	Peers   string // comma-separated native libraries, "go" for those in Go, or "none"; all when empty
	All     bool   // every version of a native library
	Held    string // an instruction set that native libraries are limited to
	Say     func(format string, args ...any)
}

// Start starts the libraries that are not in this process.
func Start(o Options) Lineup {
	var l Lineup
	for _, isa := range o.Tiers {
		l.Contestants = append(l.Contestants, ours.Tier{ISA: isa, Threads: o.Threads})
		if o.Float32 {
			l.Contestants = append(l.Contestants, ours.Tier{ISA: isa, Threads: o.Threads, Float32: true})
		}
	}
	n := native.Options{All: o.All, ISA: o.Held, Say: o.Say}
	if o.Peers != "" {
		n.Only = strings.Split(o.Peers, ",")
	}
	l.natives, l.Missing = native.StartAll(o.Threads, n)
	for _, p := range l.natives {
		l.Contestants = append(l.Contestants, p)
	}
	if o.Peers == "" || slices.Contains(n.Only, "go") {
		l.Contestants = append(l.Contestants, gopeer.All(o.Threads)...)
	}
	return l
}

// Close ends the processes of the libraries.
func (l Lineup) Close() {
	for _, p := range l.natives {
		p.Close()
	}
}

// Tiers parses a comma-separated list of this machine's tiers. It returns all tiers if the list is
// empty or "all".
func Tiers(list string) ([]kernels.ISA, error) {
	if list == "" || list == "all" {
		return kernels.Supported(), nil
	}
	var tiers []kernels.ISA
	for name := range strings.SplitSeq(list, ",") {
		isa, err := kernels.ParseISA(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(kernels.Supported(), isa) {
			return nil, fmt.Errorf("this machine lacks the tier %s", name)
		}
		tiers = append(tiers, isa)
	}
	return tiers, nil
}

// Threads parses a comma-separated list of numbers of threads. It returns 1 and the number of CPUs
// if the list is empty.
func Threads(list string) ([]int, error) {
	if list == "" {
		return slices.Compact([]int{1, runtime.GOMAXPROCS(0)}), nil
	}
	var counts []int
	for f := range strings.SplitSeq(list, ",") {
		n := 0
		if _, err := fmt.Sscan(f, &n); err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number of threads", f)
		}
		counts = append(counts, n)
	}
	return counts, nil
}
