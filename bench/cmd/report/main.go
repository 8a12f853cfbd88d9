// Report measures this library and every other that the machine has, taking turns, and writes tables
// and plots.
//
//	go run -C bench ./cmd/report -quick            print the table of a chosen subset, in about 2 minutes
//	go run -C bench ./cmd/report                   results/<cpu>.md with plots
//	go run -C bench ./cmd/report -merge -cases softmax    measure a part of it again
//	go run -C bench ./cmd/report -render results/<cpu>.json
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bench/internal/gopeer"
	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/ours"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/report"
	"github.com/avoformer/avoformer/bench/internal/work"
	"github.com/avoformer/avoformer/kernels"
)

type options struct {
	quick   bool
	cases   string
	threads string
	total   time.Duration
	cpu     string
	dir     string
	peers   string
	all     bool
	render  string
	readme  string
	print   bool
	merge   bool
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "a chosen subset, printed")
	flag.StringVar(&o.cases, "cases", "", "comma-separated `cases` or parts of their names")
	flag.StringVar(&o.threads, "threads", "", "comma-separated thread counts; 1 and the number of CPUs when empty")
	flag.DurationVar(&o.total, "time", 0, "how long to measure; 2m with -quick and 10m without when 0")
	flag.StringVar(&o.cpu, "cpu", "", "the CPU's name; asked of the system when empty")
	flag.StringVar(&o.dir, "dir", "results", "where a report goes")
	flag.StringVar(&o.peers, "peers", "", "comma-separated native libraries, or none; every one found when empty")
	flag.BoolVar(&o.all, "all", false, "every version of a native library that is found, not the newest alone")
	flag.StringVar(&o.render, "render", "", "write the report of a saved run again instead of measuring")
	flag.StringVar(&o.readme, "readme", "", "also put an excerpt between the performance markers of this `file`")
	flag.BoolVar(&o.print, "print", false, "print the report and write no files")
	flag.BoolVar(&o.merge, "merge", false, "keep what the saved run of this CPU has of other cases and thread counts")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	var r *report.Run
	var err error
	if o.render != "" {
		r, err = report.Load(o.render)
	} else {
		r, err = measure(o)
	}
	if err != nil {
		return err
	}
	if o.quick || o.print {
		fmt.Print(r.Markdown(nil))
		return nil
	}
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	base := filepath.Join(o.dir, r.Slug())
	if o.merge {
		if earlier, err := report.Load(base + ".json"); err == nil {
			earlier.Merge(r)
			r = earlier
		}
	}
	plots, err := r.Plots(o.dir)
	if err != nil {
		return err
	}
	if err := r.Save(base + ".json"); err != nil {
		return err
	}
	if err := os.WriteFile(base+".md", []byte(r.Markdown(plots)), 0o644); err != nil {
		return err
	}
	fmt.Println("wrote", base+".md")
	if o.readme != "" {
		return excerpt(o.readme, r, "bench/results/"+r.Slug()+".md")
	}
	return nil
}

// The markers between which a README's table stands.
const (
	begin = "<!-- performance: begin, written by make report -->"
	end   = "<!-- performance: end -->"
)

func excerpt(file string, r *report.Run, link string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	i, j := bytes.Index(text, []byte(begin)), bytes.Index(text, []byte(end))
	if i < 0 || j < i {
		return fmt.Errorf("%s lacks the lines %q and %q", file, begin, end)
	}
	out := fmt.Sprintf("%s%s\n%s\n%s", text[:i], begin, r.Excerpt(link), text[j:])
	return os.WriteFile(file, []byte(out), 0o644)
}

// keepBelow is the size up to which a case's inputs and their oracle are kept for the next number of
// threads.
const keepBelow = 32 << 20

// attempts is how often a case is measured again while the machine disturbs it; the quietest time
// counts, whoever was faster in it.
const attempts = 2

// measure runs all cases at all thread counts within the time given.
func measure(o options) (*report.Run, error) {
	list := work.All
	if o.quick {
		list = work.Quick
	}
	list, err := work.Select(list, o.cases)
	if err != nil {
		return nil, err
	}
	if o.total == 0 {
		o.total = 10 * time.Minute
		if o.quick {
			o.total = 2 * time.Minute
		}
	}
	threads, err := threadCounts(o.threads)
	if err != nil {
		return nil, err
	}
	r := &report.Run{
		CPU: o.cpu, System: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Go: runtime.Version(), Commit: commit(), Command: command(),
	}
	if r.CPU == "" {
		r.CPU = report.CPUName()
	}
	kept := map[string]*work.Data{}
	data := func(c work.Case) *work.Data {
		d := kept[c.String()]
		if d == nil {
			d = work.NewData(c)
			if c.Bytes() < keepBelow {
				kept[c.String()] = d
			}
		}
		return d
	}
	progress := newProgress(len(list)*len(threads), o.total)
	for _, t := range threads {
		progress.say("peers at %d thread(s)", t)
		contestants, done, missing, names := start(t, o, progress)
		if t == threads[0] {
			r.Peers, r.Missing = names, missing
		}
		progress.say("peaks at %d thread(s)", t)
		scale := 1.0
		if o.quick {
			scale = 0.3
		}
		peaks := peak.Measure(t, scale)
		for _, c := range list {
			progress.step("%v, %d thread(s)", c, t)
			d := data(c)
			measured := func() report.Entry {
				return report.NewEntry(c, t, interleave.Run(d, contestants, interleave.Options{
					Rounds: 50, Block: 5 * time.Millisecond, Limit: progress.share(), Slow: 300 * time.Millisecond,
				}))
			}
			e := measured()
			for range attempts {
				if !e.Disturbed() {
					break
				}
				if again := measured(); again.Spread() < e.Spread() {
					e = again
				}
			}
			r.Entries = append(r.Entries, e)
		}
		done()
		peaks.Raise(peak.Measure(t, scale))
		r.Peaks = append(r.Peaks, peaks)
	}
	progress.end()
	return r, nil
}

// start makes the contestants; done ends the processes among them.
func start(threads int, o options, p *progress) (list []work.Contestant, done func(), missing, names []string) {
	for _, isa := range kernels.Supported() {
		list = append(list, ours.Tier{ISA: isa, Threads: threads})
	}
	n := native.Options{All: o.all, Say: p.say}
	if o.peers != "" {
		n.Only = strings.Split(o.peers, ",")
	}
	peers, missing := native.StartAll(threads, n)
	for _, q := range peers {
		list = append(list, q)
	}
	list = append(list, gopeer.All(threads)...)
	for _, c := range list[len(kernels.Supported()):] {
		names = append(names, c.Name()+" "+c.Version())
	}
	return list, func() {
		for _, q := range peers {
			q.Close()
		}
	}, missing, names
}

func threadCounts(s string) ([]int, error) {
	if s == "" {
		if n := runtime.GOMAXPROCS(0); n > 1 {
			return []int{1, n}, nil
		}
		return []int{1}, nil
	}
	var list []int
	for f := range strings.SplitSeq(s, ",") {
		n := 0
		if _, err := fmt.Sscan(f, &n); err != nil || n < 1 {
			return nil, fmt.Errorf("-threads: %q is not a number of threads", f)
		}
		list = append(list, n)
	}
	return list, nil
}

// command is how to make the report again.
func command() string {
	s := "go run -C bench ./cmd/report"
	for _, a := range os.Args[1:] {
		if strings.ContainsAny(a, " ()") {
			a = "'" + a + "'"
		}
		s += " " + a
	}
	return s
}

func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
