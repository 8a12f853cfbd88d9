// This file has the segments of a transcript, with their times.

package text

import (
	"context"
	"iter"
	"slices"
	"strings"

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
	if t.script != nil {
		words, _, err := t.Words(ctx, samples, opts)
		return words, err
	}
	l, err := t.listener(samples, opts)
	if err != nil {
		return nil, err
	}
	return l.segments(ctx)
}

// Words returns the words of mono samples at 16 kHz with their times, and the segments that
// [Transcriber.Segments] returns. Whisper's words are those of transformers' pipeline with
// return_timestamps="word". Their times come from the cross-attention of the heads that
// alignment_heads of generation_config.json lists, which takes one more pass of the decoder for
// each 30 seconds. Words begin with their space. In Chinese, Cantonese, Japanese, Thai, Lao and
// Burmese each character is a word. The words and segments of wav2vec 2.0 and Parakeet are the
// same. A model without times of words is an error that matches fault.ErrInput: see
// [Transcriber.HasWords].
func (t *Transcriber) Words(ctx context.Context, samples []float32, opts TranscribeOptions) (words, parts []Segment, err error) {
	switch {
	case len(samples) == 0:
		return nil, nil, check.Errorf(fault.ErrInput, "no samples")
	case !t.HasWords():
		return nil, nil, check.Errorf(fault.ErrInput, "the model does not say when it heard each word")
	case t.script != nil:
		heard, err := t.hear(ctx, samples, opts, nil)
		if err != nil {
			return nil, nil, err
		}
		words = segments(t.script.Words(heard))
		return words, words, nil
	}
	l, err := t.listener(samples, opts)
	if err != nil {
		return nil, nil, err
	}
	l.reader = &speech.WordReader{First: l.first, End: t.model.Config.EOSTokens[0], Special: t.specials(), Decode: func(ids []int) string { return t.tokenizer.Decode(ids, false) }}
	if parts, err = l.segments(ctx); err != nil {
		return nil, parts, err
	}
	return segments(l.reader.Words()), parts, nil
}

// specials returns a function that reports whether a token is special.
func (t *Transcriber) specials() func(token int) bool {
	special := map[int]bool{}
	for _, a := range t.tokenizer.AddedTokens() {
		special[int(a.ID)] = a.Special
	}
	return func(token int) bool { return special[token] }
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
	if t.script != nil {
		return true
	}
	if _, ok := t.stretches.(speech.Spectrograms); !ok {
		return false
	}
	notimes, err := t.noTimes()
	return err == nil && t.model.LM.Vocab() > notimes+1 && len(t.model.Config.EOSTokens) > 0
}

// HasWords reports whether the model says when it heard each word, which Words needs: wav2vec 2.0,
// Parakeet, and a Whisper whose generation_config.json has alignment_heads.
func (t *Transcriber) HasWords() bool {
	return t.script != nil || t.HasTimes() && len(t.settings.Alignment) > 0
}

// JoinSegments returns the text of segments, or of words, of the model.
func (t *Transcriber) JoinSegments(all []Segment) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = s.Text
	}
	if t.script != nil {
		return strings.Join(texts, " ")
	}
	return strings.Join(texts, "") // they begin with their spaces
}

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
	sound    int // frames without silence after the end

	begin  []int // what the model is told about each window
	heard  []int // the tokens of all parts, if windows continue these
	length int   // max_length, which grows from window to window
	first  int   // the token of 0 seconds
	next   generation.Next

	memory *models.Memory     // of the window
	told   []int              // what the model was told about the window
	reader *speech.WordReader // takes what is heard; nil: words are not asked for
}

// listener prepares samples to be transcribed with times.
func (t *Transcriber) listener(samples []float32, opts TranscribeOptions) (*listener, error) {
	if len(samples) == 0 {
		return nil, check.Errorf(fault.ErrInput, "no samples")
	}
	if _, ok := t.stretches.(speech.Spectrograms); !ok {
		return nil, check.Errorf(fault.ErrInput, "the model does not say when it heard something")
	}
	if !t.HasTimes() {
		return nil, folder.Errorf("the model has no timestamps")
	}
	notimes, err := t.noTimes()
	if err != nil {
		return nil, err
	}
	s := t.stretches.(speech.Spectrograms)
	features, frames, err := s.Features(samples)
	return &listener{
		t: t, opts: opts, features: features, frames: frames, window: s.Frames(), sound: s.Sound(len(samples)),
		length: settings.Or(t.settings.MaxLength, 0), first: notimes + 1,
	}, err
}

// segments returns the parts of the sound with their texts.
func (l *listener) segments(ctx context.Context) (all []Segment, err error) {
	for p, err := range l.parts(ctx) {
		if err != nil {
			return all, err
		}
		all = append(all, Segment{p.Start, p.End, l.said(p.Tokens)})
	}
	return all, nil
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
			if l.reader != nil {
				if err := l.read(ctx, at, &splitter); err != nil {
					yield(speech.Part{}, err)
					return
				}
			}
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
		l.memory, l.told = memory, prompt
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

// read hands the tokens that count of a window to the reader of words, with their times. The window
// begins at a frame.
func (l *listener) read(ctx context.Context, from int, window *speech.Splitter) error {
	t, s := l.t, l.t.settings
	all, count := window.Heard()
	weighed := all // the last token before the limit was not read by the model
	if l.next.Finish == generation.FinishLength && len(all) > 0 {
		weighed = all[:len(all)-1]
	}
	heads := make([]models.CrossHead, len(s.Alignment))
	for i, h := range s.Alignment {
		heads[i] = models.CrossHead{Layer: h[0], Head: h[1]}
	}
	l.reader.Letters = slices.ContainsFunc(l.begin, func(id int) bool {
		token, _ := t.tokenizer.Token(id)
		return speech.WithoutSpaces(token)
	})
	w := speech.Weights{Heads: len(heads), Tokens: len(l.told) + len(weighed), Rows: l.memory.Batch.Rows()}
	if _, err := t.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) (err error) {
		lm, ok := t.model.LM.(models.CrossWeigher)
		if !ok {
			return check.Errorf(fault.ErrInput, "the model does not say when it heard each word")
		}
		w.Values, err = lm.CrossWeights(ws, heads, slices.Concat(l.told, weighed), l.memory)
		return err
	}); err != nil {
		return s.Errorf("alignment_heads", s.Alignment, "%w", err)
	}
	times := w.Times(len(l.told), (l.sound-from)/speech.FramesPerTime, s.Smoothing)
	for i, token := range all[:count] {
		row := 0
		if len(times) > 0 {
			row = times[min(i, len(times)-1)]
		}
		l.reader.Add(token, float64(from)/speech.FramesPerSecond+float64(row)*speech.FramesPerTime/speech.FramesPerSecond)
	}
	return nil
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
