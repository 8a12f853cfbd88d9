// Compare times kernels of this library and of native libraries in turn, round by round, and prints
// the speed of this library relative to the best native library.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/lineup"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/report"
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
	peers := flag.String("peers", "", "comma-separated libraries (openblas, onednn, onnxruntime, mkl, blis, torch, or go for those in Go), or none; every one found when empty")
	all := flag.Bool("all", false, "every version of a library that is found, not the newest alone")
	held := flag.String("held", "", "hold this library and the native ones to an instruction `set` (avx2), without those that cannot be")
	verbose := flag.Bool("v", false, "a line for every contestant")
	flag.Parse()

	list, err := workload.Select(slices.Concat(workload.All, workload.Int8), *cases)
	if err != nil {
		return err
	}
	if *held != "" {
		if !native.CanHold(*held) {
			return fmt.Errorf("-held %q: libraries cannot be limited to this instruction set", *held)
		}
		*isas = *held
	}
	tiers, err := lineup.Tiers(*isas)
	if err != nil {
		return fmt.Errorf("-isa: %w", err)
	}
	everybody := lineup.Start(lineup.Options{
		Threads: *threads, Tiers: tiers, Float32: true, Peers: *peers, All: *all, Held: *held,
		Say: func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) },
	})
	defer everybody.Close()
	for _, c := range list {
		d := workload.NewData(c)
		cores := peak.Cores(*threads)
		results := interleave.Run(d, everybody.Contestants, interleave.Options{Rounds: *rounds, Block: *block})
		cores = min(cores, peak.Cores(*threads))
		peaks := map[string]float64{}
		if c.Int8 {
			peaks = int8Peaks(*threads, tiers)
		}
		show(c, results, peaks, *verbose)
		if e := (report.Entry{Key: report.Key{Threads: *threads}, Cores: cores}); e.Short() {
			fmt.Printf("%-28v the threads had %.1f cores before or after: measure again\n", c, cores)
		}
	}
	if len(everybody.Missing) > 0 {
		fmt.Printf("incomplete: without %s\n", strings.Join(everybody.Missing, ", "))
	}
	return nil
}

// show prints a line for each tier: its speed, and the median over the rounds of best peer / ours.
// With int8 it also prints the error, the share of the tier's peak, and the speed of float32.
func show(c workload.Case, results []interleave.Result, int8Peaks map[string]float64, verbose bool) {
	var own, peers []interleave.Result
	float32s := map[string]interleave.Result{}
	for _, r := range results {
		switch {
		case r.Refused != nil:
			fmt.Printf("%-28v %s %s: %v\n", c, r.Name, r.Version, r.Refused)
		case strings.HasPrefix(r.Name, "float32/"):
			float32s[strings.TrimPrefix(r.Name, "float32/")] = r
		case strings.HasPrefix(r.Name, report.Ours):
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
		isa := strings.TrimPrefix(r.Name, report.Ours)
		if p := int8Peaks[isa]; p > 0 {
			rest += fmt.Sprintf(", %.0f%% of peak", 100*c.Rate(r.Median())/p)
		}
		if f, ok := float32s[isa]; ok {
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

// int8Peaks prints the peaks of the instructions that multiply float32 and int8, and returns those
// of int8.
func int8Peaks(threads int, tiers []kernels.ISA) map[string]float64 {
	peaks := map[string]float64{}
	for _, isa := range tiers {
		const each = 15 * time.Millisecond
		peaks[isa.String()] = peak.Int8(isa, threads, each)
		fmt.Printf("%-28s %-22s float32 %.1f GFLOP/s, int8 %.1f Gop/s\n", "peaks", isa, peak.FMA(isa, threads, each), peaks[isa.String()])
	}
	return peaks
}

func label(r interleave.Result) string {
	if strings.HasPrefix(r.Name, report.Ours) {
		return r.Name
	}
	return report.Label(r.Name, r.Version, r.Variant)
}
