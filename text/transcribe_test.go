package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// TestWindowsOfConfig compares the text, the segments and the words of short and long sound with
// those of transformers, by generation_config.json; scripts/windows.py has recorded them.
func TestWindowsOfConfig(t *testing.T) {
	data, err := os.ReadFile("testdata/transcribe-times/windows.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Config   map[string]json.RawMessage
		Samples  int
		Text     string
		Segments []Segment
		Words    []Segment
		Error    bool
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	whole, counted := samplesOf(t, "sound1.wav", "sound0.wav", "sound1.wav", "sound0.wav", "sound0.wav"), 0
	for _, c := range cases {
		config := merged(t, "transcribe-times", c.Config)
		tr, err := OpenTranscriber(".", Options{FS: overlay("transcribe-times", map[string]string{"generation_config.json": config})})
		if err != nil {
			if !c.Error {
				t.Errorf("%s: %v", config, err)
			}
			continue
		}
		got, err := textOf(tr.Transcribe(t.Context(), whole[:c.Samples], TranscribeOptions{}))
		if (err != nil) != c.Error || got != c.Text {
			t.Errorf("%d samples, %s: %q, %v, want %q", c.Samples, config, got, err, c.Text)
		}
		segments, err := tr.Segments(t.Context(), whole[:c.Samples], TranscribeOptions{})
		if (err != nil) != c.Error {
			t.Errorf("%d samples, %s: %v", c.Samples, config, err)
			continue
		}
		sameSegments(t, config, segments, c.Segments)
		if c.Words == nil {
			continue
		}
		counted += len(c.Words)
		words, segments, err := tr.Words(t.Context(), whole[:c.Samples], TranscribeOptions{})
		if err != nil {
			t.Errorf("%d samples, %s: %v", c.Samples, config, err)
			continue
		}
		sameSegments(t, config+" words", words, c.Words)
		sameSegments(t, config+" beside words", segments, c.Segments)
	}
	if counted < 20 {
		t.Errorf("%d words", counted)
	}
}

// TestEnglishOnly: a model that its folder calls one of English alone gets no tokens of languages
// and tasks, whatever its tokenizer has.
func TestEnglishOnly(t *testing.T) {
	english := merged(t, "transcribe-times", map[string]json.RawMessage{
		"is_multilingual": json.RawMessage("false"), "lang_to_id": json.RawMessage("null"), "task_to_id": json.RawMessage("null"),
	})
	tr, err := OpenTranscriber(".", Options{FS: overlay("transcribe-times", map[string]string{"generation_config.json": english})})
	if err != nil {
		t.Fatal(err)
	}
	samples := samplesOf(t, "sound1.wav")
	want, err := textOf(tr.Transcribe(t.Context(), samples, TranscribeOptions{}))
	if err != nil || want == "" {
		t.Fatalf("%q, %v", want, err)
	}
	for _, language := range []string{"en", "English", "<|en|>"} {
		if got, err := textOf(tr.Transcribe(t.Context(), samples, TranscribeOptions{Language: language})); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", language, got, err, want)
		}
	}
	for field, o := range map[string]TranscribeOptions{"Language": {Language: "fr"}, "Translate": {Translate: true}} {
		_, err := textOf(tr.Transcribe(t.Context(), samples, o))
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.ErrOption || e.Field != field {
			t.Errorf("%s: %v, want an error that names it", field, err)
		}
	}
}

// TestMissingTokens: a tokenizer without a token that Whisper's have is an error about the file,
// not about an option.
func TestMissingTokens(t *testing.T) {
	data, err := os.ReadFile("testdata/transcribe/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"notimestamps", "transcribe"} {
		tokenizer := string(bytes.ReplaceAll(data, []byte("<|"+token+"|>"), []byte("<|other|>")))
		config := `{"is_multilingual": true}`
		tr, err := OpenTranscriber(".", Options{FS: overlay("transcribe", map[string]string{"tokenizer.json": tokenizer, "generation_config.json": config})})
		if err != nil {
			t.Fatal(err)
		}
		_, err = textOf(tr.Transcribe(t.Context(), samplesOf(t, "sound1.wav"), TranscribeOptions{}))
		if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != fault.ErrFolder || e.File != "tokenizer.json" || e.Field != "" {
			t.Errorf("without %s: %v, want an error about tokenizer.json", token, err)
		}
		if _, err = textOf(tr.Transcribe(t.Context(), samplesOf(t, "sound1.wav"), TranscribeOptions{Language: "de"})); !errors.Is(err, fault.ErrOption) {
			t.Errorf("without %s: language de: %v", token, err)
		}
	}
}
