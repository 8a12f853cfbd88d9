package text

import (
	"errors"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// hears compares text, pieces of words and words of a folder whose model writes pieces, of sound of
// one window and of several.
func hears(t *testing.T, folder string) {
	t.Helper()
	var want struct {
		Cases []struct {
			Sounds        []string
			Text          string
			Pieces, Words []Segment
		}
	}
	readExpected(t, folder, &want)
	tr, err := OpenTranscriber("testdata/"+folder, Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range want.Cases {
		samples := samplesOf(t, c.Sounds...)
		var pieces []string
		for piece, err := range tr.Transcribe(t.Context(), samples, TranscribeOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			pieces = append(pieces, piece.Text)
		}
		if got := strings.Join(pieces, ""); got != c.Text {
			t.Errorf("%q, want %q", got, c.Text)
		}
		if several := len(c.Sounds) > 1; several != (len(pieces) > 1) {
			t.Errorf("%d pieces of %d sounds", len(pieces), len(c.Sounds))
		}
		got, err := tr.Characters(t.Context(), samples)
		if err != nil {
			t.Fatal(err)
		}
		sameSegments(t, "pieces", got, c.Pieces)
		if got, err = tr.Segments(t.Context(), samples, TranscribeOptions{}); err != nil {
			t.Fatal(err)
		}
		sameSegments(t, "words", got, c.Words)
	}
	if !tr.HasWords() || !tr.HasTimes() {
		t.Error("the model says no times of words")
	}
	if _, err := textOf(tr.Transcribe(t.Context(), make([]float32, 319), TranscribeOptions{})); !errors.Is(err, fault.ErrShape) {
		t.Errorf("sound of less than two frames: %v", err)
	}
	if _, err := textOf(tr.Transcribe(t.Context(), make([]float32, 320), TranscribeOptions{})); err != nil {
		t.Errorf("sound of two frames: %v", err)
	}
	if _, err := tr.Segments(t.Context(), make([]float32, 1600), TranscribeOptions{Language: "en"}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a language: %v", err)
	}
}

// TestParakeet compares with transformers' ParakeetForCTC.
func TestParakeet(t *testing.T) {
	t.Parallel()
	hears(t, "pieces")
	for name, files := range map[string]map[string]string{
		"no blank": {"tokenizer_config.json": `{"tokenizer_class": "ParakeetTokenizer"}`}, "rate": {"preprocessor_config.json": `{"sampling_rate": 8000}`},
		"bins": {"preprocessor_config.json": `{"feature_size": 128}`}, "another filter": {"preprocessor_config.json": `{"preemphasis": 0.9}`},
		"cut off": {"preprocessor_config.json": `{"feature_size`}, "no tokenizer": {"tokenizer.json": `{}`},
	} {
		if _, err := OpenTranscriber(".", Options{FS: overlay("pieces", files)}); err == nil {
			t.Errorf("%s: opens", name)
		}
	}
	if kind, err := KindOf("testdata/pieces"); kind != KindTranscriber || err != nil {
		t.Errorf("the folder is for %q, %v", kind, err)
	}
}

// TestTransducer compares with transformers' ParakeetForTDT.
func TestTransducer(t *testing.T) {
	t.Parallel()
	hears(t, "transducer")
	if kind, err := KindOf("testdata/transducer"); kind != KindTranscriber || err != nil {
		t.Errorf("the folder is for %q, %v", kind, err)
	}
}
