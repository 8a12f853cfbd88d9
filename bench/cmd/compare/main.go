// Compare times kernels of this library and native libraries in turn, round by round, and prints how
// many times slower the best of the others is.
//
//	go run -C bench ./cmd/compare -cases "gemm_nn 128x768x768,softmax" -threads 1 -rounds 10
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bench/internal/gopeer"
	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/ours"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run() error {
	cases := flag.String("cases", "", "comma-separated `cases` (\"gemm_nn 128x768x768\") or parts of their names; all when empty")
	threads := flag.Int("threads", 1, "threads on both sides")
	rounds := flag.Int("rounds", 10, "rounds of each case")
	block := flag.Duration("block", 10*time.Millisecond, "time per contestant and round")
	isas := flag.String("isa", kernels.Active().String(), "comma-separated tiers of this library, or all")
	peers := flag.String("peers", "", "comma-separated libraries (openblas, onednn, onnxruntime, mkl, blis, torch), or none; every one found when empty")
	all := flag.Bool("all", false, "every version of a library that is found, not the newest alone")
	verbose := flag.Bool("v", false, "a line for every contestant")
	flag.Parse()

	list, err := workload.Select(slices.Concat(workload.All, workload.Int8), *cases)
	if err != nil {
		return err
	}
	var contestants []workload.Contestant
	tiers := 0
	for _, isa := range slices.Backward(kernels.Supported()) {
		if *isas == "all" || slices.Contains(strings.Split(*isas, ","), isa.String()) {
			contestants = append(contestants, ours.Tier{ISA: isa, Threads: *threads})
			contestants = append(contestants, ours.Tier{ISA: isa, Threads: *threads, Float32: true})
			tiers++
		}
	}
	if tiers == 0 {
		return fmt.Errorf("no tier of %q on this machine", *isas)
	}
	o := native.Options{All: *all, Say: func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }}
	if *peers != "" {
		o.Only = strings.Split(*peers, ",")
	}
	found, missing := native.StartAll(*threads, o)
	for _, p := range found {
		defer p.Close()
		contestants = append(contestants, p)
	}
	if *peers == "" || strings.Contains(*peers, "go") {
		contestants = append(contestants, gopeer.All(*threads)...)
	}
	for _, c := range list {
		d := workload.NewData(c)
		results := interleave.Run(d, contestants, interleave.Options{Rounds: *rounds, Block: *block})
		show(c, results, tiers, *verbose)
		if c.Int8 {
			showPeaks(*threads, *isas)
		}
	}
	if len(missing) > 0 {
		fmt.Printf("incomplete: without %s\n", strings.Join(missing, ", "))
	}
	return nil
}

// show prints a line per tier: its speed, and the median over the rounds of best peer / ours.
func show(c workload.Case, results []interleave.Result, tiers int, verbose bool) {
	var own, peers []interleave.Result
	float32s := map[string]interleave.Result{}
	for _, r := range results {
		switch {
		case r.Refused != nil:
			fmt.Printf("%-28v %s %s: %v\n", c, r.Name, r.Version, r.Refused)
		case strings.HasPrefix(r.Name, "float32/"):
			float32s[strings.TrimPrefix(r.Name, "float32/")] = r
		case strings.HasPrefix(r.Name, "avoformer/"):
			own = append(own, r)
		default:
			peers = append(peers, r)
		}
	}
	slices.SortFunc(peers, func(a, b interleave.Result) int {
		if a.Median() < b.Median() {
			return -1
		}
		return 1
	})
	line := func(r interleave.Result, rest string) {
		if c.Int8 {
			rest += fmt.Sprintf(", error %.2f%%", 100*r.Error)
		}
		if f, ok := float32s[strings.TrimPrefix(r.Name, "avoformer/")]; ok {
			rest += fmt.Sprintf(", float32/ours %.3f (%.2f µs)", f.Ratio(r), f.Median()*1e6)
		}
		fmt.Printf("%-28v %-22s %10.2f µs %7.1f %-7s ±%2.0f%%  %s\n", c, label(r), r.Median()*1e6, c.Rate(r.Median()), c.Metric().Unit(), 50*r.Spread(), rest)
	}
	for _, r := range own {
		rest := "no peer"
		if len(peers) > 0 {
			rest = fmt.Sprintf("best/ours %.3f (%s)", peers[0].Ratio(r), label(peers[0]))
		}
		line(r, rest)
	}
	if verbose || len(own) == 0 {
		for _, r := range peers {
			rest := ""
			if len(own) > 0 {
				rest = fmt.Sprintf("peer/ours %.3f", r.Ratio(own[0]))
			}
			line(r, rest)
		}
	}
}

// showPeaks prints the peaks of the instructions that multiply float32 and int8.
func showPeaks(threads int, isas string) {
	for _, isa := range slices.Backward(kernels.Supported()) {
		if isas == "all" || slices.Contains(strings.Split(isas, ","), isa.String()) {
			const each = 15 * time.Millisecond
			fmt.Printf("%-28s %-22s float32 %.1f GFLOP/s, int8 %.1f Gop/s\n", "peaks", isa, peak.FMA(isa, threads, each), peak.Int8(isa, threads, each))
		}
	}
}

func label(r interleave.Result) string {
	if strings.HasPrefix(r.Name, "avoformer/") {
		return r.Name
	}
	version, _, _ := strings.Cut(r.Version, " ")
	s := r.Name + " " + version
	switch r.Variant {
	case "", "sgemm", "primitive", "model", "eager":
		return s
	}
	return s + " " + r.Variant
}
