package generation

import (
	"testing"
	"time"
)

// TestPace asks for the room beside texts that become more while prompts come all the time: steps take as long as a
// running text may wait, and not much less.
func TestPace(t *testing.T) {
	const base, perRow, most = 16e-3, 1.5e-3, 512
	seconds := func(rows int) float64 { return base + perRow*float64(rows) }
	p := pace{stall: 3}
	learn := func(decoding, pieces int) {
		p.learn(time.Duration(seconds(decoding+pieces)*1e9), decoding, pieces)
	}
	if n := p.room(0, 3, most); n != most {
		t.Errorf("room %d with no text, want %d", n, most)
	}
	learn(0, most)
	if n := p.room(1, 1, most); n != 0 {
		t.Errorf("room %d before a step without prompts, want none", n)
	}
	learn(1, 0)
	for _, decoding := range []int{1, 2, 3, 5, 8, 16, 32, 64, 40, 9, 2, 1} {
		for range 40 {
			learn(decoding, p.room(decoding, 1, most))
		}
		n := p.room(decoding, 1, most)
		took, allowed := seconds(decoding+n), p.stall*seconds(decoding)
		if took > 1.02*allowed || n < most && took < 0.8*allowed {
			t.Errorf("%d texts and %d tokens of prompts take %.1f ms, allowed are %.1f", decoding, n, 1e3*took, 1e3*allowed)
		}
	}
	learn(1, 0)
	for prompts, longer := range map[int]float64{1: 1, 2: 2, 7: 7} {
		n := p.room(1, prompts, most)
		took, allowed := seconds(1+n), p.stall*longer*seconds(1)
		if took > 1.05*allowed || n < most && took < 0.7*allowed {
			t.Errorf("a text and %d tokens of %d prompts take %.1f ms, allowed are %.1f", n, prompts, 1e3*took, 1e3*allowed)
		}
	}
}
