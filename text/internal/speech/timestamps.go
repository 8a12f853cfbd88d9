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

// FramesPerSecond is the number of frames of a spectrogram that are about a second.
const FramesPerSecond = models.SampleRate / models.SpectrogramHop

// FramesPerTime is the number of frames from one timestamp to the next, and of those of a hidden
// state.
const FramesPerTime = 2

// A Part is what tokens say from one time to another, in seconds.
type Part struct {
	Start, End float64
	Tokens     []int // with timestamps
}

// A Splitter takes the tokens that Whisper writes about a window of sound one by one, and splits
// them into parts. A part ends where two timestamps follow each other.
type Splitter struct {
	First  int // the token of 0 seconds; those from it on are timestamps
	Frames int // of the window that are sound
	tokens []int
	from   int // after the last part
}

// Add takes the next token and returns the part that it shows to be whole.
func (s *Splitter) Add(token int) (part Part, ok bool) {
	s.tokens = append(s.tokens, token)
	last := len(s.tokens) - 1
	if last == 0 || !s.isTime(last) || !s.isTime(last-1) {
		return Part{}, false
	}
	return s.part(last), true
}

// End returns what is left when there are no more tokens, and after how many frames the next window
// begins: after the window if nothing was said after its last timestamp, or there are no two
// timestamps that follow each other, else at the end of the last part. What was said after them
// belongs to the next window.
func (s *Splitter) End() (part Part, ok bool, next int) {
	last := len(s.tokens) - 1
	if s.from > 0 {
		if s.isTime(last) && !s.isTime(last-1) {
			return s.part(last + 1), true, s.Frames
		}
		if next = (s.tokens[s.from-1] - s.First) * FramesPerTime; next == 0 {
			next = s.Frames // or else the window would never move
		}
		return Part{}, false, next
	}
	end := float64(s.Frames/FramesPerTime) * FramesPerTime / FramesPerSecond
	for last >= 0 && !s.isTime(last) {
		last--
	}
	if last >= 0 && s.tokens[last] != s.First {
		end = s.seconds(last)
	}
	return Part{0, end, s.tokens}, true, s.Frames
}

// Heard returns the tokens of the window, and how many of them count: those after the second of the
// last two timestamps that follow each other do not, unless nothing was said after the very last.
func (s *Splitter) Heard() (tokens []int, count int) {
	if last := len(s.tokens) - 1; s.from == 0 || s.isTime(last) && !s.isTime(last-1) {
		return s.tokens, len(s.tokens)
	}
	return s.tokens, s.from + 1
}

// part returns the tokens after the last part up to one.
func (s *Splitter) part(to int) Part {
	p := Part{s.seconds(s.from), s.seconds(to - 1), s.tokens[s.from:to]}
	s.from = to
	return p
}

func (s *Splitter) isTime(i int) bool { return s.tokens[i] >= s.First }

func (s *Splitter) seconds(i int) float64 {
	return float64(s.tokens[i]-s.First) * FramesPerTime / FramesPerSecond
}

// Timestamps are the rules by which Whisper writes times: in pairs, at the beginning and at the end
// of a segment, none before the last one, and where they are together more likely than any text.
type Timestamps struct {
	First, Prompt int  // the token of 0 seconds; tokens before what is written
	Most          *int // the latest time to begin with, as an index; nil: any
	End           int  // the token that ends the text
}

// Hide takes out of scores, logits or log probabilities, what may not come after tokens. Other
// rules come before it.
func (r *Timestamps) Hide(scores []float32, tokens []int) {
	inf := float32(math.Inf(-1))
	forbid := func(from, to int) {
		for i := max(from, 0); i < min(to, len(scores)); i++ {
			scores[i] = inf
		}
	}
	written := tokens[r.Prompt:]
	forbid(r.First-1, r.First) // notimestamps
	isTime := func(back int) bool { return len(written) < back || written[len(written)-back] >= r.First }
	paired := isTime(2)
	if len(written) > 0 && isTime(1) {
		if paired {
			forbid(r.First, len(scores))
		} else {
			forbid(0, r.End)
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
			forbid(r.First+*r.Most+1, len(scores))
		}
	}
	if text := highest(scores[:r.First]); logSumExp(scores[r.First:]) > float64(text) {
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
