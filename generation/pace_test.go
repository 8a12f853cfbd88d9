package generation

import (
	"testing"
	"time"
)

// TestPace asks for the room beside texts that become more while prompts come all the time: steps take as long as a
// running text may wait, and not much less, also where much of what a step with prompts takes more does not depend on how
// many tokens of them it has, and after a step that took longer for another reason.
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
		p.learn(time.Duration(seconds(decoding, pieces)*1e9), decoding, pieces)
	}
	// share is what the steps of some texts beside prompts take of what they may, on the average and at most.
	share := func(decoding, prompts int, longer float64) (mean, worst float64, full bool) {
		const steps = 64
		n := p.room(decoding, prompts, most)
		p.learn(time.Duration(4*seconds(decoding, n)*1e9), decoding, n)
		for range steps {
			learn(decoding, p.room(decoding, prompts, most))
		}
		for range steps {
			n := p.room(decoding, prompts, most)
			x := seconds(decoding, n) / (longer * seconds(decoding, 0))
			mean, worst, full = mean+x/steps, max(worst, x-perRow/seconds(decoding, 0)/longer), full || n == most
			learn(decoding, n)
		}
		return mean, worst, full
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
		mean, worst, full := share(decoding, 1, p.stall)
		// Texts that became more meanwhile are taken to add what tokens of prompts do, with a share of what is beside.
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
