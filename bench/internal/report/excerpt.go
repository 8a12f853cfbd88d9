package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// excerpted are the cases in a page's table.
var excerpted = []string{"gemm_nn 1024x1024x1024", "gemm_packed 128x768x768", "softmax 1536x128", "sdpa 1x12x512x512x64", "encoder_layer 1x128x768x12x3072"}

// Excerpt returns the part of a page about speed: a table of five cases on this machine, the plot,
// and the geometric means of every saved run with a link to its report. Paths begin with dir, the
// folder relative to the page.
func (r *Run) Excerpt(dir string, plot Plot, all []*Run) string {
	var b strings.Builder
	if n := r.Notice(); n != "" {
		fmt.Fprintf(&b, "%s\n\n", n)
	}
	fmt.Fprintf(&b, "%s, %s; times in µs, *best/ours* is the time of the fastest other library over that of avoformer.\n\n", r.CPU, r.Go)
	ts := r.threads()
	b.WriteString("| operation | shape |")
	for _, t := range ts {
		fmt.Fprintf(&b, " %[1]s: avoformer | best of the others | best/ours |", plural(t))
	}
	b.WriteString("\n|---|---|" + strings.Repeat("--:|---|--:|", len(ts)) + "\n")
	for _, name := range excerpted {
		r.excerptLine(&b, workload.MustParse(name))
	}
	if plot.File != "" {
		fmt.Fprintf(&b, "\n![%s](%s)\n", plot.Title, path.Join(dir, path.Base(plot.File)))
	}
	b.WriteString("\nGeometric means of best/ours; the reports have every case:\n\n")
	b.WriteString(means(dir, all))
	return b.String()
}

func (r *Run) excerptLine(b *strings.Builder, c workload.Case) {
	fmt.Fprintf(b, "| %s | %s |", c.Op, c.Shape())
	for _, t := range r.threads() {
		own, peer, ratio := "-", "-", "-"
		for _, e := range r.entries(Listed, t) {
			if q, ok := e.Ratio(); ok && e.Case == c.String() {
				own, peer, ratio = micros(e.Own().Seconds), e.Peer().Label()+" "+micros(e.Peer().Seconds), e.emphasis(q)
			}
		}
		fmt.Fprintf(b, " %s | %s | %s |", own, peer, ratio)
	}
	b.WriteString("\n")
}

// means returns a table with a line for each machine and number of threads.
func means(dir string, all []*Run) string {
	var sets []Set
	for _, r := range all {
		for _, s := range r.sets() {
			if !slices.Contains(sets, s) {
				sets = append(sets, s)
			}
		}
	}
	slices.SortFunc(sets, compareSets)
	var b strings.Builder
	b.WriteString("| machine | threads |")
	for _, s := range sets {
		fmt.Fprintf(&b, " %s |", s.Title())
	}
	b.WriteString("\n|---|--:|" + strings.Repeat("--:|", len(sets)) + "\n")
	for _, r := range all {
		for _, t := range r.threads() {
			fmt.Fprintf(&b, "| [%s](%s) | %d |", r.CPU, path.Join(dir, r.Slug()+".md"), t)
			for _, s := range sets {
				cell := "-"
				if m := mean(r.entries(s, t)); m > 0 {
					cell = fmt.Sprintf("%.2f", m)
					if r.lacking(s, t) > 0 {
						cell += ", incomplete"
					}
				}
				fmt.Fprintf(&b, " %s |", cell)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
