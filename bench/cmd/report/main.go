// Report measures this library and all other libraries on the machine, taking turns, and writes
// tables and plots. It saves its measurements after each case. If interrupted, it finishes the case
// and writes a report that says which cases are missing.
//
//	go run -C bench ./cmd/report -quick            print the table of a chosen subset, in about 2 minutes
//	go run -C bench ./cmd/report                   results/<cpu>.md with plots
//	go run -C bench ./cmd/report -merge -cases softmax    measure a part of it again
//	go run -C bench ./cmd/report -merge    continue one that was interrupted, or add to it
//	go run -C bench ./cmd/report -render results/<cpu>.json
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/avoformer/avoformer/bench/internal/report"
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
	random  bool
	held    string
	render  string
	page    string
	print   bool
	merge   bool
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "a chosen subset, printed")
	flag.StringVar(&o.cases, "cases", "", "comma-separated `cases` or parts of their names")
	flag.StringVar(&o.threads, "threads", "", "comma-separated thread counts; 1 and the number of CPUs when empty")
	flag.DurationVar(&o.total, "time", 0, "about how long to measure; 2m with -quick and 10m without when 0")
	flag.StringVar(&o.cpu, "cpu", "", "the CPU's name; asked of the system when empty")
	flag.StringVar(&o.dir, "dir", "results", "where a report goes")
	flag.StringVar(&o.peers, "peers", "", "comma-separated libraries, go for those in Go, or none; every one found when empty")
	flag.BoolVar(&o.all, "all", false, "every version of a native library that is found, not the newest alone")
	flag.BoolVar(&o.random, "random", false, "also 40 shapes drawn at random, once")
	flag.StringVar(&o.held, "held", "", "also the cases with this library and the others held to a narrower instruction `set` (avx2), without those that cannot be")
	flag.StringVar(&o.render, "render", "", "write the report of a saved run again instead of measuring")
	flag.StringVar(&o.page, "page", "", "also put an excerpt between the performance markers of this `file`")
	flag.BoolVar(&o.print, "print", false, "print the report and write no files")
	flag.BoolVar(&o.merge, "merge", false, "keep what the saved run of this CPU has; without -cases, measure only what it lacks")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	var r, earlier *report.Run
	var err error
	if o.render == "" {
		r = describe(o)
	} else if r, err = report.Load(o.render); err != nil {
		return err
	}
	if o.merge && o.writes() {
		if earlier, err = report.Load(o.base(r) + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	whole := func() *report.Run {
		if earlier == nil {
			return r
		}
		return earlier.Merged(r)
	}
	if o.writes() {
		if err := os.MkdirAll(o.dir, 0o755); err != nil {
			return err
		}
	}
	if o.render == "" {
		err := measure(o, r, earlier, func() error {
			if !o.writes() {
				return nil
			}
			return whole().Save(o.base(r) + ".json")
		})
		if err != nil {
			return err
		}
	}
	if o.writes() {
		return write(o, whole())
	}
	fmt.Print(r.Markdown(nil))
	return nil
}

// writes reports whether files are written.
func (o options) writes() bool { return !o.quick && !o.print }

// base returns the beginning of the names of a report's files.
func (o options) base(r *report.Run) string { return filepath.Join(o.dir, r.Slug()) }

// write writes the report's files.
func write(o options, r *report.Run) error {
	plots, err := r.Plots(o.dir)
	if err != nil {
		return err
	}
	base := o.base(r)
	if err := r.Save(base + ".json"); err != nil {
		return err
	}
	if err := os.WriteFile(base+".md", []byte(r.Markdown(plots)), 0o644); err != nil {
		return err
	}
	fmt.Println("wrote", base+".md")
	if o.page != "" {
		return excerpt(o.page, o.dir, r, plots)
	}
	return nil
}

// These are the markers around a page's table.
const (
	begin = "<!-- performance: begin, written by make report -->"
	end   = "<!-- performance: end -->"
)

// plotted is the end of the name of the page's plot.
const plotted = "-encoder-length.svg"

// excerpt writes the part of a page about r, with a line for every run saved in dir.
func excerpt(file, dir string, r *report.Run, plots []report.Plot) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	i, j := bytes.Index(text, []byte(begin)), bytes.Index(text, []byte(end))
	if i < 0 || j < i {
		return fmt.Errorf("%s lacks the lines %q and %q", file, begin, end)
	}
	saved, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	var all []*report.Run
	for _, path := range saved {
		one, err := report.Load(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, one)
	}
	var plot report.Plot
	for _, p := range plots {
		if strings.HasSuffix(p.File, plotted) {
			plot = p
		}
	}
	link, err := relative(filepath.Dir(file), dir)
	if err != nil {
		return err
	}
	out := fmt.Sprintf("%s%s\n%s\n%s", text[:i], begin, r.Excerpt(filepath.ToSlash(link), plot, all), text[j:])
	return os.WriteFile(file, []byte(out), 0o644)
}

// relative returns the path of a folder, relative to another.
func relative(from, to string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	if to, err = filepath.Abs(to); err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}

// command returns the command that makes the report again.
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
