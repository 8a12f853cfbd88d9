package main

import (
	"fmt"
	"os"
	"time"
)

// progress prints the current step and the remaining time on standard error: on a terminal one line
// that is rewritten, otherwise new lines.
type progress struct {
	steps, at int           // at includes the current step
	total     time.Duration // the time that was asked for
	start     time.Time
	began     time.Time     // the beginning of the current step
	shared    time.Duration // the share of the current step
	beyond    time.Duration // the time of the finished steps beyond their shares
	now       func() time.Time
	terminal  bool
}

func newProgress(total time.Duration) *progress {
	info, err := os.Stderr.Stat()
	return &progress{total: total, start: time.Now(), now: time.Now, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// With fewer than unsteady finished steps, the time of the remaining steps cannot be predicted.
const unsteady = 10

// plan divides the remaining time evenly among the remaining steps. share is the time for which
// each step may measure. beyond is the average time that steps have needed in addition, to prepare
// the case, to check the results, and to measure again.
func (p *progress) plan() (share, beyond time.Duration) {
	each := max(0, p.total-p.now().Sub(p.start)) / time.Duration(max(1, p.steps-p.at+1))
	beyond = each * 4 / 10
	if finished := p.at - 1; finished >= unsteady {
		beyond = p.beyond / time.Duration(finished)
	}
	return max(200*time.Millisecond, each-beyond), beyond
}

// share returns the time for which the current step may measure.
func (p *progress) share() time.Duration {
	p.shared, _ = p.plan()
	return p.shared
}

// left returns the time of the remaining steps. It may exceed the time that was asked for.
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

// say prints a message that stays on the terminal.
func (p *progress) say(format string, args ...any) {
	p.line(fmt.Sprintf(format, args...))
	if p.terminal {
		fmt.Fprintln(os.Stderr)
	}
}

func (p *progress) end() {
	p.say("measured for %v; %v were asked for", p.now().Sub(p.start).Round(time.Second), p.total)
}
