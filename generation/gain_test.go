package generation

import "testing"

// TestGain: proposals are as many as save time, by what steps take and what became of those before.
func TestGain(t *testing.T) {
	for _, c := range []struct {
		name                   string
		base, row, draft, rate float64 // seconds of a step, for each of its rows, of one of the draft model
		texts, least, most     int
	}{
		{name: "a fast and good draft", base: 1, draft: 0.05, rate: 0.9, texts: 1, least: 8, most: 8},
		{name: "a fast and fair draft", base: 1, draft: 0.05, rate: 0.5, texts: 1, least: 2, most: 4},
		{name: "a fast and bad draft", base: 1, draft: 0.05, rate: 0.02, texts: 1},
		{name: "a slow and good draft", base: 1, draft: 1, rate: 0.9, texts: 1},
		{name: "rows that are not free", base: 0.1, row: 0.9, draft: 0.05, rate: 0.8, texts: 4},
	} {
		g := gain{rate: c.rate}
		for i := range 40 {
			rows := float64(c.texts * (1 + i%5))
			g.target.learn(rows, c.base+c.row*rows, keepSteps)
			g.draft.learn(float64(c.texts*(1+i%2)), c.draft, keepSteps)
		}
		if got := g.size(c.texts, 8); got < c.least || got > c.most {
			t.Errorf("%s: %d, want %d to %d", c.name, got, c.least, c.most)
		}
		tried := 0
		for range 4 * probe {
			if g.size(c.texts, 8) > 0 {
				tried++
				if c.most == 0 && g.behind > mostBehind {
					t.Errorf("%s: tried for texts of any length", c.name)
				}
				g.learn(1, 0)
			}
		}
		if c.most == 0 && (tried < 3 || tried > 4) {
			t.Errorf("%s: tried %d times in %d steps", c.name, tried, 4*probe)
		}
	}
	g := gain{rate: firstRate}
	for range 100 {
		g.learn(3, 0)
	}
	low := g.rate
	for range 100 {
		g.learn(3, 3)
	}
	if low > 0.05 || g.rate < 0.95 {
		t.Errorf("rates of %g and %g", low, g.rate)
	}
}
