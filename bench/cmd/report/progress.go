package main

import (
	"fmt"
	"os"
	"time"
)

// progress says on standard error what runs and how long is left: one line that rewrites itself on
// a terminal, lines elsewhere.
type progress struct {
	steps, at int           // at counts the one under way
	total     time.Duration // asked for
	start     time.Time
	began     time.Time     // the step under way
	shared    time.Duration // what share gave to the step under way
	beyond    time.Duration // what the finished steps took beyond their shares
	now       func() time.Time
	terminal  bool
}

func newProgress(total time.Duration) *progress {
	info, err := os.Stderr.Stat()
	return &progress{total: total, start: time.Now(), now: time.Now, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// unsteady is how many steps are too few to predict how long the remaining steps will take.
const unsteady = 10

// plan divides what is left of the time asked for evenly among the steps that are left: how long
// each may measure, and how long it takes beyond, as those before did, to prepare the case, to
// check the results, and to measure again.
func (p *progress) plan() (share, beyond time.Duration) {
	each := max(0, p.total-p.now().Sub(p.start)) / time.Duration(max(1, p.steps-p.at+1))
	beyond = each * 4 / 10
	if finished := p.at - 1; finished >= unsteady {
		beyond = p.beyond / time.Duration(finished)
	}
	return max(200*time.Millisecond, each-beyond), beyond
}

// share is how long the current step may measure.
func (p *progress) share() time.Duration {
	p.shared, _ = p.plan()
	return p.shared
}

// left is how long the steps that are left will take; over what was asked for, if they must.
func (p *progress) left() time.Duration {
	share, beyond := p.plan()
	return max(0, time.Duration(p.steps-p.at+1)*(share+beyond))
}

func (p *progress) line(text string) {
	if p.terminal {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(os.Stderr, text)
}

// step announces the next step.
func (p *progress) step(format string, args ...any) {
	p.at++
	p.began = p.now()
	p.line(fmt.Sprintf("[%d/%d] %s; about %v left", p.at, p.steps, fmt.Sprintf(format, args...), p.left().Round(time.Second)))
}

// done finishes the step.
func (p *progress) done() { p.beyond += p.now().Sub(p.began) - p.shared }

// say adds a message that stays.
func (p *progress) say(format string, args ...any) {
	p.line(fmt.Sprintf(format, args...))
	if p.terminal {
		fmt.Fprintln(os.Stderr)
	}
}

func (p *progress) end() {
	p.say("measured for %v; %v were asked for", p.now().Sub(p.start).Round(time.Second), p.total)
}
