// This file has the segments of a transcript, with their times.

package text

import (
	"context"
	"iter"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/settings"
	"github.com/avoformer/avoformer/text/internal/speech"
	"github.com/avoformer/avoformer/transformer"
)

// A Segment is a part of what was said, in seconds from the beginning of the samples.
type Segment struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// Segments returns the text of mono samples at 16 kHz with its times. Of Whisper it is the
// stretches between the timestamps that the model writes, as transformers' generate gives them with
// return_timestamps, also for long sound: the model listens on from the last timestamp of a
// stretch, so that nothing said across its border is lost. Of wav2vec 2.0 and Parakeet it is words,
// as with output_word_offsets; long sound is heard in the windows that [Transcriber.Transcribe]
// describes. Moonshine tells no times: an error that matches fault.ErrInput.
func (t *Transcriber) Segments(ctx context.Context, samples []float32, opts TranscribeOptions) ([]Segment, error) {
	if len(samples) == 0 {
		return nil, check.Errorf(fault.ErrInput, "no samples")
	}
	if t.script != nil {
		heard, err := t.hear(ctx, samples, opts, nil)
		if err != nil {
			return nil, err
		}
		return segments(t.script.Words(heard)), nil
	}
	if _, ok := t.stretches.(speech.Spectrograms); !ok {
		return nil, check.Errorf(fault.ErrInput, "the model does not say when it heard something")
	}
	l, err := t.listener(samples, opts)
	if err != nil {
		return nil, err
	}
	var all []Segment
	for p, err := range l.parts(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, Segment{p.Start, p.End, l.said(p.Tokens)})
	}
	return all, nil
}

// segments converts segments of package speech.
func segments(all []speech.Segment) []Segment {
	var out []Segment
	for _, s := range all {
		out = append(out, Segment(s))
	}
	return out
}

// HasTimes reports whether the model says when something was said, which Segments needs.
func (t *Transcriber) HasTimes() bool {
	if t.HasWords() {
		return true
	}
	if _, ok := t.stretches.(speech.Spectrograms); !ok {
		return false
	}
	notimes, err := t.noTimes()
	return err == nil && t.model.LM.Vocab() > notimes+1 && len(t.model.Config.EOSTokens) > 0
}

// HasWords reports whether the model tells so for each word: then each of Segments is a word.
func (t *Transcriber) HasWords() bool { return t.script != nil }

// encode runs the encoder on features, [features, frames].
func (t *Transcriber) encode(ctx context.Context, features []float32, frames int) (*models.Memory, error) {
	rows := t.model.Audio.Rows(frames)
	memory := &models.Memory{X: make([]float32, rows*t.model.Audio.Dim()), Batch: transformer.Uniform(1, rows)} // [rows, D]
	_, err := t.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) error {
		return t.model.Audio.EncodeAudio(ws, memory.X, features, 1, frames)
	})
	return memory, err
}

// A listener hears sound window by window: a window begins at the last time that the model wrote
// about the one before, as with transformers' generate.
type listener struct {
	t        *Transcriber
	opts     TranscribeOptions
	features []float32 // [bins, frames]
	frames   int
	window   int // frames that the model hears at once

	begin  []int // what the model is told about each window
	heard  []int // the tokens of all parts, if windows continue these
	length int   // max_length, which grows from window to window
	first  int   // the token of 0 seconds
	next   generation.Next
}

// listener readies samples for being heard with times.
func (t *Transcriber) listener(samples []float32, opts TranscribeOptions) (*listener, error) {
	if !t.HasTimes() {
		return nil, folder.Errorf("the model has no timestamps")
	}
	notimes, err := t.noTimes()
	if err != nil {
		return nil, err
	}
	s := t.stretches.(speech.Spectrograms)
	features, frames, err := s.Features(samples)
	return &listener{t: t, opts: opts, features: features, frames: frames, window: s.Frames(), length: settings.Or(t.settings.MaxLength, 0), first: notimes + 1}, err
}

// parts yields the parts of the sound, as soon as they are certain. Afterwards next has the reason
// why the last window ended.
func (l *listener) parts(ctx context.Context) iter.Seq2[speech.Part, error] {
	return func(yield func(speech.Part, error) bool) {
		for at := 0; at < l.frames; {
			frames := min(l.window, l.frames-at)
			splitter := speech.Splitter{First: l.first, Frames: frames}
			say := func(p speech.Part) bool {
				if l.t.settings.OnPrevious {
					l.heard = append(l.heard, p.Tokens...)
				}
				offset := float64(at) / speech.FramesPerSecond
				p.Start, p.End = p.Start+offset, p.End+offset
				return yield(p, nil)
			}
			for next, err := range l.tokens(ctx, at, frames) {
				if err == nil {
					err = next.Err
				}
				if err != nil {
					yield(speech.Part{}, err)
					return
				}
				if l.next = next; next.Finish != generation.FinishNone {
					break
				}
				if p, ok := splitter.Add(next.Token); ok && !say(p) {
					return
				}
			}
			p, ok, moved := splitter.End()
			if ok && !say(p) {
				return
			}
			at += moved
		}
	}
}

// tokens yields what the model writes about frames from one on.
func (l *listener) tokens(ctx context.Context, from, frames int) iter.Seq2[generation.Next, error] {
	return func(yield func(generation.Next, error) bool) {
		t, bins := l.t, len(l.features)/l.frames
		part := make([]float32, bins*l.window) // [bins, window], zeros after the end
		for b := range bins {
			copy(part[b*l.window:], l.features[b*l.frames+from:][:frames])
		}
		memory, err := t.encode(ctx, part, l.window)
		if err == nil && l.begin == nil {
			l.begin, err = t.prompt(ctx, memory, l.opts, true) // the language is guessed once
		}
		if err != nil {
			yield(generation.Next{}, err)
			return
		}
		prompt := l.prompt()
		o := GenerateOptions{MaxTokens: t.most(len(prompt), l.opts.MaxTokens, &l.length), Beams: t.beams(l.opts)}
		if err := o.check(); err != nil {
			yield(generation.Next{}, err)
			return
		}
		rules, err := t.rules(&o, nil)
		if err != nil {
			yield(generation.Next{}, err)
			return
		}
		times := speech.Timestamps{First: l.first, Prompt: len(prompt), Most: t.settings.MaxTime, End: t.model.Config.EOSTokens[0]}
		rules.Then = times.Hide
		t.decode(ctx, source{memory: memory}, prompt, rules, o)(yield)
	}
}

// prompt returns what the model is told: with condition_on_prev_tokens the latest tokens of the
// parts before come first.
func (l *listener) prompt() []int {
	if len(l.heard) == 0 {
		return l.begin
	}
	var prompt []int
	switch s := l.t.settings; {
	case s.Previous != nil:
		prompt = append(prompt, *s.Previous)
	case len(s.Suppress) >= 2: // in older folders, the last but one of these is that token
		prompt = append(prompt, s.Suppress[len(s.Suppress)-2])
	}
	most := l.t.model.Config.MaxLength/2 - 1
	l.heard = l.heard[max(0, len(l.heard)-most):]
	return slices.Concat(prompt, l.heard, l.begin)
}

// most returns the most tokens after a prompt, 0 for what a folder without a limit has: those of
// the options, or else the folder's. As in transformers' generate for Whisper, max_length does not
// count the prompt, up to the model's own limit, and grows by it with each window.
func (t *Transcriber) most(prompt, wanted int, length *int) int {
	limit := t.model.Config.MaxLength
	if wanted != 0 || settings.Or(t.settings.MaxNew, 0) > 0 || *length == 0 || limit == 0 {
		return wanted
	}
	*length = min(*length+min(prompt, limit/2-1), limit)
	return max(1, *length-prompt)
}

// beams returns the width of the search: that of the options, or else the folder's.
func (t *Transcriber) beams(opts TranscribeOptions) int {
	if opts.Beams == 0 {
		return t.settings.Beams
	}
	return opts.Beams
}

// words yields the tokens of the text, without times.
func (l *listener) words(ctx context.Context) iter.Seq2[generation.Next, error] {
	return func(yield func(generation.Next, error) bool) {
		for p, err := range l.parts(ctx) {
			if err != nil {
				yield(generation.Next{}, err)
				return
			}
			for _, token := range p.Tokens {
				if token < l.first && !yield(generation.Next{Choice: generation.Choice{Token: token}}, nil) {
					return
				}
			}
		}
		yield(l.next, nil)
	}
}

// said returns the text of tokens, without times.
func (l *listener) said(tokens []int) string {
	words := slices.DeleteFunc(slices.Clone(tokens), func(token int) bool { return token >= l.first })
	return l.t.tokenizer.Decode(words, true)
}
