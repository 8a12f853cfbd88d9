// Package report turns measurements into tables and plots.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/work"
)

// Ours is what the names of this library's tiers begin with.
const Ours = "avoformer/"

// A Run is everything that one report tells.
type Run struct {
	CPU     string
	System  string // GOOS/GOARCH and the number of CPUs
	Go      string
	Commit  string
	Command string
	Peers   []string // names and versions
	Missing []string // required peers that were not there
	Note    string   `json:",omitempty"` // what else a reader must know; written by hand, kept by Merge
	Peaks   []peak.Machine
	Entries []Entry
}

// An Entry is a case at a number of threads, by every contestant.
type Entry struct {
	Case    string
	Threads int
	Results []Result
}

// A Result is what a contestant took.
type Result struct {
	Name    string
	Version string
	Variant string  `json:",omitempty"`
	Seconds float64 // median per call
	Spread  float64 // interquartile range over the median
	Rounds  int
	Ratio   float64 `json:",omitempty"` // of another library: median over the rounds of its time over our best tier's
	Refused string  `json:",omitempty"`
}

// NewEntry condenses the rounds of a case.
func NewEntry(c work.Case, threads int, rounds []interleave.Result) Entry {
	e := Entry{Case: c.String(), Threads: threads}
	var own interleave.Result
	for _, r := range rounds {
		if strings.HasPrefix(r.Name, Ours) && r.Refused == nil && (own.Name == "" || r.Median() < own.Median()) {
			own = r
		}
	}
	for _, r := range rounds {
		x := Result{Name: r.Name, Version: r.Version, Variant: r.Variant, Seconds: r.Median(), Spread: r.Spread(), Rounds: len(r.Seconds)}
		if r.Refused != nil {
			x.Refused = r.Refused.Error()
		} else if own.Name != "" {
			x.Ratio = r.Ratio(own)
		}
		e.Results = append(e.Results, x)
	}
	return e
}

// Parsed is the entry's case.
func (e Entry) Parsed() work.Case { return work.MustParse(e.Case) }

// Own is our fastest tier, or nil.
func (e Entry) Own() *Result {
	return e.fastest(func(r Result) bool { return strings.HasPrefix(r.Name, Ours) })
}

// Tier is one of our tiers, or nil.
func (e Entry) Tier(isa string) *Result {
	return e.fastest(func(r Result) bool { return r.Name == Ours+isa })
}

// Peer is the fastest of the others, or nil: by the ratio to our best tier within the rounds, which a
// disturbed machine changes less than the times.
func (e Entry) Peer() *Result {
	var best *Result
	for i, r := range e.Results {
		if !strings.HasPrefix(r.Name, Ours) && r.Refused == "" && r.Rounds > 0 && (best == nil || r.Ratio < best.Ratio) {
			best = &e.Results[i]
		}
	}
	return best
}

func (e Entry) fastest(which func(Result) bool) *Result {
	var best *Result
	for i, r := range e.Results {
		if which(r) && r.Refused == "" && r.Rounds > 0 && (best == nil || r.Seconds < best.Seconds) {
			best = &e.Results[i]
		}
	}
	return best
}

// Ratio is how many times longer the best of the others takes than our best tier: over 1, we are
// faster. ok is false where there is nothing to compare.
func (e Entry) Ratio() (ratio float64, ok bool) {
	own, peer := e.Own(), e.Peer()
	if own == nil || peer == nil {
		return 0, false
	}
	return peer.Ratio, true
}

// Save writes the run beside its report, so that it can be rendered again.
func (r *Run) Save(path string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Load reads what Save wrote.
func Load(path string) (*Run, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Run)
	return r, json.Unmarshal(b, r)
}

// Merge replaces and adds what a later run of the same machine measured. What describes the run becomes
// that of the later one.
func (r *Run) Merge(later *Run) {
	entries := r.Entries
	for _, e := range later.Entries {
		i := slices.IndexFunc(entries, func(o Entry) bool { return o.Case == e.Case && o.Threads == e.Threads })
		if i >= 0 {
			entries[i] = e
		} else {
			entries = append(entries, e)
		}
	}
	peaks := r.Peaks
	for _, p := range later.Peaks {
		i := slices.IndexFunc(peaks, func(q peak.Machine) bool { return q.Threads == p.Threads })
		if i >= 0 {
			peaks[i].Raise(p)
		} else {
			peaks = append(peaks, p)
		}
	}
	slices.SortFunc(peaks, func(a, b peak.Machine) int { return a.Threads - b.Threads })
	place := map[string]int{}
	for i, c := range work.All {
		place[c.String()] = i
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Threads-b.Threads, place[a.Case]-place[b.Case])
	})
	later.Note = cmp.Or(later.Note, r.Note)
	if r.Command != later.Command {
		later.Command = r.Command + "`, then `" + later.Command
	}
	*r = *later
	r.Entries, r.Peaks = entries, peaks
}

// Slug is the CPU's name as part of a file's name.
func (r *Run) Slug() string { return Slug(r.CPU) }

// Slug is a CPU's name as part of a file's name.
func Slug(cpu string) string {
	f := strings.FieldsFunc(strings.ToLower(cpu), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return strings.Join(f, "-")
}

// CPUName asks the system for the CPU's name.
func CPUName() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	if out, err := exec.Command("sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return "unknown " + runtime.GOARCH + " CPU"
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

// Label names another library's result: with its version, and the way it was called where there is a
// choice.
func (r Result) Label() string {
	if strings.HasPrefix(r.Name, Ours) {
		return strings.TrimPrefix(r.Name, Ours)
	}
	s := r.Name + " " + shortVersion(r.Version)
	switch r.Variant {
	case "", "sgemm", "primitive", "model", "eager":
		return s
	}
	return s + " (" + r.Variant + ")"
}

func shortVersion(v string) string {
	v, _, _ = strings.Cut(v, " ")
	v, _, _ = strings.Cut(v, "+")
	v, _, _ = strings.Cut(v, "-")
	return v
}

func micros(s float64) string {
	us := s * 1e6
	switch {
	case us < 10:
		return fmt.Sprintf("%.2f", us)
	case us < 100:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}

// Notice is the sentence that marks a comparison without a required peer, or "".
func (r *Run) Notice() string {
	if len(r.Missing) == 0 {
		return ""
	}
	return "**Incomplete**: measured without " + strings.Join(r.Missing, ", ") + ", so the best of the others may be faster than what stands here."
}

// Markdown is the report's text; the plots lie beside it.
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
	p("Every result was checked against the float64 oracle before it was timed. Contestants take turns, round by round; a time is the median over the rounds of one call, and a ratio the median of the ratios within a round. *best/ours* is the time of the fastest other library over the time of avoformer's fastest tier: over 1, avoformer is faster. doc/performance.md tells how to read the rest.\n")
	p("Libraries: %s.\n", strings.Join(r.Peers, ", "))
	p("Machine, medians of the same run:\n")
	for _, m := range r.Peaks {
		p("- %v", m)
	}
	p("\n## Summary\n")
	b.WriteString(r.summary(0))
	for _, plot := range plots {
		p("\n![%s](%s)", plot.Title, filepath.Base(plot.File))
	}
	for _, t := range r.threads() {
		p("\n## %s\n", plural(t))
		b.WriteString(r.table(t, r.entries(t)))
	}
	p("\n## Every library\n")
	p("How many times longer each took than avoformer's fastest tier (the median over the rounds). A dash: not offered by the library.")
	for _, t := range r.threads() {
		p("\n### %s\n", plural(t))
		b.WriteString(r.matrix(r.entries(t)))
	}
	if refused := r.refusals(); refused != "" {
		p("\n## Refused\n\nNot timed, since the result was wrong or the call failed:\n")
		b.WriteString(refused)
	}
	return b.String()
}

func plural(threads int) string {
	if threads == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", threads)
}

func (r *Run) entries(threads int) []Entry {
	var out []Entry
	for _, e := range r.Entries {
		if e.Threads == threads {
			out = append(out, e)
		}
	}
	return out
}

// even is the ratio from which two libraries count as alike.
const even = 0.03

// disturbed is the spread (half the interquartile range over the median) from which something else
// took the machine too often for a figure to say much.
const disturbed = 0.1

// mark is the question mark of a disturbed case.
func (e Entry) mark() string {
	if e.Disturbed() {
		return "?"
	}
	return ""
}

// Disturbed reports whether a case should be measured again on a quieter machine.
func (e Entry) Disturbed() bool { return e.Spread()/2 > disturbed }

// Spread is the larger of those of our best tier and the best peer.
func (e Entry) Spread() float64 {
	spread := 0.0
	for _, r := range []*Result{e.Own(), e.Peer()} {
		if r != nil {
			spread = max(spread, r.Spread)
		}
	}
	return spread
}

// summary counts cases won and lost, and lists the losses, worst first: so many at most, or all for 0.
func (r *Run) summary(most int) string {
	var b strings.Builder
	for _, t := range r.threads() {
		var faster, alike, slower, noisy int
		var losses []Entry
		product := 0.0
		for _, e := range r.entries(t) {
			q, ok := e.Ratio()
			if !ok {
				continue
			}
			product += math.Log(q)
			if e.Disturbed() {
				noisy++
			}
			switch {
			case q > 1+even:
				faster++
			case q >= 1-even:
				alike++
			default:
				slower++
				losses = append(losses, e)
			}
		}
		n := faster + alike + slower
		if n == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s: of %d cases, avoformer is faster than the best of the others in %d, within %.0f%% of it in %d, slower in %d; geometric mean of best/ours %.2f.\n\n",
			plural(t), n, faster, even*100, alike, slower, math.Exp(product/float64(n)))
		if noisy > 0 {
			fmt.Fprintf(&b, "In %d of them, marked with a question mark, the spread is over %.0f%%: the machine was busy with other work, and the figures say little.\n\n", noisy, disturbed*100)
		}
		if slower > 0 {
			slices.SortFunc(losses, func(a, b Entry) int { x, _ := a.Ratio(); y, _ := b.Ratio(); return cmp.Compare(x, y) })
			fmt.Fprintf(&b, "Slower: ")
			for i, e := range losses {
				if most > 0 && i == most {
					fmt.Fprintf(&b, " and %d more", len(losses)-most)
					break
				}
				q, _ := e.Ratio()
				if i > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "%s %.2f%s (%s)", e.Case, q, e.mark(), e.Peer().Label())
			}
			b.WriteString(".\n\n")
		}
	}
	return b.String()
}

// table has a line per case, all at the same number of threads.
func (r *Run) table(threads int, entries []Entry) string {
	var b strings.Builder
	m := r.peak(threads)
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
			peer, time, ratio = e.Peer().Label(), micros(e.Peer().Seconds), fmt.Sprintf("%.2f", q)
			if q < 1-even {
				ratio = "**" + ratio + "**"
			}
			ratio += e.mark()
		}
		generic := "-"
		if g := e.Tier("generic"); g != nil {
			generic = micros(g.Seconds)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f %s | %.0f%% | %.0f%% | %s | %s | %s | %s | %s |\n", c.Op, c.Shape(), micros(own.Seconds), isa, rate, c.Metric().Unit(),
			100*rate/m.Of(c, isa), 50*own.Spread, peak.Warmth(c.WorkingSet()), peer, time, ratio, generic)
	}
	return b.String()
}

// matrix has a column per library.
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

// Excerpt is the table for a README: the quick cases at one thread and at all.
func (r *Run) Excerpt(link string) string {
	var b strings.Builder
	if n := r.Notice(); n != "" {
		fmt.Fprintf(&b, "%s\n\n", n)
	}
	if r.Note != "" {
		fmt.Fprintf(&b, "%s\n\n", r.Note)
	}
	fmt.Fprintf(&b, "%s, %s, %s; times in µs, best/ours over 1 means that avoformer is faster. Libraries: %s.\n\n", r.CPU, r.System, r.Go, strings.Join(r.Peers, ", "))
	ts := r.threads()
	b.WriteString("| operation | shape |")
	for _, t := range ts {
		fmt.Fprintf(&b, " %[1]s: avoformer | best of the others | best/ours |", plural(t))
	}
	b.WriteString("\n|---|---|" + strings.Repeat("--:|---|--:|", len(ts)) + "\n")
	for _, c := range work.Quick {
		line, any := fmt.Sprintf("| %s | %s |", c.Op, c.Shape()), false
		for _, t := range ts {
			own, peer, ratio := "-", "-", "-"
			for _, e := range r.entries(t) {
				if q, ok := e.Ratio(); ok && e.Case == c.String() && !e.Disturbed() {
					own, peer, ratio, any = micros(e.Own().Seconds), e.Peer().Label()+" "+micros(e.Peer().Seconds), fmt.Sprintf("%.2f", q), true
					if q < 1-even {
						ratio = "**" + ratio + "**"
					}
					ratio += e.mark()
				}
			}
			line += fmt.Sprintf(" %s | %s | %s |", own, peer, ratio)
		}
		if any {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("\nCases in which the machine was disturbed (a spread over 10%) are left out here, whoever was faster.\n")
	fmt.Fprintf(&b, "\nOver all cases of [the whole report](%s), which names the commands that made it:\n\n%s", link, r.summary(8))
	return b.String()
}
