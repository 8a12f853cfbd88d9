// This file writes down speech.

package text

import (
	"context"
	"io/fs"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/settings"
	"github.com/avoformer/avoformer/text/internal/speech"
	"github.com/avoformer/avoformer/text/internal/stream"
)

// Transcriber turns speech into text with a model that has a decoder, Whisper or Moonshine, or with
// one that writes down characters or pieces of words as it hears them, such as wav2vec 2.0 and
// Parakeet. Calls from several goroutines share the passes of a decoder.
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

// stretchesOf returns how a model with a decoder takes samples: as spectrograms, or as they are if
// a frame has a single feature.
func stretchesOf(f *base, sound speech.Folder) (speech.Stretches, error) {
	if bins := f.model.Audio.Features(); bins > 1 {
		return sound.Spectrograms(bins)
	}
	return sound.Waves()
}

// spells reports whether a model of CTC takes samples and writes characters, whose vocabulary is
// another file than a tokenizer's.
func spells(m *models.Model) bool {
	return m.Heads[models.HeadCTC] != nil && m.Audio.Features() == 1
}

// scriptOf returns the way in which a model writes down speech; nil if it has a decoder instead.
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

// padToken returns the tokenizer's token of padding, which models of CTC say where they hear
// nothing.
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
	Language  string // spoken, such as "en" or "English"; empty: what the folder says, or the model's guess about the first stretch
	Translate bool   // into English, instead of writing down what is said
	MaxTokens int    // the most tokens of a stretch; 0: what the folder says, or 256
	Beams     int    // the width of the search for the most likely text; 1: none; 0: what the folder says
}

// Transcribe yields the text of mono samples at 16 kHz, between -1 and 1. The last piece has the
// reason why the last stretch ended, and counts the tokens of all.
//
// Whisper hears as much at once as the folder says, 30 seconds for published models. In longer
// sound, each stretch begins at the last time that the model wrote about the one before, so that no
// words are lost at the border: the text is that of transformers' generate. The text comes part by
// part. A model without timestamps hears stretches that follow each other, and may lose words.
//
// Moonshine hears up to 30 seconds as they are. Longer sound is cut where it is quietest between 24
// and 29 seconds after the beginning of a stretch. Without MaxTokens a stretch has at most 6.5
// tokens a second. Language and Translate are errors that match fault.ErrOption.
//
// wav2vec 2.0 and Parakeet take no options. wav2vec 2.0 hears up to 30 seconds at once, and longer
// sound in windows of 30 seconds. Parakeet hears as much at once as its configuration has positions
// for, up to 400 seconds, as published models do, and longer sound in windows of that length. Each
// window begins 10 seconds before the end of the one before. Hidden states of the first and last 5
// seconds of a window count only at the beginning and the end of the sound. The hidden states that
// count, joined, are read as if they came from one pass. Memory therefore depends on the number of
// threads, and not on the length of the sound. Transformers' pipeline does the same with
// chunk_length_s. After each window Transcribe yields the words that are complete; as many windows
// as there are threads are computed side by side.
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
		if s, ok := t.stretches.(speech.Spectrograms); ok && t.HasTimes() && (t.settings.Times || len(samples)/models.SpectrogramHop > s.Frames()) {
			l, err := t.listener(samples, opts)
			if err != nil {
				yield(Piece{}, err)
				return
			}
			p := pieceMaker{stream: stream.New(t.tokenizer, stream.Stops{}, nil), began: time.Now()}
			p.make(l.words(ctx), yield)
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
	o := GenerateOptions{MaxTokens: opts.MaxTokens, Beams: t.beams(opts)}
	if err := o.check(); err != nil {
		return err
	}
	features, frames, err := t.stretches.Features(samples) // [features, frames]
	if err != nil {
		return err
	}
	memory, err := t.encode(ctx, features, frames)
	if err != nil {
		return err
	}
	prompt, err := t.prompt(ctx, memory, opts, false)
	if err != nil {
		return err
	}
	if _, ok := t.stretches.(speech.Spectrograms); ok {
		length := settings.Or(t.settings.MaxLength, 0)
		o.MaxTokens = t.most(len(prompt), o.MaxTokens, &length)
	}
	if most := t.stretches.Tokens(len(samples)); most > 0 && o.MaxTokens == 0 {
		room, err := t.room(len(prompt), 0)
		if err != nil {
			return err
		}
		o.MaxTokens = min(room, most)
	}
	rules, err := t.rules(&o, nil)
	if err != nil {
		return err
	}
	tokens := t.decode(ctx, source{memory: memory}, prompt, rules, o)
	p := pieceMaker{stream: stream.New(t.tokenizer, stream.Stops{}, nil), usage: answer.Usage{Prompt: len(prompt)}, began: time.Now()}
	p.make(t.untimed(tokens), yield)
	return nil
}

// untimed leaves out timestamps, which a model may write although it is told not to.
func (t *Transcriber) untimed(tokens iter.Seq2[generation.Next, error]) iter.Seq2[generation.Next, error] {
	notimes, err := t.noTimes()
	if _, ok := t.stretches.(speech.Spectrograms); !ok || err != nil {
		return tokens
	}
	return func(yield func(generation.Next, error) bool) {
		for next, err := range tokens {
			if err == nil && next.Finish == generation.FinishNone && next.Token > notimes {
				continue
			}
			if !yield(next, err) {
				return
			}
		}
	}
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

// englishVocabulary is the number of tokens of OpenAI's models of English alone. Their tokenizers
// have the tokens of languages and tasks, too.
const englishVocabulary = 51864

// english reports whether the model takes no tokens of languages and tasks.
func (t *Transcriber) english() bool {
	if many := t.settings.Multilingual; many != nil {
		return !*many
	}
	_, known := t.tokenizer.TokenID("<|transcribe|>")
	return t.settings.Languages == nil && (!known || t.model.LM.Vocab() == englishVocabulary)
}

// prompt returns the tokens that tell the decoder the language and the task: those of the options,
// else of the folder, else the model's guess about the sound of memory, and whether to write times.
// They are those of transformers' generate.
func (t *Transcriber) prompt(ctx context.Context, memory *models.Memory, opts TranscribeOptions, times bool) ([]int, error) {
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
	if t.english() {
		if opts.Translate {
			return nil, check.Option("Translate", true, "the model does not translate")
		}
		if opts.Language != "" && speech.LanguageCode(opts.Language) != "en" {
			return nil, check.Option("Language", opts.Language, "the model knows English alone")
		}
		opts.Language = ""
	}
	s := t.settings
	language, task, err := t.tokensOf(opts)
	if err != nil {
		return nil, err
	}
	if language == settings.Unforced && task == settings.Unforced {
		forced, err := s.ForcedTokens()
		if err != nil {
			return nil, err
		}
		prompt = append(prompt, forced...)
	}
	unsaid := len(prompt) == 1 || prompt[1] == settings.Unforced
	// A folder without tokens of languages is older than these, and has forced tokens, unless
	// somebody took them out.
	bare := s.Languages == nil && len(prompt) == 1 && !t.english()
	switch {
	case language != settings.Unforced:
		prompt = append(prompt, language)
	case unsaid && (s.Languages != nil || bare):
		if language, err = t.guess(ctx, memory); err != nil {
			return nil, err
		}
		prompt = append(append(prompt[:1:1], language), prompt[min(2, len(prompt)):]...)
	}
	if task == settings.Unforced && bare {
		if task, err = t.special("transcribe"); err != nil {
			return nil, err
		}
	}
	if task != settings.Unforced {
		prompt = append(prompt, task)
	}
	prompt = slices.DeleteFunc(prompt, func(token int) bool { return token == settings.Unforced })
	notimes, err := t.noTimes()
	if err != nil {
		return nil, err
	}
	switch last := prompt[len(prompt)-1] == notimes; {
	case times && last:
		prompt = prompt[:len(prompt)-1]
	case !times && !last:
		prompt = append(prompt, notimes)
	}
	return prompt, nil
}

// tokensOf returns the tokens of the language and the task of the options, or else of the folder;
// Unforced for those that are not said. With a language the task is to transcribe, unless another
// one is said.
func (t *Transcriber) tokensOf(opts TranscribeOptions) (language, task int, err error) {
	s := t.settings
	language, task = settings.Unforced, settings.Unforced
	var ok bool
	switch {
	case opts.Language != "":
		if language, ok = t.language(opts.Language); !ok {
			return 0, 0, check.Option("Language", opts.Language, "the model has no token for it")
		}
	case s.Language != "":
		if language, ok = t.language(s.Language); !ok {
			return 0, 0, s.Errorf("language", s.Language, "the model has no token for it")
		}
	}
	switch {
	case opts.Translate:
		if task, ok = t.task("translate"); !ok {
			return 0, 0, check.Option("Translate", true, "the model has no token for it")
		}
	case s.Task != "":
		if task, ok = t.task(s.Task); !ok || s.Task != "translate" && s.Task != "transcribe" {
			return 0, 0, s.Errorf("task", s.Task, "want transcribe or translate, and a token for it")
		}
	case language != settings.Unforced && (s.Tasks != nil || s.Languages == nil): // generate does not know the tasks of other folders
		if task, ok = t.task("transcribe"); !ok {
			task = settings.Unforced
		}
	}
	return language, task, nil
}

// language returns the token of a language.
func (t *Transcriber) language(name string) (int, bool) {
	return t.told(t.settings.Languages, "<|"+speech.LanguageCode(name)+"|>", "<|"+speech.LanguageCode(name)+"|>")
}

// task returns the token of a task.
func (t *Transcriber) task(name string) (int, bool) {
	return t.told(t.settings.Tasks, name, "<|"+name+"|>")
}

// told returns a token from a field of the folder or, if the folder does not have the field, from
// the tokenizer.
func (t *Transcriber) told(field map[string]int, name, token string) (int, bool) {
	if field != nil {
		id, ok := field[name]
		return id, ok
	}
	return t.tokenizer.TokenID(token)
}

// noTimes returns the token that asks for a text without times. The timestamps follow it.
func (t *Transcriber) noTimes() (int, error) {
	if id := t.settings.NoTimes; id != nil {
		return *id, nil
	}
	return t.special("notimestamps")
}

// special returns a token that each tokenizer of Whisper has.
func (t *Transcriber) special(name string) (int, error) {
	id, ok := t.tokenizer.TokenID("<|" + name + "|>")
	if !ok {
		return 0, check.InFile("tokenizer.json", fault.ErrFolder, folder.Errorf("no token <|%s|>, which a model such as Whisper has", name))
	}
	return id, nil
}

// guess returns the language whose token is the most likely first one.
func (t *Transcriber) guess(ctx context.Context, memory *models.Memory) (best int, err error) {
	_, err = t.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) error {
		logits, err := generation.StartLM(ws, t.model.LM, memory, 1).Feed([][]int{{t.model.Config.DecoderStart}})
		if err != nil {
			return err
		}
		if err := check.Logits(logits); err != nil {
			return err
		}
		most := float32(math.Inf(-1))
		best = -1
		for _, id := range t.languages() {
			if id < len(logits) && logits[id] > most {
				best, most = id, logits[id]
			}
		}
		if best < 0 {
			return folder.Errorf("the tokenizer has no tokens of languages")
		}
		return nil
	})
	return best, err
}

// languages returns the tokens of languages in order: those of the folder's field, or else the
// tokenizer's with two or three letters.
func (t *Transcriber) languages() []int {
	if all := t.settings.Languages; all != nil {
		return slices.Sorted(maps.Values(all))
	}
	var ids []int
	for _, a := range t.tokenizer.AddedTokens() {
		name := strings.TrimSuffix(strings.TrimPrefix(a.Content, "<|"), "|>")
		if len(name) < 2 || len(name) > 3 || len(name)+4 != len(a.Content) || strings.ToLower(name) != name {
			continue
		}
		ids = append(ids, int(a.ID))
	}
	slices.Sort(ids)
	return ids
}
