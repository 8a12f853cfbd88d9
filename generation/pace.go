package generation

import (
	"math"
	"time"
)

// How much of the prompts a step takes while texts are generated beside them.

// pace predicts the time of a step from those before.
type pace struct {
	stall    float64
	decode   float64 // seconds of a step without prompts
	rows     int     // texts in it
	perToken float64 // seconds more for each token of a prompt, or of another text
	part     float64 // of a token, for which the steps before had room
}

// undisturbed returns the seconds of a step of some texts without prompts. While prompts come one after another there are
// no such steps, and texts become more.
func (p *pace) undisturbed(decoding int) float64 {
	share := float64(decoding) / float64(p.rows)
	return max(p.decode+float64(decoding-p.rows)*p.perToken, p.decode*min(share, 1))
}

// leastPiece is the tokens of prompts that a step takes at least, if there are any.
const leastPiece = 4

// room is how many tokens of some prompts a step may take that has a token of some texts too: at most most, which is
// leastPiece or more. The more prompts wait for a text, the longer it waits for them: what they would wait otherwise is more.
// It is 0 before the first step of texts alone, which says what they take.
func (p *pace) room(decoding, prompts, most int) int {
	switch {
	case decoding == 0:
		return most
	case p.decode == 0:
		return 0
	case p.perToken == 0:
		return leastPiece
	}
	allowed := p.stall * max(float64(prompts)/float64(decoding), 1)
	n, part := math.Modf((allowed-1)*p.undisturbed(decoding)/p.perToken + p.part)
	// What is left over counts for the next step. If it did not, pieces would shrink: of what a step with a piece takes more,
	// much is the same for fewer tokens, so that each of these seems to take longer.
	p.part = part
	return max(int(min(n, float64(most))), leastPiece)
}

// learn takes in the time of a step.
func (p *pace) learn(took time.Duration, decoding, pieces int) {
	const weight = 0.25 // of the last step
	seconds := took.Seconds()
	mean := func(x *float64, now float64) {
		if *x == 0 {
			*x = now
		}
		*x += weight * (now - *x)
	}
	switch {
	case pieces == 0 && decoding > 0:
		if p.rows != decoding && p.decode > 0 { // other texts: begin anew, from what is known
			p.decode = (p.decode + seconds) / 2
		}
		p.rows = decoding
		mean(&p.decode, seconds)
	case decoding == 0 && pieces >= leastPiece:
		mean(&p.perToken, seconds/float64(pieces))
	case pieces > 0 && p.decode > 0 && pieces+decoding > p.rows:
		mean(&p.perToken, max(seconds-p.decode, 0)/float64(pieces+decoding-p.rows))
	}
}
