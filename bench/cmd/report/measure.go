package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/lineup"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/report"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/internal/peerenv"
	"github.com/avoformer/avoformer/kernels"
)

// keepBelow is the largest size of a case's inputs and their oracle that are kept for the next
// number of threads.
const keepBelow = 32 << 20

// A set is a set of cases, and the way of measuring them.
type set struct {
	name  report.Set
	cases []workload.Case
	isa   kernels.ISA // the tier that all libraries are limited to, unless it is kernels.Generic
}

func (s set) key(c workload.Case, threads int) report.Key {
	return report.Key{Case: c.String(), Threads: threads, Set: s.name}
}

// sets returns the sets that the options ask for.
func sets(o options, say func(format string, args ...any)) ([]set, error) {
	list := workload.All
	if o.quick {
		list = workload.Quick
	}
	list, err := workload.Select(list, o.cases)
	if err != nil {
		return nil, err
	}
	out := []set{{name: report.Listed, cases: list}}
	if o.random {
		drawn := workload.Random
		if o.cases != "" {
			drawn = workload.Matching(workload.Random, o.cases)
			list = slices.DeleteFunc(slices.Clone(list), func(c workload.Case) bool {
				return slices.ContainsFunc(drawn, func(d workload.Case) bool { return d.String() == c.String() })
			})
			out[0].cases = list
		}
		out = append(out, set{name: report.Drawn, cases: drawn})
	}
	if o.held == "" {
		return out, nil
	}
	if !native.CanHold(o.held) {
		return nil, fmt.Errorf("-held %q: libraries cannot be limited to this instruction set", o.held)
	}
	tiers := kernels.Supported()
	for i, isa := range tiers {
		if isa.String() != o.held {
			continue
		}
		if i == len(tiers)-1 {
			say("-held %s: it is the widest of this machine anyway, so nothing more is measured", o.held)
			return out, nil
		}
		return append(out, set{report.Set(o.held), list, isa}), nil
	}
	say("-held %s: this machine lacks it, so nothing more is measured", o.held)
	return out, nil
}

// describe returns a run without figures.
func describe(o options) *report.Run {
	return &report.Run{
		CPU: cmp.Or(o.cpu, report.CPUName()), System: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Go: runtime.Version(), Commit: commit(), Command: command(), Variables: peerenv.Here().Notes(),
	}
}

// measure adds the cases that the options ask for to a run, within about the given time, and saves
// after each case. On SIGINT and SIGTERM it finishes the current case and returns; the run lists
// the cases that are missing. Unless cases are named, it does not measure the cases of an earlier
// run again.
func measure(o options, r, earlier *report.Run, save func() error) error {
	if o.total == 0 {
		o.total = 10 * time.Minute
		if o.quick {
			o.total = 2 * time.Minute
		}
	}
	threads, err := lineup.Threads(o.threads)
	if err != nil {
		return fmt.Errorf("-threads: %w", err)
	}
	progress := newProgress(o.total)
	list, err := sets(o, progress.say)
	if err != nil {
		return err
	}
	for _, t := range threads {
		for _, s := range list {
			for _, c := range s.cases {
				r.Lacking = append(r.Lacking, s.key(c, t))
			}
		}
	}
	if earlier != nil && o.cases == "" {
		r.Continue(earlier)
	}
	progress.steps = len(r.Lacking)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() {
		stop() // a second signal ends the program
		progress.say("interrupted: this case is the last")
	})()
	m := measurement{options: o, run: r, save: save, progress: progress, kept: map[string]*workload.Data{},
		interrupted: func() bool { return ctx.Err() != nil }}
	for _, t := range threads {
		if err := m.threads(t, list); err != nil {
			return err
		}
	}
	if m.interrupted() && len(r.Entries) == 0 {
		return errors.New("interrupted before the first case was measured")
	}
	progress.end()
	return nil
}

// A measurement is a measurement in progress.
type measurement struct {
	options
	run         *report.Run
	save        func() error
	progress    *progress
	kept        map[string]*workload.Data
	interrupted func() bool
}

// data draws a case's inputs, or returns those that were kept.
func (m *measurement) data(c workload.Case) *workload.Data {
	d := m.kept[c.String()]
	if d == nil {
		d = workload.NewData(c)
		if c.Bytes() < keepBelow {
			m.kept[c.String()] = d
		}
	}
	return d
}

// threads measures the cases that the run lacks at a number of threads.
func (m *measurement) threads(threads int, list []set) error {
	list = slices.DeleteFunc(slices.Clone(list), func(s set) bool {
		return !slices.ContainsFunc(m.run.Lacking, func(k report.Key) bool { return k.Threads == threads && k.Set == s.name })
	})
	if len(list) == 0 || m.interrupted() {
		return nil
	}
	m.progress.say("peaks at %d thread(s)", threads)
	scale := 1.0
	if m.quick {
		scale = 0.3
	}
	m.run.Peaks = append(m.run.Peaks, peak.Measure(threads, scale))
	if err := m.sets(threads, list); err != nil || m.interrupted() {
		return err
	}
	last := &m.run.Peaks[len(m.run.Peaks)-1]
	*last = last.Raised(peak.Measure(threads, scale))
	return nil
}

// sets measures sets at a number of threads. Sets in which libraries are not limited to an
// instruction set share the libraries' processes.
func (m *measurement) sets(threads int, list []set) error {
	var everybody lineup.Lineup
	defer func() { everybody.Close() }()
	for i, s := range list {
		if m.interrupted() {
			break
		}
		if i == 0 || s.isa != list[i-1].isa {
			everybody.Close()
			m.progress.say("%s: peers at %d thread(s)", s.name.Title(), threads)
			tiers, held := kernels.Supported(), ""
			if s.isa != kernels.Generic {
				tiers, held = []kernels.ISA{s.isa}, s.isa.String()
			}
			everybody = lineup.Start(lineup.Options{
				Threads: threads, Tiers: tiers, Peers: m.peers, All: m.all, Held: held, Say: m.progress.say,
			})
			if held == "" && m.run.Peers == nil {
				m.run.Missing = everybody.Missing
				for _, c := range everybody.Contestants[len(tiers):] {
					m.run.Peers = append(m.run.Peers, c.Name()+" "+c.Version())
				}
			}
		}
		if err := m.set(threads, s, everybody.Contestants); err != nil {
			return err
		}
	}
	return nil
}

func (m *measurement) set(threads int, s set, contestants []workload.Contestant) error {
	for _, c := range s.cases {
		if m.interrupted() {
			return nil
		}
		if !slices.Contains(m.run.Lacking, s.key(c, threads)) {
			continue
		}
		m.progress.step("%v, %d thread(s)", c, threads)
		d := m.data(c)
		share := m.progress.share()
		m.run.Add(report.Settle(func() report.Entry {
			before, cores := transfer(threads), peak.Cores(threads)
			e := report.NewEntry(s.name, c, threads, interleave.Run(d, contestants, interleave.Options{
				Rounds: 50, Block: 5 * time.Millisecond, Limit: share, Slow: 300 * time.Millisecond,
			}))
			e.Cores = min(cores, peak.Cores(threads))
			e.Transfer = max(before, transfer(threads))
			return e
		}, m.run.Behind))
		m.progress.done()
		if err := m.save(); err != nil {
			return err
		}
	}
	return nil
}

// transfer returns peak.Transfer if there is more than one thread, and 0 otherwise.
func transfer(threads int) float64 {
	if threads == 1 {
		return 0
	}
	return peak.Transfer()
}
