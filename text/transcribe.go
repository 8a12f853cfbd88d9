// Text of speech.

package text

import (
	"context"
	"io/fs"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/speech"
	"github.com/avoformer/avoformer/text/internal/stream"
)

// Transcriber turns speech into text with a model that has a decoder, Whisper or Moonshine, or with one that writes down characters or pieces of
// words as it hears them, such as wav2vec 2.0 and Parakeet. Calls from several goroutines share the passes of a decoder.
type Transcriber struct {
	*decoder
	stretches speech.Stretches // of a model with a decoder
	script    speech.Script    // of one without; else nil
}

// KindTranscriber is the kind of a [Transcriber].
const KindTranscriber Kind = "transcriber"

func transcriber() record {
	return record{
		KindInfo: KindInfo{Type: "Transcriber", Task: "automatic-speech-recognition", Command: "transcribe", Options: forDecoder},
		kind:     KindTranscriber, use: models.UseSpeech, open: opening(openTranscriber),
		fits: func(m *models.Model) bool {
			return m.Heads[models.HeadCTC] != nil || m.Transducer != nil || m.LM != nil && m.Audio != nil
		},
		lacks:    "does not take speech",
		wordless: spells,
	}
}

// OpenTranscriber opens the model in a folder.
func OpenTranscriber(dir string, o Options) (*Transcriber, error) {
	return openIn(dir, o, openTranscriber)
}

func openTranscriber(fsys fs.FS, o Options) (*Transcriber, error) {
	f, err := openFitting(fsys, transcriber(), o)
	if err != nil {
		return nil, err
	}
	sound := speech.Folder{FS: f.fsys, Warn: f.warning}
	if script, err := scriptOf(f, sound); script != nil || err != nil {
		return &Transcriber{decoder: &decoder{base: f}, script: script}, err
	}
	stretches, err := stretchesOf(f, sound)
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(f)
	return &Transcriber{decoder: d, stretches: stretches}, err
}

// stretchesOf returns how a model with a decoder takes samples: as spectrograms, or as they are if a frame has a single feature.
func stretchesOf(f *base, sound speech.Folder) (speech.Stretches, error) {
	if bins := f.model.Audio.Features(); bins > 1 {
		return sound.Spectrograms(bins)
	}
	return sound.Waves()
}

// spells reports whether a model of CTC takes samples and writes characters, whose vocabulary is another file than a tokenizer's.
func spells(m *models.Model) bool {
	return m.Heads[models.HeadCTC] != nil && m.Audio.Features() == 1
}

// scriptOf is how a model writes down what it hears; nil if it has a decoder instead.
func scriptOf(f *base, sound speech.Folder) (speech.Script, error) {
	switch head := f.model.Heads[models.HeadCTC]; {
	case f.model.Transducer != nil:
		return sound.Pieces(f.model.Audio, f.tokenizer, -1) // the transducer leaves blanks out
	case head == nil:
		return nil, nil
	case spells(f.model):
		return sound.Characters(f.model.Audio, head.Out())
	default:
		blank, err := padToken(f)
		if err != nil {
			return nil, err
		}
		return sound.Pieces(f.model.Audio, f.tokenizer, blank)
	}
}

// padToken returns the tokenizer's token of padding, which models of CTC say where they hear nothing.
func padToken(f *base) (int, error) {
	name := f.tokenizer.Config().Special["pad_token"]
	id, ok := f.tokenizer.TokenID(name)
	if !ok {
		return 0, folder.FileError("tokenizer_config.json", "pad_token", name, "want a token of the vocabulary")
	}
	return id, nil
}

// TranscribeOptions says what is made of speech.
type TranscribeOptions struct {
	Language  string // spoken, such as "en"; empty: the model guesses
	Translate bool   // into English, instead of writing down what is said
	MaxTokens int    // the most tokens of a stretch; 0: what the folder says, or 256
	Beams     int    // the width of the search for the most likely text; 0 and 1: none
}

// Transcribe yields the text of mono samples at 16 kHz, between -1 and 1,
// stretch by stretch as long as the model listens at once (30 seconds for
// published ones). Words across the border of two stretches may be lost; Segments does not lose them.
// The last piece has the reason why the last stretch ended, and counts the tokens of all.
//
// Moonshine hears up to 30 seconds as they are. Longer sound is cut where it is quietest between 24 and 29 seconds after the beginning of a
// stretch. Without MaxTokens a stretch has at most 6.5 tokens a second. Language and Translate are errors that match fault.ErrOption.
//
// wav2vec 2.0 and Parakeet take no options. wav2vec 2.0 hears up to 30 seconds at once, and longer sound in windows of 30
// seconds. Parakeet hears as much at once as its configuration has positions for, up to 400 seconds, as published models do, and longer
// sound in windows of that length. Each window begins 10 seconds before the end of the one before. Hidden states of the first and last
// 5 seconds of a window count only at the beginning and the end of the sound. The hidden states that count, joined, are read as if
// they came from one pass. Memory therefore depends on the number of threads, and not on the length of the sound. Transformers'
// pipeline does the same with chunk_length_s. After each window Transcribe yields the words that are complete; as many windows as
// there are threads are computed side by side.
func (t *Transcriber) Transcribe(ctx context.Context, samples []float32, opts TranscribeOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if len(samples) == 0 {
			yield(Piece{}, check.Errorf(fault.ErrInput, "no samples"))
			return
		}
		if t.script != nil {
			t.spell(ctx, samples, opts, yield)
			return
		}
		more, tokens, space := true, 0, ""
		for len(samples) > 0 && more {
			stretch := samples[:t.stretches.Next(samples)]
			samples = samples[len(stretch):]
			last, began := len(samples) == 0, false
			err := t.stretch(ctx, stretch, opts, func(p Piece, err error) bool {
				if p.Text != "" && !began {
					p.Text, space, began = space+p.Text, t.stretches.Space(), true
				}
				tokens += p.Usage.Tokens
				if p.Usage.Tokens = tokens; !last || p.Finish == generation.FinishNone {
					p.Finish, p.Usage = generation.FinishNone, answer.Usage{}
				}
				if err == nil && p.Text == "" && p.Finish == generation.FinishNone {
					return true
				}
				more = yield(p, err) && err == nil
				return more
			})
			if err != nil {
				yield(Piece{}, err)
				return
			}
		}
	}
}

func (t *Transcriber) stretch(ctx context.Context, samples []float32, opts TranscribeOptions, yield func(Piece, error) bool) error {
	o := GenerateOptions{MaxTokens: opts.MaxTokens, Beams: opts.Beams}
	if err := o.check(); err != nil {
		return err
	}
	features, frames, err := t.stretches.Features(samples) // [features, frames]
	if err != nil {
		return err
	}
	memory, prompt, err := t.encode(ctx, features, frames, opts)
	if err != nil {
		return err
	}
	if most := t.stretches.Tokens(len(samples)); most > 0 && o.MaxTokens == 0 {
		room, err := t.room(len(prompt), 0)
		if err != nil {
			return err
		}
		o.MaxTokens = min(room, most)
	}
	tokens := t.decode(ctx, source{memory: memory}, prompt, t.rules(&o, nil), o)
	p := pieceMaker{stream: stream.New(t.tokenizer, nil, nil), usage: answer.Usage{Prompt: len(prompt)}, began: time.Now()}
	p.make(tokens, yield)
	return nil
}

// prompt tells the decoder the language and the task: those of the options, else of
// the folder, else the model's guess.
func (t *Transcriber) prompt(ws *models.Workspace, memory *models.Memory, opts TranscribeOptions) ([]int, error) {
	prompt := []int{t.model.Config.DecoderStart}
	if _, ok := t.stretches.(speech.Waves); ok {
		if opts.Translate {
			return nil, check.Option("Translate", true, "the model does not translate")
		}
		if opts.Language != "" {
			return nil, check.Option("Language", opts.Language, "the model has no tokens of languages")
		}
		return prompt, nil
	}
	notimes, err := t.token("notimestamps")
	if err != nil {
		return nil, err
	}
	transcribe, many := t.tokenizer.TokenID("<|transcribe|>")
	if !many { // a model of English alone
		if opts.Translate {
			return nil, check.Option("Translate", true, "the model does not translate")
		}
		return append(prompt, notimes), nil
	}
	s := t.settings
	language, task := s.ForcedAt(1), s.ForcedAt(2)
	if task < 0 {
		task = transcribe
	}
	if s.Task != "" {
		if task, err = t.token(s.Task); err != nil {
			return nil, s.Errorf("task", s.Task, "%w", err)
		}
	}
	if s.Language != "" {
		if language, err = t.token(s.Language); err != nil && opts.Language == "" {
			return nil, s.Errorf("language", s.Language, "%w", err)
		}
	}
	if opts.Translate {
		if task, err = t.token("translate"); err != nil {
			return nil, err
		}
	}
	if opts.Language != "" {
		language, err = t.token(opts.Language)
	} else if language < 0 {
		language, err = t.guess(ws, memory)
	}
	return append(prompt, language, task, notimes), err
}

// token returns the id of a language, or of what else the decoder is told.
func (t *Transcriber) token(name string) (int, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "<|"), "|>")
	id, ok := t.tokenizer.TokenID("<|" + name + "|>")
	if !ok {
		return 0, check.Option("Language", name, "the model has no token for it")
	}
	return id, nil
}

// guess returns the language whose token is the most likely first one.
func (t *Transcriber) guess(ws *models.Workspace, memory *models.Memory) (int, error) {
	logits, err := generation.StartLM(ws, t.model.LM, memory, 1).Feed([][]int{{t.model.Config.DecoderStart}})
	if err != nil {
		return 0, err
	}
	if err := check.Logits(logits); err != nil {
		return 0, err
	}
	best, most := -1, float32(math.Inf(-1))
	for _, a := range t.tokenizer.AddedTokens() {
		name := strings.TrimSuffix(strings.TrimPrefix(a.Content, "<|"), "|>")
		if len(name) < 2 || len(name) > 3 || len(name)+4 != len(a.Content) || strings.ToLower(name) != name {
			continue
		}
		if int(a.ID) >= len(logits) {
			continue
		}
		if x := logits[a.ID]; x > most {
			best, most = int(a.ID), x
		}
	}
	if best < 0 {
		return 0, folder.Errorf("the tokenizer has no tokens of languages")
	}
	return best, nil
}

// Warm listens to half a second of silence.
func (p *Transcriber) Warm(ctx context.Context) error {
	o := TranscribeOptions{MaxTokens: 1}
	if p.script != nil {
		o = TranscribeOptions{}
	}
	_, err := Collect(p.Transcribe(ctx, make([]float32, models.SampleRate/2), o))
	return warmed(err)
}
