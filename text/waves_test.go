package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/internal/speech"
)

// TestMoonshine compares texts with transformers', of sound of one stretch, and of two.
func TestMoonshine(t *testing.T) {
	t.Parallel()
	var want struct {
		Stretches []int
		Cases     []struct {
			Sounds []string
			Text   string
		}
	}
	readExpected(t, "transcribe-waves", &want)
	tr, err := OpenTranscriber("testdata/transcribe-waves", Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range want.Cases {
		if got, err := textOf(tr.Transcribe(t.Context(), samplesOf(t, c.Sounds...), TranscribeOptions{})); got != c.Text || err != nil {
			t.Errorf("%q, %v, want %q", got, err, c.Text)
		}
	}
	samples := samplesOf(t, want.Cases[1].Sounds...)
	for rest, n := samples, 0; len(rest) > 0; rest, n = rest[want.Stretches[n]:], n+1 {
		if got := tr.stretches.Next(rest); got != want.Stretches[n] {
			t.Fatalf("stretch %d of %d samples, want %d", n, got, want.Stretches[n])
		}
	}
	one, err := Collect(tr.Transcribe(t.Context(), samples[:16000], TranscribeOptions{MaxTokens: 1}))
	if err != nil || one.Usage.Tokens != 1 {
		t.Errorf("%d tokens, %v, want 1", one.Usage.Tokens, err)
	}
	if tr.HasTimes() || tr.HasWords() {
		t.Error("the model tells times")
	}
	if _, err := tr.Segments(t.Context(), samples[:16000], TranscribeOptions{}); !errors.Is(err, fault.ErrInput) {
		t.Errorf("segments: %v", err)
	}
	for _, o := range []TranscribeOptions{{Language: "en"}, {Translate: true}} {
		if _, err := textOf(tr.Transcribe(t.Context(), samples[:16000], o)); !errors.Is(err, fault.ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := textOf(tr.Transcribe(t.Context(), samples[:894], TranscribeOptions{})); !errors.Is(err, fault.ErrShape) {
		t.Errorf("sound of no hidden state: %v", err)
	}
	if kind, err := KindOf("testdata/transcribe-waves"); kind != KindTranscriber || err != nil {
		t.Errorf("the folder is for %q, %v", kind, err)
	}
}

// TestMoonshineInput has the fields of preprocessor_config.json that count.
func TestMoonshineInput(t *testing.T) {
	t.Parallel()
	text := func(input string) string {
		t.Helper()
		tr, err := OpenTranscriber(".", Options{FS: overlay("transcribe-waves", map[string]string{"preprocessor_config.json": input})})
		if err != nil {
			t.Fatal(err)
		}
		features, _, err := tr.stretches.Features([]float32{0.5, 0, -0.5, 0})
		if err != nil {
			t.Fatal(err)
		}
		if features[0] == 0.5 {
			return "as they are"
		}
		return "normalized"
	}
	if got := text(`{"do_normalize": false}`) + ", " + text(`{}`); got != "as they are, normalized" {
		t.Errorf("samples are %s", got)
	}
	for _, input := range []string{`{"sampling_rate": 8000}`, `{"feature_size": 80}`, `{"feature_extractor_type": "WhisperFeatureExtractor"}`} {
		if _, err := OpenTranscriber(".", Options{FS: overlay("transcribe-waves", map[string]string{"preprocessor_config.json": input})}); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s: error %v, want a fault.ErrConfig", input, err)
		}
	}
}

// TestStretches: every stretch is within its bounds, and no sample is lost.
func TestStretches(t *testing.T) {
	t.Parallel()
	const second = 16000
	for _, n := range []int{1, 30 * second, 30*second + 1, 61 * second} {
		samples := make([]float32, n)
		for i := range samples {
			samples[i] = 0.1
		}
		quiet := 26*second + 800 // the middle of the only silence
		if n > 30*second {
			clear(samples[quiet-800 : quiet+800])
		}
		var lengths []int
		for rest := samples; len(rest) > 0; {
			next := speech.Waves{}.Next(rest)
			if next < 1 || next > 30*second || next < len(rest) && len(rest)-next < second {
				t.Fatalf("a stretch of %d of %d samples", next, len(rest))
			}
			lengths, rest = append(lengths, next), rest[next:]
		}
		if n > 30*second && lengths[0] != quiet {
			t.Errorf("%d samples are cut after %d, want %d", n, lengths[0], quiet)
		}
		if n <= 30*second && len(lengths) != 1 {
			t.Errorf("%d samples are cut: %v", n, lengths)
		}
	}
	if got := []int{(speech.Waves{}).Tokens(1), (speech.Waves{}).Tokens(second), (speech.Waves{}).Tokens(30 * second)}; got[0] != 1 || got[1] != 5 || got[2] != 194 {
		t.Errorf("%v tokens", got)
	}
	if strings.TrimSpace(speech.Waves{}.Space()) != "" {
		t.Error("stretches are separated by more than space")
	}
}
