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

// Transcriber turns speech into text with a Whisper model, or with one that writes down characters as it hears them (CTC), such as
// wav2vec 2.0. Calls from several goroutines share the passes of Whisper's decoder.
type Transcriber struct {
	*decoder
	samples    int // of one pass
	bins       int
	characters *speech.Characters // nil: there is a decoder
}

func transcriber() record {
	return record{
		KindInfo: KindInfo{Type: "Transcriber", Task: "automatic-speech-recognition", Command: "transcribe", Options: forDecoder},
		kind:     KindTranscriber, use: models.UseSpeech, open: opening(openTranscriber),
		fits:     func(m *models.Model) bool { return m.Heads[models.HeadCTC] != nil || m.LM != nil && m.Audio != nil },
		lacks:    "does not take speech",
		wordless: func(m *models.Model) bool { return m.Heads[models.HeadCTC] != nil }, // whose vocabulary is another file
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
	if f.model.Heads[models.HeadCTC] != nil {
		c, err := sound.Characters(f.model.Audio, f.model.Heads[models.HeadCTC].Out())
		return &Transcriber{decoder: &decoder{base: f}, characters: c}, err
	}
	config, err := sound.Spectrograms(f.model.Audio.Features())
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(f)
	if err != nil {
		return nil, err
	}
	return &Transcriber{decoder: d, samples: config.Seconds * models.SampleRate, bins: config.Bins}, nil
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
// A model of CTC takes no options. It hears up to 30 seconds at once, and longer sound in windows of 30 seconds, each of
// which begins 20 seconds after the one before. Hidden states of the first and last 5 seconds of a window count only
// at the beginning and the end of the sound; the others, joined, are read as if they came from one pass. Memory therefore
// depends on the number of threads, and not on the length of the sound. Transformers' pipeline does the same with chunk_length_s=30. After each
// window Transcribe yields the words that are complete; as many windows as there are threads are computed side by side.
func (t *Transcriber) Transcribe(ctx context.Context, samples []float32, opts TranscribeOptions) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if len(samples) == 0 {
			yield(Piece{}, check.Errorf(fault.ErrInput, "no samples"))
			return
		}
		if t.characters != nil {
			t.spell(ctx, samples, opts, yield)
			return
		}
		more, tokens := true, 0
		for at := 0; at < len(samples) && more; at += t.samples {
			stretch, last := make([]float32, t.samples), at+t.samples >= len(samples) // silence after short speech
			copy(stretch, samples[at:])
			err := t.stretch(ctx, stretch, opts, func(p Piece, err error) bool {
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
	features, err := models.LogMel(samples, t.bins) // [bins, frames]
	if err != nil {
		return err
	}
	memory, prompt, err := t.encode(ctx, features, opts)
	if err != nil {
		return err
	}
	tokens := t.decode(ctx, memory, prompt, t.rules(&o, nil), o)
	p := pieceMaker{stream: stream.New(t.tokenizer, nil, nil), usage: answer.Usage{Prompt: len(prompt)}, began: time.Now()}
	p.make(tokens, yield)
	return nil
}

// prompt tells the decoder the language and the task: those of the options, else of
// the folder, else the model's guess.
func (t *Transcriber) prompt(ws *models.Workspace, memory *models.Memory, opts TranscribeOptions) ([]int, error) {
	prompt := []int{t.model.Config.DecoderStart}
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

// token is the id of a language, or of what else the decoder is told.
func (t *Transcriber) token(name string) (int, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "<|"), "|>")
	id, ok := t.tokenizer.TokenID("<|" + name + "|>")
	if !ok {
		return 0, check.Option("Language", name, "the model has no token for it")
	}
	return id, nil
}

// guess is the language whose token is the most likely first one.
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
	if p.characters != nil {
		o = TranscribeOptions{}
	}
	_, err := Collect(p.Transcribe(ctx, make([]float32, models.SampleRate/2), o))
	return warmed(err)
}
