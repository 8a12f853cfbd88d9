package text

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/audio"
)

// samplesOf returns the samples of files of testdata/transcribe, one after the other.
func samplesOf(t *testing.T, names ...string) (all []float32) {
	t.Helper()
	for _, name := range names {
		f, err := os.Open(filepath.Join("testdata/transcribe", name))
		if err != nil {
			t.Fatal(err)
		}
		samples, err := audio.ReadWAV(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, samples...)
	}
	return all
}

// sameSegments compares segments with those that transformers gives.
func sameSegments(t *testing.T, name string, got, want []Segment) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d segments, want %d: %v", name, len(got), len(want), got)
	}
	for i, w := range want {
		if g := got[i]; g.Text != w.Text || math.Abs(g.Start-w.Start) > 1e-3 || math.Abs(g.End-w.End) > 1e-3 {
			t.Errorf("%s: segment %d is %+v, want %+v", name, i, g, w)
		}
	}
}

// TestSegments compares the segments of sound, also of longer sound than the model listens to at
// once.
func TestSegments(t *testing.T) {
	var want struct {
		Language  string
		MaxTokens int `json:"max_tokens"`
		Cases     []struct {
			Sounds   []string
			Segments []Segment
		}
	}
	readExpected(t, "transcribe-times", &want)
	tr, err := OpenTranscriber("testdata/transcribe-times", Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := TranscribeOptions{Language: want.Language, MaxTokens: want.MaxTokens}
	for _, c := range want.Cases {
		got, err := tr.Segments(t.Context(), samplesOf(t, c.Sounds...), o)
		if err != nil {
			t.Fatal(err)
		}
		sameSegments(t, c.Sounds[0], got, c.Segments)
	}
	if _, err := tr.Segments(t.Context(), nil, o); !errors.Is(err, fault.ErrInput) {
		t.Errorf("no samples: %v", err)
	}
	if _, err := tr.Characters(t.Context(), make([]float32, 100)); !errors.Is(err, fault.ErrInput) {
		t.Errorf("characters of Whisper: %v", err)
	}
}

// TestCharacters compares text, characters and words of a model of CTC.
func TestCharacters(t *testing.T) {
	var want struct {
		Sound, Text       string
		Characters, Words []Segment
	}
	readExpected(t, "characters", &want)
	tr, err := OpenTranscriber("testdata/characters", Options{})
	if err != nil {
		t.Fatal(err)
	}
	samples := samplesOf(t, want.Sound)
	if got, err := textOf(tr.Transcribe(t.Context(), samples, TranscribeOptions{})); err != nil || got != want.Text {
		t.Errorf("%q, %v, want %q", got, err, want.Text)
	}
	got, err := tr.Characters(t.Context(), samples)
	if err != nil {
		t.Fatal(err)
	}
	sameSegments(t, "characters", got, want.Characters)
	if got, err = tr.Segments(t.Context(), samples, TranscribeOptions{}); err != nil {
		t.Fatal(err)
	}
	sameSegments(t, "words", got, want.Words)
	for name, o := range map[string]TranscribeOptions{"Language": {Language: "en"}, "Translate": {Translate: true}, "Beams": {Beams: 3}} {
		if _, err := tr.Segments(t.Context(), samples, o); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, n := range []int{1, 100} {
		if _, err := tr.Characters(t.Context(), make([]float32, n)); err == nil {
			t.Errorf("%d samples are enough", n)
		}
	}
	for name, files := range map[string]map[string]string{
		"no object": {"vocab.json": "[]"}, "no number": {"vocab.json": `{"a": "b"}`}, "of several languages": {"tokenizer_config.json": `{"target_lang": "eng"}`},
		"rate": {"preprocessor_config.json": `{"sampling_rate": 8000}`}, "cut off": {"vocab.json": `{"a"`},
		"no blank": {"tokenizer_config.json": `{"pad_token": null}`}, "no delimiter": {"tokenizer_config.json": `{"word_delimiter_token": null}`},
		"no space": {"tokenizer_config.json": `{"replace_word_delimiter_char": null}`},
	} {
		if _, err := OpenTranscriber(".", Options{FS: overlay("characters", files)}); err == nil {
			t.Errorf("%s: opens", name)
		}
	}
	lower, err := OpenTranscriber(".", Options{FS: overlay("characters", map[string]string{"tokenizer_config.json": `{"do_lower_case": true, "pad_token": {"content": "<pad>"}, "clean_up_tokenization_spaces": true}`})})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := textOf(lower.Transcribe(t.Context(), samples, TranscribeOptions{})); err != nil || got == want.Text || len(got) > len(want.Text) {
		t.Errorf("%q, %v", got, err)
	}
}
