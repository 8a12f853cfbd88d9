package main

import (
	"bytes"
	"testing"
	"time"
)

// TestProgress prints the progress of a run that continues after 100 lines and has done 500 more in
// 10 seconds.
func TestProgress(t *testing.T) {
	for size, want := range map[int64]string{
		0:    "\r\033[K600 lines, 50 a second",
		3000: "\r\033[K600 lines, 50 a second, 20%, 48s left",
	} {
		var out bytes.Buffer
		p := &progress{w: &out, size: size}
		p.resumed(100)
		p.start = time.Now().Add(-10 * time.Second)
		p.tell(600, 600)
		p.tell(601, 601) // too soon after the last call to be shown
		if out.String() != want {
			t.Errorf("%q, want %q", &out, want)
		}
		p.done()
		if out.String() != want+"\r\033[K" {
			t.Errorf("%q in the end", &out)
		}
	}
}
