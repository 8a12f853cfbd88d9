// Progress on a terminal.

package main

import (
	"fmt"
	"io"
	"time"
)

// progress tells rate and time left on a terminal, and nothing in a pipe.
type progress struct {
	w          io.Writer // nil: tell nothing
	start, own time.Time
	began      int // lines that were done before
	size       int64
	told       bool
}

// newProgress is that of reading a file of size bytes; 0 is unknown.
func (a *app) newProgress(size int64) *progress {
	p := &progress{start: time.Now(), size: size}
	if !a.silent && isTerminal(a.err) {
		p.w = a.err
	}
	return p
}

// hide tells nothing from now on: what is told would stand among the output.
func (p *progress) hide() { p.w = nil }

// resumed says that lines were done before.
func (p *progress) resumed(lines int) { p.began, p.start = lines, time.Now() }

// tell says that so many lines, and bytes, are done.
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

// show shows what print prints; not more often than five times a second.
func (p *progress) show(print func(w io.Writer)) {
	now := time.Now()
	if p.w == nil || now.Sub(p.own) < 200*time.Millisecond {
		return
	}
	p.own, p.told = now, true
	fmt.Fprint(p.w, "\r\033[K")
	print(p.w)
}

// done clears what was told.
func (p *progress) done() {
	if p.told {
		fmt.Fprint(p.w, "\r\033[K")
		p.told = false
	}
}
