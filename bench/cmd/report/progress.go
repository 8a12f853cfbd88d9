package main

import (
	"fmt"
	"os"
	"time"
)

// progress says on standard error what runs and how long is left: one line that rewrites itself on a
// terminal, lines elsewhere.
type progress struct {
	steps, at int
	total     time.Duration
	start     time.Time
	terminal  bool
}

func newProgress(total time.Duration) *progress {
	info, err := os.Stderr.Stat()
	return &progress{total: total, start: time.Now(), terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (p *progress) left() time.Duration { return max(0, p.total-time.Since(p.start)) }

// share is how long the current step may measure: what is left, divided evenly, with room for
// preparing the case.
func (p *progress) share() time.Duration {
	return max(200*time.Millisecond, p.left()/time.Duration(max(1, p.steps-p.at+1))*6/10)
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
	p.line(fmt.Sprintf("[%d/%d] %s; about %v left", p.at, p.steps, fmt.Sprintf(format, args...), p.left().Round(time.Second)))
}

// say adds a message that stays.
func (p *progress) say(format string, args ...any) {
	p.line(fmt.Sprintf(format, args...))
	if p.terminal {
		fmt.Fprintln(os.Stderr)
	}
}

func (p *progress) end() {
	p.line(fmt.Sprintf("measured for %v", time.Since(p.start).Round(time.Second)))
	if p.terminal {
		fmt.Fprintln(os.Stderr)
	}
}
