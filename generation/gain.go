package generation

import "math"

// This file decides whether proposals of a draft model save time, and how many to make.

// line predicts y from x, such as the seconds of a step from its rows, with a fit to what it
// learned last. It never falls.
type line struct{ n, x, y, xx, xy float64 }

// learn takes in a pair, and keeps a share of what is known.
func (f *line) learn(x, y, keep float64) {
	f.n, f.x, f.y = keep*f.n+1, keep*f.x+x, keep*f.y+y
	f.xx, f.xy = keep*f.xx+x*x, keep*f.xy+x*y
}

// at returns y at x, 0 if nothing is known.
func (f *line) at(x float64) float64 {
	if f.n == 0 {
		return 0
	}
	slope := 0.0
	if spread := f.n*f.xx - f.x*f.x; spread > 1e-6*f.xx*f.n {
		slope = max(0, (f.n*f.xy-f.x*f.y)/spread)
	}
	mean := f.x / f.n
	return max(f.y/f.n+slope*(x-mean), f.y/f.n*0.05)
}

// keepSteps is the share of what is known of the times of steps that a further step leaves.
const keepSteps = 0.95

// gain estimates the time that proposals take and save.
type gain struct {
	target, draft line
	rate          float64 // of proposals after accepted ones that are accepted
	steps         int     // without proposals, since the last one
	behind        int     // tokens that the draft model may lack of a text
	always        bool    // for tests: as many proposals as may be
}

const (
	firstRate = 0.7
	leastGain = 0.1 // of the time, which is not known so well
	probe     = 256 // steps without proposals before one is tried again
	// mostBehind is the largest number of tokens of such a text that the draft model may lack.
	mostBehind = 64
)

// size returns how many tokens, at most most, to propose for each of some texts. If proposals seem
// to lose time, it tries one now and then, for texts of which the draft model lacks few tokens.
func (g *gain) size(texts, most int) int {
	g.behind = math.MaxInt
	if g.always || g.draft.n == 0 || g.target.n == 0 {
		return most
	}
	n := float64(texts)
	best, size := (1+leastGain)/g.target.at(n), 0
	tokens, power := 1.0, 1.0 // of a text in a step
	for k := 1; k <= most; k++ {
		power *= g.rate
		tokens += power
		if x := tokens / (g.target.at(n*float64(k+1)) + float64(k)*g.draft.at(n)); x > best {
			best, size = x, k
		}
	}
	if size > 0 {
		g.steps = 0
		return size
	}
	if g.steps++; g.steps >= probe {
		g.behind = mostBehind
		return min(1, most)
	}
	return 0
}

// learn records the result of proposals for a text.
func (g *gain) learn(proposed, accepted int) {
	g.steps = 0
	const weight = 0.05
	for range accepted {
		g.rate += weight * (1 - g.rate)
	}
	if accepted < proposed {
		g.rate -= weight * g.rate
	}
}
