// This file shows progress on a terminal.

package main

import (
	"fmt"
	"io"
	"time"
)

// progress shows the rate and the time left on a terminal. In a pipe it shows nothing.
type progress struct {
	w          io.Writer // nil: show nothing
	start, own time.Time
	began      int // the number of lines that an earlier run did
	size       int64
	told       bool
}

// newProgress returns the progress of reading a file of size bytes. 0 means that the size is
// unknown.
func (a *app) newProgress(size int64) *progress {
	p := &progress{start: time.Now(), size: size}
	if !a.silent && isTerminal(a.err) {
		p.w = a.err
	}
	return p
}

// hide stops showing progress, which would mix with the output.
func (p *progress) hide() { p.w = nil }

// resumed sets the number of lines that an earlier run did.
func (p *progress) resumed(lines int) { p.began, p.start = lines, time.Now() }

// tell shows the progress after a number of lines and bytes.
func (p *progress) tell(lines int, bytes int64) {
	p.show(func(w io.Writer) {
		rate := float64(lines-p.began) / time.Since(p.start).Seconds()
		fmt.Fprintf(w, "%d lines, %.0f a second", lines, rate)
		if p.size > 0 && bytes > 0 && rate > 0 {
			left := float64(lines) * float64(p.size-bytes) / float64(bytes) / rate
			fmt.Fprintf(w, ", %d%%, %v left", 100*bytes/p.size, time.Duration(left*float64(time.Second)).Round(time.Second))
		}
	})
}

// show shows the output of print, at most five times a second.
func (p *progress) show(print func(w io.Writer)) {
	now := time.Now()
	if p.w == nil || now.Sub(p.own) < 200*time.Millisecond {
		return
	}
	p.own, p.told = now, true
	fmt.Fprint(p.w, "\r\033[K")
	print(p.w)
}

// done clears the line of progress.
func (p *progress) done() {
	if p.told {
		fmt.Fprint(p.w, "\r\033[K")
		p.told = false
	}
}
