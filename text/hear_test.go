package text

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/speech"
)

// repeated is n samples of a sound that is repeated, each time with a loudness of its own.
func repeated(t *testing.T, sound string, n int) []float32 {
	t.Helper()
	one := samplesOf(t, sound)
	all := make([]float32, n)
	for i := range all {
		all[i] = one[i%len(one)] / float32(int(1)<<(i/len(one)%5))
	}
	return all
}

// TestWindows compares text and times of sound that is heard in windows with those of transformers'
// pipeline with chunk_length_s=30, and the pieces of the text with the whole.
func TestWindows(t *testing.T) {
	t.Parallel()
	var want struct {
		Sound string
		Long  struct {
			Samples int
			Text    string
			Words   []int // where each begins and ends, in hidden states
		}
	}
	readExpected(t, "characters", &want)
	tr, err := OpenTranscriber("testdata/characters", Options{Threads: 3}) // the last of four windows is computed after the others
	if err != nil {
		t.Fatal(err)
	}
	samples := repeated(t, want.Sound, want.Long.Samples)
	var words []Segment
	for i, w := range strings.Fields(want.Long.Text) {
		words = append(words, Segment{float64(want.Long.Words[2*i]) / 50, float64(want.Long.Words[2*i+1]) / 50, w})
	}
	got, err := tr.Segments(t.Context(), samples, TranscribeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sameSegments(t, "words", got, words)
	var pieces []string
	for piece, err := range tr.Transcribe(t.Context(), samples, TranscribeOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, piece.Text)
	}
	if got := strings.Join(pieces, ""); got != want.Long.Text {
		t.Errorf("%q, want %q", got, want.Long.Text)
	}
	if len(pieces) != 4 {
		t.Errorf("%d pieces, want one of each of 4 windows", len(pieces))
	}
	for i, piece := range pieces[1:] {
		if !strings.HasPrefix(piece, " ") {
			t.Errorf("piece %d begins within a word: %q", i+1, piece)
		}
	}
	for range tr.Transcribe(t.Context(), samples, TranscribeOptions{}) {
		break // a caller that has heard enough
	}
}

// passes records how many samples each pass of a model has, and how far their variance is from 1 at
// most.
type passes struct {
	models.AudioEncoder
	samples []int
	off     float64
}

func (p *passes) EncodeAudio(ws *models.Workspace, dst, samples []float32, sounds, frames int) error {
	p.samples = append(p.samples, len(samples))
	power := 0.0
	for _, x := range samples {
		power += float64(x) * float64(x)
	}
	p.off = max(p.off, math.Abs(power/float64(len(samples))-1))
	return p.AudioEncoder.EncodeAudio(ws, dst, samples, sounds, frames)
}

// TestWindowLengths: sound of one window is heard at once, and no pass hears more than a window,
// which bounds its memory. Each is normalized by itself.
func TestWindowLengths(t *testing.T) {
	t.Parallel()
	tr, err := OpenTranscriber("testdata/characters", Options{Threads: 1}) // for passes in order
	if err != nil {
		t.Fatal(err)
	}
	const second = 16000
	for _, c := range []struct {
		samples int
		want    []int
	}{
		{second, []int{second}}, {30 * second, []int{30 * second}}, {30*second + 1, []int{30 * second, 10*second + 1}},
		{50 * second, []int{30 * second, 30 * second}}, {95 * second, []int{30 * second, 30 * second, 30 * second, 30 * second, 15 * second}},
	} {
		p := &passes{AudioEncoder: tr.model.Audio}
		tr.model.Audio = p
		_, err := tr.Characters(t.Context(), repeated(t, "sound0.wav", c.samples))
		tr.model.Audio = p.AudioEncoder
		if err != nil || !slices.Equal(p.samples, c.want) {
			t.Errorf("%d samples: passes of %v, %v, want %v", c.samples, p.samples, err, c.want)
		}
		if p.off > 1e-3 {
			t.Errorf("%d samples: the variance of a window is off by %g", c.samples, p.off)
		}
	}
}

// TestWindowsCancelled: a call that is cancelled ends before the next window.
func TestWindowsCancelled(t *testing.T) {
	t.Parallel()
	tr, err := OpenTranscriber("testdata/characters", Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	passes := 0
	_, err = tr.hear(ctx, repeated(t, "sound0.wav", 90*16000), TranscribeOptions{}, func([]speech.Segment) bool {
		passes++
		cancel()
		return true
	})
	if !errors.Is(err, context.Canceled) || passes != 1 {
		t.Errorf("%v after %d windows", err, passes)
	}
}

// TestSoundAccount gives each field of the classes of feature extractors a value that no class has
// as its default, and null: it is an error that names the field, unless the field has no effect or
// null is a value of it. A field that the class does not have is a warning.
func TestSoundAccount(t *testing.T) {
	t.Parallel()
	for class, c := range map[string]struct{ folder, idle, null string }{
		"WhisperFeatureExtractor":  {"transcribe", "return_attention_mask", "dither model_input_names padding_side padding_value return_attention_mask"},
		"Wav2Vec2FeatureExtractor": {"characters", "padding_side padding_value return_attention_mask", "do_normalize model_input_names padding_side padding_value return_attention_mask"},
		"ParakeetFeatureExtractor": {"pieces", "padding_side padding_value return_attention_mask", "model_input_names padding_side padding_value return_attention_mask"},
	} {
		var was map[string]any
		data, err := os.ReadFile(filepath.Join("testdata", c.folder, speech.File))
		if err := errors.Join(err, json.Unmarshal(data, &was)); err != nil {
			t.Fatal(err)
		}
		open := func(field string, value any) (warnings []string, err error) {
			fields := maps.Clone(was)
			fields[field] = value
			text, _ := json.Marshal(fields)
			_, err = OpenTranscriber(".", Options{FS: overlay(c.folder, map[string]string{speech.File: string(text)}), Model: models.Options{Warn: func(w string) { warnings = append(warnings, w) }}})
			return warnings, err
		}
		check := func(field string, value any, opens string) {
			if _, err := open(field, value); slices.Contains(strings.Fields(opens), field) {
				if err != nil {
					t.Errorf("%s: %s = %v: %v", class, field, value, err)
				}
			} else if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Field != field || e.File != speech.File {
				t.Errorf("%s: %s = %v: error %v, want one that names it", class, field, value, err)
			}
		}
		for field := range pyclass.File(class).Fields {
			check(field, map[string]any{"a": 1}, c.idle)
			check(field, nil, c.null)
		}
		for _, x := range []struct {
			field string
			value any
			opens bool
		}{
			{"feature_extractor_type", nil, true}, {"feature_extractor_type", "SeamlessM4TFeatureExtractor", false}, {"sampling_rate", 8000, false},
			{"feature_size", 3, false}, {"processor_class", "X", true}, {"padding_value", 0, true},
		} {
			if _, err := open(x.field, x.value); (err == nil) != x.opens {
				t.Errorf("%s: %s = %v: error %v", class, x.field, x.value, err)
			}
		}
		warnings, err := open("a_remark", 1)
		if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], speech.File+": a_remark = 1: ignored, as by transformers") {
			t.Errorf("%s: an unknown field: warnings %q, error %v", class, warnings, err)
		}
	}
	tr, err := OpenTranscriber(".", Options{FS: overlay("characters", map[string]string{speech.File: `{"do_normalize": null}`})})
	if err != nil || tr.script.(*speech.Characters).Normalize {
		t.Errorf("do_normalize = null: normalizes %t, error %v", tr.script.(*speech.Characters).Normalize, err)
	}
}
