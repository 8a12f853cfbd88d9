// Segments of speech and their times.

package speech

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/models"
)

// A Segment is a part of the speech, with its times in seconds from the beginning of the samples.
type Segment struct {
	Start, End float64
	Text       string
}

const (
	FramesPerSecond = models.SampleRate / models.SpectrogramHop
	framesPerTime   = 2 // from one timestamp to the next
)

// Split returns the segments of tokens, and how many of n frames they are about. Tokens from r.First on are timestamps; said is the
// text of tokens. A segment ends where two timestamps follow each other.
func (r *Timestamps) Split(tokens []int, n int, said func(tokens []int) string) ([]Segment, int) {
	first := r.First
	isTime := func(i int) bool { return i >= 0 && i < len(tokens) && tokens[i] >= first }
	seconds := func(i int) float64 { return float64(tokens[i]-first) * framesPerTime / FramesPerSecond }
	var ends []int // after the timestamp that ends a segment
	for i := range tokens {
		if isTime(i) && isTime(i+1) {
			ends = append(ends, i+1)
		}
	}
	if len(ends) == 0 { // all is one segment
		last := len(tokens) - 1
		for last >= 0 && !isTime(last) {
			last--
		}
		end := float64(n/framesPerTime) * framesPerTime / FramesPerSecond
		if last >= 0 && tokens[last] != first {
			end = seconds(last)
		}
		return []Segment{{0, end, said(tokens)}}, n
	}
	next := n
	if count := len(tokens); isTime(count-1) && !isTime(count-2) { // nothing is said after the last timestamp
		ends = append(ends, count)
	} else if next = (tokens[ends[len(ends)-1]-1] - first) * framesPerTime; next == 0 {
		next = n // nor is it said from the beginning on for ever
	}
	var segments []Segment
	from := 0
	for _, end := range ends {
		segments = append(segments, Segment{seconds(from), seconds(end - 1), said(tokens[from:end])})
		from = end
	}
	return segments, next
}

// Timestamps are the rules by which Whisper writes times: in pairs, at the beginning and at the end of a segment, none
// before the last one, and where they are together more likely than any text.
type Timestamps struct {
	First, Prompt       int  // the token of 0 seconds; tokens before what is written
	Most                *int // the latest time to begin with, as an index; nil: any
	End                 []int
	Hidden, HiddenFirst []int // tokens that are never written, and not as the first
}

// Hide takes out of logits what may not come after tokens.
func (r *Timestamps) Hide(logits []float32, tokens []int) {
	inf := float32(math.Inf(-1))
	forbid := func(from, to int) {
		for i := max(from, 0); i < min(to, len(logits)); i++ {
			logits[i] = inf
		}
	}
	written := tokens[r.Prompt:]
	for _, i := range r.Hidden {
		forbid(i, i+1)
	}
	if len(written) == 0 {
		for _, i := range r.HiddenFirst {
			forbid(i, i+1)
		}
	}
	forbid(r.First-1, r.First) // notimestamps
	isTime := func(back int) bool { return len(written) < back || written[len(written)-back] >= r.First }
	paired := isTime(2)
	if len(written) > 0 && isTime(1) {
		if paired {
			forbid(r.First, len(logits))
		} else {
			forbid(0, r.End[0])
		}
	}
	for i := len(written) - 1; i >= 0; i-- {
		if last := written[i]; last >= r.First {
			if !(isTime(1) && !paired) {
				last++
			}
			forbid(r.First, last)
			break
		}
	}
	if len(written) == 0 {
		forbid(0, r.First)
		if r.Most != nil {
			forbid(r.First+*r.Most+1, len(logits))
		}
	}
	if text := highest(logits[:r.First]); logSumExp(logits[r.First:]) > float64(text) {
		forbid(0, r.First)
	}
}

func highest(x []float32) float32 {
	most := float32(math.Inf(-1))
	for _, v := range x {
		most = max(most, v)
	}
	return most
}

func logSumExp(x []float32) float64 {
	most := float64(highest(x))
	if math.IsInf(most, -1) {
		return most
	}
	sum := 0.0
	for _, v := range x {
		sum += elementary.Exp(float64(v) - most)
	}
	return most + elementary.Log(sum)
}
