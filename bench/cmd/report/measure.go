package main

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/lineup"
	"github.com/avoformer/avoformer/bench/internal/native"
	"github.com/avoformer/avoformer/bench/internal/peak"
	"github.com/avoformer/avoformer/bench/internal/report"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
)

// keepBelow is the size up to which a case's inputs and their oracle are kept for the next number of
// threads.
const keepBelow = 32 << 20

// A set is what to measure, and how.
type set struct {
	name  report.Set
	cases []workload.Case
	isa   kernels.ISA // that everybody is held to, unless it is kernels.Generic
}

// sets lists what the options ask for.
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
		return nil, fmt.Errorf("-held: no way to hold libraries to %q", o.held)
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

// measure runs all cases at all thread counts within the time given.
func measure(o options) (*report.Run, error) {
	if o.total == 0 {
		o.total = 10 * time.Minute
		if o.quick {
			o.total = 2 * time.Minute
		}
	}
	threads, err := lineup.Threads(o.threads)
	if err != nil {
		return nil, fmt.Errorf("-threads: %w", err)
	}
	r := &report.Run{
		CPU: o.cpu, System: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Go: runtime.Version(), Commit: commit(), Command: command(),
	}
	if r.CPU == "" {
		r.CPU = report.CPUName()
	}
	progress := newProgress(o.total)
	list, err := sets(o, progress.say)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		progress.steps += len(s.cases) * len(threads)
	}
	m := measurement{options: o, run: r, progress: progress, kept: map[string]*workload.Data{}}
	for _, t := range threads {
		progress.say("peaks at %d thread(s)", t)
		scale := 1.0
		if o.quick {
			scale = 0.3
		}
		r.Peaks = append(r.Peaks, peak.Measure(t, scale))
		m.sets(t, list)
		r.Peaks[len(r.Peaks)-1].Raise(peak.Measure(t, scale))
	}
	progress.end()
	return r, nil
}

// A measurement is what is under way.
type measurement struct {
	options
	run      *report.Run
	progress *progress
	kept     map[string]*workload.Data
}

// data draws a case's inputs, or takes those that were kept.
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

// sets measures at a number of threads. Sets in which nobody is held to anything share the
// processes of the libraries.
func (m *measurement) sets(threads int, list []set) {
	var everybody lineup.Lineup
	for i, s := range list {
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
			if i == 0 && m.run.Peers == nil {
				m.run.Missing = everybody.Missing
				for _, c := range everybody.Contestants[len(tiers):] {
					m.run.Peers = append(m.run.Peers, c.Name()+" "+c.Version())
				}
			}
		}
		m.set(threads, s, everybody.Contestants)
	}
	everybody.Close()
}

func (m *measurement) set(threads int, s set, contestants []workload.Contestant) {
	for _, c := range s.cases {
		m.progress.step("%v, %d thread(s)", c, threads)
		d := m.data(c)
		share := m.progress.share()
		m.run.Entries = append(m.run.Entries, report.Settle(func() report.Entry {
			return report.NewEntry(s.name, c, threads, interleave.Run(d, contestants, interleave.Options{
				Rounds: 50, Block: 5 * time.Millisecond, Limit: share, Slow: 300 * time.Millisecond,
			}))
		}, m.run.Behind))
	}
}
