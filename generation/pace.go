package generation

import (
	"math"
	"time"
)

// This file decides how much of the prompts a step takes while texts are generated.

// pace predicts the time of a step from earlier steps.
type pace struct {
	stall    float64
	decode   float64 // seconds of a step without prompts
	rows     int     // texts in it, 0 before the first one
	perToken line    // seconds more for each token of a prompt, or of another text, by how many tokens of its prompt come before it
	part     float64 // of a token, for which the steps before had room
}

// cost returns the seconds of a token after some tokens of its prompt; 0 if they are not known. A
// prompt begins far from where the one before ended, so the trend counts only down to half of the
// mean.
func (p *pace) cost(depth int) float64 {
	if p.perToken.n == 0 {
		return 0
	}
	return max(p.perToken.at(float64(depth)), p.perToken.y/p.perToken.n/2)
}

// undisturbed returns the seconds of a step of some texts without prompts. While prompts arrive one
// after another there are no such steps, and the number of texts grows.
func (p *pace) undisturbed(decoding int) float64 {
	share := float64(decoding) / float64(p.rows)
	return max(p.decode+float64(decoding-p.rows)*p.cost(0), p.decode*min(share, 1))
}

// leastPiece is the least number of tokens of prompts that a step takes, if there are any.
const leastPiece = 4

// room returns how many tokens of prompts a step may take that also has one token of each running
// text: at most most, which is at least leastPiece. The more prompts wait for each text, the longer
// a step may take, because the prompts would otherwise wait longer in total. depth is how many
// tokens of the prompts, on average, have passed. The room is 0 before the first step without
// prompts, which measures the time of the texts.
func (p *pace) room(decoding, prompts, most, depth int) int {
	cost := p.cost(depth)
	switch {
	case decoding == 0:
		return most
	case p.rows == 0:
		return 0
	case cost == 0:
		return leastPiece
	}
	allowed := p.stall * max(float64(prompts)/float64(decoding), 1)
	n, part := math.Modf((allowed-1)*p.undisturbed(decoding)/cost + p.part)
	// Unused room counts for the next step. Otherwise pieces would shrink: much of the additional
	// time of a step with a piece is the same for fewer tokens, and each of these then seems to
	// take longer.
	p.part = part
	return max(int(min(n, float64(most))), leastPiece)
}

// learn records the time of a step, whose pieces of prompts follow, on average, depth tokens of
// these.
func (p *pace) learn(took time.Duration, decoding, pieces, depth int) {
	const weight = 0.25 // of the last step
	const keep = 0.85   // of what is known of tokens
	seconds := took.Seconds()
	mean := func(x *float64, now float64) {
		if *x == 0 {
			*x = now
		}
		*x += weight * (now - *x)
	}
	switch {
	case pieces == 0 && decoding > 0:
		if p.rows != decoding && p.rows > 0 { // other texts: begin anew, from what is known
			p.decode = (p.decode + seconds) / 2
		}
		p.rows = decoding
		mean(&p.decode, seconds)
	case decoding == 0 && pieces >= leastPiece:
		p.perToken.learn(float64(depth), seconds/float64(pieces), keep)
	case pieces > 0 && p.rows > 0 && pieces+decoding > p.rows:
		p.perToken.learn(float64(depth), max(seconds-p.decode, 0)/float64(pieces+decoding-p.rows), keep)
	}
}
