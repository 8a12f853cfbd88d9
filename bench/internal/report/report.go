// Package report writes tables and plots of measurements.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/workload"
)

// Ours is the beginning of the names of this library's tiers.
const Ours = "avoformer/"

// A Run holds all data of one report.
type Run struct {
	CPU       string
	System    string // GOOS/GOARCH and the number of CPUs
	Go        string
	Commit    string
	Command   string
	Peers     []string // names and versions
	Missing   []string // required peers that were missing
	Variables []string `json:",omitempty"` // notes on variables of the environment that slow libraries down
	Note      string   `json:",omitempty"` // further notes for readers; written by hand, kept by Merged
	Peaks     []peak.Machine
	Entries   []Entry
	Lacking   []Key `json:",omitempty"` // cases that are still to be measured
}

// Add adds a measured entry, and removes it from the lacking ones.
func (r *Run) Add(e Entry) {
	r.Entries = append(r.Entries, e)
	r.Lacking = slices.DeleteFunc(r.Lacking, func(k Key) bool { return k == e.Key })
}

// Save writes the run next to its report, so that it can be rendered again. If the program is
// killed, the file holds this run or the one that was saved before.
func (r *Run) Save(path string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// Load reads a file that Save wrote.
func Load(path string) (*Run, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Run)
	return r, json.Unmarshal(b, r)
}

// Merged returns r with the entries of a later run of the same machine added or replaced; it
// changes neither run. Its description is that of the later run, except that the libraries are
// those of both.
func (r *Run) Merged(later *Run) *Run {
	entries := slices.Clone(r.Entries)
	for _, e := range later.Entries {
		if i := slices.IndexFunc(entries, func(o Entry) bool { return o.Key == e.Key }); i >= 0 {
			entries[i] = e
		} else {
			entries = append(entries, e)
		}
	}
	peaks := slices.Clone(r.Peaks)
	for _, p := range later.Peaks {
		if i := slices.IndexFunc(peaks, func(q peak.Machine) bool { return q.Threads == p.Threads }); i >= 0 {
			peaks[i] = peaks[i].Raised(p)
		} else {
			peaks = append(peaks, p)
		}
	}
	slices.SortFunc(peaks, func(a, b peak.Machine) int { return a.Threads - b.Threads })
	place := map[string]int{}
	for i, c := range slices.Concat(workload.Random, workload.All) {
		place[c.String()] = i
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(compareSets(a.Set, b.Set), a.Threads-b.Threads, place[a.Case]-place[b.Case])
	})
	m := *later
	m.Entries, m.Peaks = entries, peaks
	m.Peers, m.Missing = union(later.Peers, r.Peers), union(later.Missing, r.Missing)
	m.Lacking = slices.DeleteFunc(union(r.Lacking, later.Lacking), m.has)
	m.Variables = union(later.Variables, r.Variables)
	m.Note = cmp.Or(later.Note, r.Note)
	if r.Command != later.Command {
		m.Command = r.Command + "`, then `" + later.Command
	}
	return &m
}

func (r *Run) has(k Key) bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool { return e.Key == k })
}

// Continue removes the cases that an earlier run has from those to measure.
func (r *Run) Continue(earlier *Run) {
	r.Lacking = slices.DeleteFunc(r.Lacking, earlier.has)
}

// union returns a, followed by the elements of b that a lacks.
func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

func (r *Run) peak(threads int) peak.Machine {
	for _, p := range r.Peaks {
		if p.Threads == threads {
			return p
		}
	}
	return peak.Machine{}
}

func (r *Run) threads() []int {
	var t []int
	for _, e := range r.Entries {
		if !slices.Contains(t, e.Threads) {
			t = append(t, e.Threads)
		}
	}
	slices.Sort(t)
	return t
}

// Notice returns the sentences that mark an interrupted run, and a comparison without a required
// peer, or "".
func (r *Run) Notice() string {
	var s []string
	if n := len(r.Lacking); n > 0 {
		s = append(s, fmt.Sprintf("**Incomplete**: interrupted with %d of %d cases left to measure.", n, n+len(r.Entries)))
	}
	if len(r.Missing) > 0 {
		s = append(s, "**Incomplete**: measured without "+strings.Join(r.Missing, ", ")+", so the best of the others may be faster than what stands here.")
	}
	return strings.Join(s, " ")
}

// Markdown returns the report's text; the plots are files next to it.
func (r *Run) Markdown(plots []Plot) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("# Performance on %s\n", r.CPU)
	if n := r.Notice(); n != "" {
		p("%s\n", n)
	}
	p("%s, %s, commit %s. Made by `%s`.\n", r.System, r.Go, r.Commit, r.Command)
	if r.Note != "" {
		p("%s\n", r.Note)
	}
	p("Every result was checked against the float64 oracle before it was timed. Contestants take turns, round by round; a time is the median over the rounds of one call, and a ratio the median of the ratios within a round. *best/ours* is the time of the fastest other library over the time of avoformer's fastest tier: over 1, avoformer is faster. doc/performance.md says how to read the rest.\n")
	p("Libraries: %s.\n", strings.Join(r.Peers, ", "))
	for _, v := range r.Variables {
		p("Variables of the environment %s.\n", v)
	}
	p("Machine, medians of the same run:\n")
	for _, m := range r.Peaks {
		p("- %v", m)
	}
	for _, set := range r.sets() {
		p("\n## Summary: %s\n", set.Title())
		b.WriteString(r.summary(set))
	}
	p("A case counts as behind where its ratio is below %.2f (%.2f on several threads or held to an instruction set) in each of three measurements, while we reach less than %.0f%% of the FMA peak with products, %.0f%% with layers and %.0f%% with attention.",
		least, leastOnSeveral, 100*enough(workload.GemmNN), 100*enough(workload.EncoderLayer), 100*enough(workload.SDPA))
	for _, plot := range plots {
		p("\n![%s](%s)", plot.Title, filepath.Base(plot.File))
	}
	for _, set := range r.sets() {
		for _, t := range r.threads() {
			if list := r.entries(set, t); len(list) > 0 {
				p("\n## %s, %s\n", set.Title(), plural(t))
				b.WriteString(r.table(list))
			}
		}
	}
	p("\n## Every library\n")
	p("How many times longer each took than avoformer's fastest tier (the median over the rounds). A dash: not offered by the library.")
	for _, set := range r.sets() {
		for _, t := range r.threads() {
			if list := r.entries(set, t); len(list) > 0 {
				p("\n### %s, %s\n", set.Title(), plural(t))
				b.WriteString(r.matrix(list))
			}
		}
	}
	if refused := r.refusals(); refused != "" {
		p("\n## Refused\n\nNot timed, since the result was wrong or the call failed:\n")
		b.WriteString(refused)
	}
	return b.String()
}

// Title returns the title of a set's sections.
func (s Set) Title() string {
	switch s {
	case Listed:
		return "cases of the report"
	case Drawn:
		return "shapes drawn at random"
	}
	return "held to " + string(s)
}

// compareSets orders sets: the listed cases, the drawn ones, and then the other sets by name.
func compareSets(a, b Set) int {
	if a == Drawn || b == Drawn {
		place := map[Set]int{Listed: 0, Drawn: 1}
		x, known := place[a]
		if !known {
			x = 2
		}
		y, known := place[b]
		if !known {
			y = 2
		}
		return x - y
	}
	return cmp.Compare(a, b)
}

// sets returns the sets of the run, in order.
func (r *Run) sets() []Set {
	var list []Set
	for _, e := range r.Entries {
		if !slices.Contains(list, e.Set) {
			list = append(list, e.Set)
		}
	}
	slices.SortFunc(list, compareSets)
	return list
}

func plural(threads int) string {
	if threads == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", threads)
}

// lacking returns the number of cases of a set that were not measured.
func (r *Run) lacking(set Set, threads int) int {
	n := 0
	for _, k := range r.Lacking {
		if k.Set == set && k.Threads == threads {
			n++
		}
	}
	return n
}

func (r *Run) entries(set Set, threads int) []Entry {
	var out []Entry
	for _, e := range r.Entries {
		if e.Threads == threads && e.Set == set {
			out = append(out, e)
		}
	}
	return out
}

// table returns a table with a line per case, all at the same number of threads.
func (r *Run) table(entries []Entry) string {
	var b strings.Builder
	b.WriteString("| operation | shape | avoformer µs | tier | rate | of peak | ± | memory | best of the others | µs | best/ours | generic µs |\n|---|---|--:|---|--:|--:|--:|---|---|--:|--:|--:|\n")
	for _, e := range entries {
		own := e.Own()
		if own == nil {
			continue
		}
		c := e.Parsed()
		isa := strings.TrimPrefix(own.Name, Ours)
		rate := c.Rate(own.Seconds)
		peer, time, ratio := "-", "-", "-"
		if q, ok := e.Ratio(); ok {
			peer, time, ratio = e.Peer().Label(), micros(e.Peer().Seconds), e.emphasis(q)
		}
		generic := "-"
		if g := e.Tier("generic"); g != nil {
			generic = micros(g.Seconds)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f %s | %.0f%% | %.0f%% | %s | %s | %s | %s | %s |\n", c.Op, c.Shape(), micros(own.Seconds), isa, rate, c.Metric().Unit(),
			100*r.share(e), 50*own.Spread, peak.Warmth(c.WorkingSet(), r.peak(e.Threads).Cache), peer, time, ratio, generic)
	}
	return b.String()
}

// matrix returns a table with a column per library.
func (r *Run) matrix(entries []Entry) string {
	var names []string
	for _, e := range entries {
		for _, x := range e.Results {
			if n := x.Name + " " + shortVersion(x.Version); !strings.HasPrefix(x.Name, Ours) && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| case | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)))
	for _, e := range entries {
		fmt.Fprintf(&b, "| %s |", e.Case)
		for _, n := range names {
			cell := "-"
			for _, x := range e.Results {
				if x.Name+" "+shortVersion(x.Version) == n && x.Refused == "" && x.Ratio > 0 {
					cell = fmt.Sprintf("%.2f", x.Ratio)
				}
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (r *Run) refusals() string {
	var b strings.Builder
	for _, e := range r.Entries {
		for _, x := range e.Results {
			if x.Refused != "" {
				fmt.Fprintf(&b, "- %s, %s: %s %s: %s\n", e.Case, plural(e.Threads), x.Name, x.Version, x.Refused)
			}
		}
	}
	return b.String()
}
