// What was said when.

package text

import (
	"context"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/speech"
	"github.com/avoformer/avoformer/transformer"
)

// A Segment is a part of what was said, in seconds from the beginning of the samples.
type Segment struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// Segments returns the text of mono samples at 16 kHz with its times. Of Whisper it is the stretches between the timestamps that
// the model writes, as transformers' generate gives them with return_timestamps, also for long sound: the model
// listens on from the last timestamp of a stretch, so that nothing said across its border is lost. Of wav2vec 2.0 and Parakeet it is
// words, as with output_word_offsets; long sound is heard in the windows that [Transcriber.Transcribe] describes. Moonshine tells no times: an
// error that matches fault.ErrInput. Beams must be 0 or 1.
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
	if opts.Beams > 1 {
		return nil, check.Option("Beams", opts.Beams, "segments are not searched for")
	}
	spectrograms, ok := t.stretches.(speech.Spectrograms)
	if !ok {
		return nil, check.Errorf(fault.ErrInput, "the model does not say when it heard something")
	}
	window := make([]float32, max(spectrograms.Seconds*models.SampleRate, len(samples))) // silence after short speech
	copy(window, samples)
	bins := spectrograms.Bins
	features, err := models.LogMel(window, bins) // [bins, frames]
	if err != nil {
		return nil, err
	}
	var all []Segment
	frames, most := len(features)/bins, spectrograms.Seconds*models.SampleRate/models.SpectrogramHop
	for at := 0; at < frames; {
		part := make([]float32, bins*most) // [bins, most], zeros after the end
		n := min(most, frames-at)
		for b := range bins {
			copy(part[b*most:], features[b*frames+at:][:n])
		}
		said, next, err := t.timed(ctx, part, n, opts)
		if err != nil {
			return all, err
		}
		offset := float64(at) / speech.FramesPerSecond
		for _, s := range said {
			all = append(all, Segment{offset + s.Start, offset + s.End, s.Text})
		}
		at += next
	}
	return all, nil
}

// segments are those of package speech.
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
	notimes, err := t.token("notimestamps")
	return err == nil && t.model.LM.Vocab() > notimes+1 && len(t.model.Config.EOSTokens) > 0
}

// HasWords reports whether the model tells so for each word: then each of Segments is a word.
func (t *Transcriber) HasWords() bool { return t.script != nil }

// timed returns the segments of features, [bins, frames], of which n are sound, and from which of these to listen on.
func (t *Transcriber) timed(ctx context.Context, features []float32, n int, opts TranscribeOptions) ([]Segment, int, error) {
	memory, prompt, err := t.encode(ctx, features, len(features)/t.model.Audio.Features(), opts)
	if err != nil {
		return nil, 0, err
	}
	prompt = prompt[:len(prompt)-1] // without notimestamps
	notimes, err := t.token("notimestamps")
	if err != nil {
		return nil, 0, err
	}
	rule := speech.Timestamps{First: notimes + 1, Prompt: len(prompt), Most: t.settings.MaxTime, End: t.model.Config.EOSTokens, Hidden: t.settings.Suppress, HiddenFirst: t.settings.Begin}
	if !t.HasTimes() {
		return nil, 0, folder.Errorf("the model has no timestamps")
	}
	o := GenerateOptions{MaxTokens: opts.MaxTokens, Hook: rule.Hide}
	if err := o.check(); err != nil {
		return nil, 0, err
	}
	var tokens []int
	for token, err := range tokensOnly(t.decode(ctx, source{memory: memory}, prompt, t.rules(&o, nil), o)) {
		if err != nil {
			return nil, 0, err
		}
		tokens = append(tokens, token)
	}
	said, next := rule.Split(tokens, n, func(tokens []int) string { return t.said(tokens, rule.First) })
	return segments(said), next, nil
}

// said returns the text of tokens, without timestamps.
func (t *Transcriber) said(tokens []int, first int) string {
	var words []int
	for _, token := range tokens {
		if token < first {
			words = append(words, token)
		}
	}
	return t.tokenizer.Decode(words, true)
}

// encode runs the encoder on features, [features, frames], and returns the state that the decoder
// begins with.
func (t *Transcriber) encode(ctx context.Context, features []float32, frames int, opts TranscribeOptions) (memory *models.Memory, prompt []int, err error) {
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
