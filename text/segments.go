// What was said when.

package text

import (
	"context"
	"math"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/transformer"
)

// A Segment is a part of what was said, in seconds from the beginning of the samples.
type Segment struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// Segments is the text of mono samples at 16 kHz with its times. Of Whisper it is the stretches between the timestamps that
// the model writes, as transformers' generate gives them with return_timestamps, also for long sound: the model
// listens on from the last timestamp of a stretch, so that nothing said across its border is lost. Of wav2vec 2.0 it is words, as with
// output_word_offsets; long sound is heard in the windows that [Transcriber.Transcribe] describes. Beams must be 0 or 1.
func (t *Transcriber) Segments(ctx context.Context, samples []float32, opts TranscribeOptions) ([]Segment, error) {
	if len(samples) == 0 {
		return nil, check.Errorf(fault.ErrInput, "no samples")
	}
	if t.characters != nil {
		heard, err := t.hear(ctx, samples, opts, nil)
		if err != nil {
			return nil, err
		}
		return spoken(heard, t.characters.space), nil
	}
	if opts.Beams > 1 {
		return nil, check.Option("Beams", opts.Beams, "segments are not searched for")
	}
	window := make([]float32, max(t.samples, len(samples))) // silence after short speech
	copy(window, samples)
	features, err := models.LogMel(window, t.bins) // [bins, frames]
	if err != nil {
		return nil, err
	}
	var all []Segment
	frames, most := len(features)/t.bins, t.samples/models.SpectrogramHop
	for at := 0; at < frames; {
		part := make([]float32, t.bins*most) // [bins, most], zeros after the end
		n := min(most, frames-at)
		for b := range t.bins {
			copy(part[b*most:], features[b*frames+at:][:n])
		}
		said, next, err := t.timed(ctx, part, n, opts)
		if err != nil {
			return all, err
		}
		offset := float64(at) / framesPerSecond
		for _, s := range said {
			all = append(all, Segment{offset + s.Start, offset + s.End, s.Text})
		}
		at += next
	}
	return all, nil
}

// HasTimes reports whether the model says when something was said, which Segments needs.
func (t *Transcriber) HasTimes() bool {
	if t.HasWords() {
		return true
	}
	notimes, err := t.token("notimestamps")
	return err == nil && t.model.LM.Vocab() > notimes+1 && len(t.model.Config.EOSTokens) > 0
}

// HasWords reports whether the model tells so for each word: then each of Segments is a word.
func (t *Transcriber) HasWords() bool { return t.characters != nil }

const (
	framesPerSecond = models.SampleRate / models.SpectrogramHop
	framesPerTime   = 2 // from one timestamp to the next
)

// timed is the segments of features, [bins, frames], of which n are sound, and from which of these to listen on.
func (t *Transcriber) timed(ctx context.Context, features []float32, n int, opts TranscribeOptions) ([]Segment, int, error) {
	memory, prompt, err := t.encode(ctx, features, opts)
	if err != nil {
		return nil, 0, err
	}
	prompt = prompt[:len(prompt)-1] // without notimestamps
	notimes, err := t.token("notimestamps")
	if err != nil {
		return nil, 0, err
	}
	rule := timestamps{first: notimes + 1, prompt: len(prompt), most: t.settings.MaxTime, end: t.model.Config.EOSTokens, hidden: t.settings.Suppress, hiddenFirst: t.settings.Begin}
	if !t.HasTimes() {
		return nil, 0, folder.Errorf("the model has no timestamps")
	}
	o := GenerateOptions{MaxTokens: opts.MaxTokens, Hook: rule.hide}
	if err := o.check(); err != nil {
		return nil, 0, err
	}
	var tokens []int
	for token, err := range tokensOnly(t.decode(ctx, memory, prompt, t.rules(&o, nil), o)) {
		if err != nil {
			return nil, 0, err
		}
		tokens = append(tokens, token)
	}
	segments, next := t.split(tokens, rule.first, n)
	return segments, next, nil
}

// split is the segments of tokens, of which those from first on are timestamps, and how many of n frames they tell about.
// A segment ends where two timestamps follow each other.
func (t *Transcriber) split(tokens []int, first, n int) ([]Segment, int) {
	isTime := func(i int) bool { return i >= 0 && i < len(tokens) && tokens[i] >= first }
	seconds := func(i int) float64 { return float64(tokens[i]-first) * framesPerTime / framesPerSecond }
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
		end := float64(n/framesPerTime) * framesPerTime / framesPerSecond
		if last >= 0 && tokens[last] != first {
			end = seconds(last)
		}
		return []Segment{{0, end, t.said(tokens, first)}}, n
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
		segments = append(segments, Segment{seconds(from), seconds(end - 1), t.said(tokens[from:end], first)})
		from = end
	}
	return segments, next
}

// said is the text of tokens, without timestamps.
func (t *Transcriber) said(tokens []int, first int) string {
	var words []int
	for _, token := range tokens {
		if token < first {
			words = append(words, token)
		}
	}
	return t.tokenizer.Decode(words, true)
}

// timestamps are the rules by which Whisper writes times: in pairs, at the beginning and at the end of a segment, none
// before the last one, and where they are together more likely than any text.
type timestamps struct {
	first, prompt       int  // the token of 0 seconds; tokens before what is written
	most                *int // the latest time to begin with, as an index; nil: any
	end                 []int
	hidden, hiddenFirst []int // tokens that are never written, and not as the first
}

// hide takes out of logits what may not come after tokens.
func (r *timestamps) hide(logits []float32, tokens []int) {
	inf := float32(math.Inf(-1))
	forbid := func(from, to int) {
		for i := max(from, 0); i < min(to, len(logits)); i++ {
			logits[i] = inf
		}
	}
	written := tokens[r.prompt:]
	for _, i := range r.hidden {
		forbid(i, i+1)
	}
	if len(written) == 0 {
		for _, i := range r.hiddenFirst {
			forbid(i, i+1)
		}
	}
	forbid(r.first-1, r.first) // notimestamps
	isTime := func(back int) bool { return len(written) < back || written[len(written)-back] >= r.first }
	paired := isTime(2)
	if len(written) > 0 && isTime(1) {
		if paired {
			forbid(r.first, len(logits))
		} else {
			forbid(0, r.end[0])
		}
	}
	for i := len(written) - 1; i >= 0; i-- {
		if last := written[i]; last >= r.first {
			if !(isTime(1) && !paired) {
				last++
			}
			forbid(r.first, last)
			break
		}
	}
	if len(written) == 0 {
		forbid(0, r.first)
		if r.most != nil {
			forbid(r.first+*r.most+1, len(logits))
		}
	}
	if text := highest(logits[:r.first]); logSumExp(logits[r.first:]) > float64(text) {
		forbid(0, r.first)
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
		sum += math.Exp(float64(v) - most)
	}
	return most + math.Log(sum)
}

// encode runs the encoder on features, [bins, frames], and returns the state that the decoder
// begins with.
func (t *Transcriber) encode(ctx context.Context, features []float32, opts TranscribeOptions) (memory *models.Memory, prompt []int, err error) {
	frames := len(features) / t.bins
	rows := t.model.Audio.Rows(frames)
	memory = &models.Memory{X: make([]float32, rows*t.model.Audio.Dim()), Batch: transformer.Uniform(1, rows)} // [rows, D]
	_, err = t.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) error {
		if err := t.model.Audio.EncodeAudio(ws, memory.X, features, 1, frames); err != nil {
			return err
		}
		prompt, err = t.prompt(ws, memory, opts)
		return err
	})
	return memory, prompt, err
}

// spoken joins characters to words, at the characters that are spaces.
func spoken(characters []Segment, space string) []Segment {
	var all []Segment
	within := false
	for _, c := range characters {
		switch last := len(all) - 1; {
		case c.Text == space:
			within = false
		case within:
			all[last].End, all[last].Text = c.End, all[last].Text+c.Text
		default:
			all, within = append(all, c), true
		}
	}
	return all
}

// joined is the text of characters.
func joined(characters []Segment) string {
	var b strings.Builder
	for _, c := range characters {
		b.WriteString(c.Text)
	}
	return strings.TrimSpace(b.String())
}
