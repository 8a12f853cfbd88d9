package generation

import (
	"testing"
	"time"
)

// TestPace asks for the room beside texts that become more while prompts come all the time: steps
// take as long as a running text may wait, and not much less, also where much of what a step with
// prompts takes more does not depend on how many tokens of them it has, and after a step that took
// longer for another reason.
func TestPace(t *testing.T) {
	for _, beside := range []float64{0, 15e-3} {
		testPace(t, beside)
	}
}

// testPace has steps that take beside more as soon as they have tokens of prompts.
func testPace(t *testing.T, beside float64) {
	const base, perRow, most = 16e-3, 1.5e-3, 512
	seconds := func(decoding, pieces int) float64 {
		took := base + perRow*float64(decoding+pieces)
		if pieces > 0 && decoding > 0 {
			took += beside
		}
		return took
	}
	p := pace{stall: 3}
	learn := func(decoding, pieces int) {
		p.learn(time.Duration(seconds(decoding, pieces)*1e9), decoding, pieces, 0)
	}
	// share is what the steps of some texts beside prompts take of what they may, on the average
	// and at most.
	share := func(decoding, prompts int, longer float64) (mean, worst float64, full bool) {
		const steps = 64
		n := p.room(decoding, prompts, most, 0)
		p.learn(time.Duration(4*seconds(decoding, n)*1e9), decoding, n, 0)
		for range steps {
			learn(decoding, p.room(decoding, prompts, most, 0))
		}
		for range steps {
			n := p.room(decoding, prompts, most, 0)
			x := seconds(decoding, n) / (longer * seconds(decoding, 0))
			mean, worst, full = mean+x/steps, max(worst, x-perRow/seconds(decoding, 0)/longer), full || n == most
			learn(decoding, n)
		}
		return mean, worst, full
	}
	if n := p.room(0, 3, most, 0); n != most {
		t.Errorf("room %d with no text, want %d", n, most)
	}
	learn(0, most)
	if n := p.room(1, 1, most, 0); n != 0 {
		t.Errorf("room %d before a step without prompts, want none", n)
	}
	learn(1, 0)
	for _, decoding := range []int{1, 2, 3, 5, 8, 16, 32, 64, 40, 9, 2, 1} {
		mean, worst, full := share(decoding, 1, p.stall)
		// Texts that became more meanwhile are taken to add what tokens of prompts do, with a share
		// of what is beside.
		if worst > 1.03+5*beside || !full && mean < 0.9 {
			t.Errorf("%d texts beside a prompt, %g s without texts: steps take %.3f of what they may, %.3f at most except for a token", decoding, beside, mean, worst)
		}
	}
	learn(1, 0)
	for prompts, longer := range map[int]float64{1: 1, 2: 2, 7: 7} {
		mean, worst, full := share(1, prompts, p.stall*longer)
		if worst > 1.05 || !full && mean < 0.9 {
			t.Errorf("a text beside %d prompts, %g s for themselves: steps take %.3f of what they may, %.3f at most except for a token", prompts, beside, mean, worst)
		}
	}
}

// TestPaceCoarse: steps that end within a tick of the clock let prompts in all the same.
func TestPaceCoarse(t *testing.T) {
	p := pace{stall: 2.5}
	p.learn(0, 1, 0, 0)
	if n := p.room(1, 1, 512, 0); n != leastPiece {
		t.Errorf("room %d after a step that took no time, want %d", n, leastPiece)
	}
}

// TestPaceDeeper: attention makes tokens take longer the more of a prompt has passed. Steps still
// take what they may, from the first one of the next prompt on.
func TestPaceDeeper(t *testing.T) {
	const decoding, base, perRow, perKey, long, most = 16, 15e-3, 0.5e-3, 0.5e-6, 2000, 512
	p := pace{stall: 2.5}
	seconds := func(pieces, depth int) float64 {
		return base + float64(pieces)*(perRow+perKey*float64(depth))
	}
	for prompt := range 3 {
		for range 20 {
			p.learn(time.Duration(seconds(0, 0)*1e9), decoding, 0, 0)
		}
		for depth := 0; depth < long; {
			n := min(p.room(decoding, 1, most, depth), long-depth)
			took := seconds(n, depth)
			if share := (took - seconds(1, depth) + base) / (p.stall * base); prompt > 0 && (share > 1.03 || depth > 200 && depth+n < long && share < 0.9) {
				t.Errorf("prompt %d: a step of %d tokens after %d takes %.3f of what it may except for a token", prompt, n, depth, share)
			}
			p.learn(time.Duration(took*1e9), decoding, n, depth)
			depth += n
		}
	}
}
