// Sweep times this library at many sizes along one dimension, and reports sizes where the speed is
// lower than at the previous size by more than a limit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bench/internal/ours"
	"github.com/avoformer/avoformer/bench/internal/report"
	"github.com/avoformer/avoformer/bench/internal/sweep"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sweep:", err)
		os.Exit(1)
	}
}

// pageHead is the beginning of the page of all plots.
const pageHead = `# Sweeps over sizes on %s

Made by ` + "`make sweeps`" + `. A cliff is a size at which the speed falls from the size before by more than 10%% (products
of over a million multiply-adds), 13%% (rows of over 64 elements: 15%% more time) or 15%% (attention), found
twice, in different memory; a ring marks it. There are %d; doc/measurements has
the causes of those that were looked into.
`

// page is the page of all plots.
type page struct {
	cpu    string
	cliffs int
	made   map[string]bool // keys are the names of sweeps
	plots  string
}

func (p *page) add(name, text string) {
	p.made[name] = true
	p.plots += "\n" + text
}

// text returns the page, which lists the sweeps that are missing.
func (p *page) text(sweeps []sweep.Sweep) string {
	text := fmt.Sprintf(pageHead, p.cpu, p.cliffs)
	var missing []string
	for _, s := range sweeps {
		if !p.made[s.Name] {
			missing = append(missing, s.Name)
		}
	}
	if len(missing) > 0 {
		text += fmt.Sprintf("\n**This page is incomplete: without %s.**\n", strings.Join(missing, ", "))
	}
	return text + p.plots
}

func run() error {
	only := flag.String("only", "", "comma-separated parts of the sweeps' names; all when empty")
	series := flag.String("series", "", "a part of the series' labels; all when empty")
	threads := flag.Int("threads", 1, "threads")
	tier := flag.String("isa", kernels.Active().String(), "tier of this library")
	rounds := flag.Int("rounds", 11, "rounds")
	block := flag.Duration("block", time.Millisecond, "time per size and round")
	dir := flag.String("dir", "", "where plots go; none when empty")
	cpu := flag.String("cpu", report.CPUName(), "the CPU's name, for titles and files")
	verbose := flag.Bool("v", false, "every point")
	flag.Parse()

	isa, err := kernels.ParseISA(*tier)
	if err != nil {
		return err
	}
	p := &page{cpu: *cpu, made: map[string]bool{}}
	for _, s := range sweep.All {
		if !matches(s.Name, *only) {
			continue
		}
		var lines []sweep.Line
		for _, l := range s.Series {
			if !strings.Contains(l.Label, *series) {
				continue
			}
			fmt.Fprintf(os.Stderr, "%s: %s\n", s.Name, l.Label)
			line, err := sweep.Run(s, l, ours.Tier{ISA: isa, Threads: *threads}, sweep.Options{Rounds: *rounds, Block: *block})
			if errors.Is(err, workload.ErrUnsupported) {
				fmt.Fprintln(os.Stderr, "  skipped at this number of threads")
				continue
			}
			if err != nil {
				return err
			}
			lines = append(lines, line)
			p.cliffs += len(line.Cliffs)
		}
		if len(lines) == 0 {
			continue
		}
		title := fmt.Sprintf("%s: %s, %d thread(s), %s", s.Title, isa, *threads, *cpu)
		text := fmt.Sprintf("## %s\n\n%s\n", title, report.SweepTable(lines))
		fmt.Print(text)
		if *verbose {
			for _, l := range lines {
				for _, q := range l.Points {
					fmt.Printf("%s\t%d\t%.4g\n", l.Label, q.Size, q.Speed)
				}
			}
		}
		if *dir != "" {
			file := fmt.Sprintf("%s-sweep-%s.svg", report.Slug(*cpu), s.Name)
			if err := report.SweepPlot(title, s.XLabel, lines, filepath.Join(*dir, file)); err != nil {
				return err
			}
			p.add(s.Name, fmt.Sprintf("%s![%s](%s)\n", text, title, file))
			if err := os.WriteFile(filepath.Join(*dir, report.Slug(*cpu)+"-sweeps.md"), []byte(p.text(sweep.All)), 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d cliffs\n", p.cliffs)
	return nil
}

func matches(name, patterns string) bool {
	for p := range strings.SplitSeq(patterns, ",") {
		if strings.Contains(name, strings.TrimSpace(p)) {
			return true
		}
	}
	return false
}
