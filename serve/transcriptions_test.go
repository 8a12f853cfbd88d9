package serve

import (
	"bytes"
	"mime/multipart"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/audio"
)

// TestTranscriptions compares answers with what the transcriber gives.
func TestTranscriptions(t *testing.T) {
	sound, err := os.ReadFile(testdata + "transcribe/sound0.wav")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := audio.ReadWAV(bytes.NewReader(sound))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := text.OpenTranscriber(testdata+"transcribe", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := text.Collect(tr.Transcribe(t.Context(), samples, text.TranscribeOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	h := started(t, Options{}, "transcribe")
	for _, c := range []struct {
		name, value string
		status      int
		want        string
	}{
		{"response_format", "json", 200, ""}, {"response_format", "text", 200, ""}, {"temperature", "0", 200, ""},
		{"response_format", "x", 400, `"param":"response_format"`}, {"timestamp_granularities[]", "word", 400, "timestamp"}, {"model", "x", 404, "model_not_found"},
		{"temperature", "0.7", 400, `"param":"temperature"`}, {"language", "none", 400, "none"},
	} {
		status, answer := transcription(t, h, sound, c.name, c.value)
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s", c.name, c.value, status, answer)
			continue
		}
		if status == 200 {
			got := answer
			if c.value != "text" {
				got = decode[struct{ Text string }](t, answer).Text
			}
			if got != strings.TrimSpace(want.Text) && got != want.Text {
				t.Errorf("%s %s: %q, want %q", c.name, c.value, got, want.Text)
			}
		}
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/v1/audio/transcriptions", "{}", "Content-Type", "application/json"); status != 400 || !strings.Contains(answer, "multipart") {
		t.Error(status, answer)
	}
}

// TestTranscriptionStream: with stream the text comes in events as OpenAI's have it; what goes
// wrong before has a status.
func TestTranscriptionStream(t *testing.T) {
	sound, err := os.ReadFile(testdata + "transcribe/sound0.wav")
	if err != nil {
		t.Fatal(err)
	}
	h := started(t, Options{}, "transcribe")
	_, whole := transcription(t, h, sound)
	want := decode[struct{ Text string }](t, whole).Text
	status, answer := transcription(t, h, sound, "stream", "true")
	type event struct{ Type, Delta, Text string }
	var deltas, done string
	n := 0
	for line := range strings.Lines(answer) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		switch e := decode[event](t, data); e.Type {
		case "transcript.text.delta":
			deltas += e.Delta
			n++
		case "transcript.text.done":
			done += e.Text
		default:
			t.Errorf("an event %q", e.Type)
		}
	}
	if status != 200 || n < 2 || deltas != want || done != want || want == "" {
		t.Errorf("status %d, %d pieces %q, at the end %q, want %q", status, n, deltas, done, want)
	}
	for _, c := range [][]string{{"stream", "x"}, {"stream", "true", "response_format", "srt"}, {"stream", "true", "language", "none"}} {
		if status, answer := transcription(t, h, sound, c...); status != 400 {
			t.Errorf("%q: status %d: %s", c, status, answer)
		}
	}
}

// TestTranscriptionFiles: files of other kinds than WAV are heard, and those that are not decoded
// are named.
func TestTranscriptionFiles(t *testing.T) {
	h := started(t, Options{}, "transcribe")
	for name, want := range map[string]string{"tone.flac": "", "tone.mp3": "", "tone.opus": "", "tone.webm": "", "vorbis.ogg": "", "tone.m4a": "MP4 or M4A"} {
		sound, err := os.ReadFile("../text/sound/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		status, answer := transcription(t, h, sound)
		if want == "" && status != 200 || want != "" && (status != 400 || !strings.Contains(answer, want) || !strings.Contains(answer, `"param":"file"`)) {
			t.Errorf("%s: status %d: %s", name, status, answer)
		}
	}
	small := started(t, Options{MaxBodies: 30_000}, "transcribe")
	flac, err := os.ReadFile("../text/sound/testdata/tone.flac")
	if err != nil {
		t.Fatal(err)
	}
	if status, answer := transcription(t, small, flac); status != 200 {
		t.Errorf("alone, what it becomes is more than all bodies may have: status %d: %s", status, answer)
	}
}

// transcription posts a sound with further fields, name and value in turn.
func transcription(t *testing.T, h *httptest.Server, sound []byte, fields ...string) (status int, answer string) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	f, err := w.CreateFormFile("file", "a.wav")
	if err != nil {
		t.Fatal(err)
	}
	f.Write(sound)
	for i := 0; i < len(fields); i += 2 {
		w.WriteField(fields[i], fields[i+1])
	}
	w.Close()
	status, answer, _ = ask(t, "POST", h.URL+"/v1/audio/transcriptions", body.String(), "Content-Type", w.FormDataContentType())
	return status, answer
}

// TestTranscriptionTimes compares times in each format with those that the transcriber gives.
func TestTranscriptionTimes(t *testing.T) {
	sound, err := os.ReadFile(testdata + "transcribe/sound0.wav")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := audio.ReadWAV(bytes.NewReader(sound))
	if err != nil {
		t.Fatal(err)
	}
	const granularity = "timestamp_granularities[]"
	wordless := filepath.Join(t.TempDir(), "wordless") // a Whisper that has times of segments only
	config := tftest.Must(os.ReadFile(testdata + "transcribe-times/generation_config.json"))(t)
	tftest.NoError(t, os.CopyFS(wordless, os.DirFS(testdata+"transcribe-times")))
	tftest.NoError(t, os.WriteFile(filepath.Join(wordless, "generation_config.json"), bytes.Replace(config, []byte("alignment_heads"), []byte("alignment_heads_"), 1), 0o666))
	h := startedAs(t, Options{}, Model{Dir: testdata + "transcribe-times"}, Model{Dir: testdata + "characters"}, Model{Dir: wordless})
	for name, dir := range map[string]string{"transcribe-times": testdata + "transcribe-times", "characters": testdata + "characters", "wordless": wordless} {
		p, err := text.OpenTranscriber(dir, text.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var o text.TranscribeOptions
		fields := []string{"model", name}
		if name != "characters" {
			o.Language = "en"
			fields = append(fields, "language", "en")
		}
		want, err := p.Segments(t.Context(), samples, o)
		if err != nil || len(want) < 2 {
			t.Fatal(want, err)
		}
		ask := func(more ...string) string {
			status, answer := transcription(t, h, sound, append(slices.Clone(fields), more...)...)
			if status != 200 {
				t.Fatal(name, more, status, answer)
			}
			return answer
		}
		type verbose struct {
			Text     string
			Duration float64
			Segments []struct {
				ID         int
				Start, End float64
				Text       string
			}
			Words []struct {
				Word       string
				Start, End float64
			}
		}
		got := decode[verbose](t, ask("response_format", "verbose_json"))
		var said strings.Builder
		for i, s := range got.Segments {
			if i >= len(want) || s.ID != i || (text.Segment{Start: s.Start, End: s.End, Text: s.Text}) != want[i] {
				t.Fatalf("%s: segment %d is %v, want %v", name, i, s, want)
			}
			said.WriteString(s.Text)
		}
		if len(got.Segments) != len(want) || got.Words != nil || got.Duration != float64(len(samples))/16000 || strings.ReplaceAll(got.Text, " ", "") != strings.ReplaceAll(said.String(), " ", "") {
			t.Errorf("%s: %+v", name, got)
		}
		if p.HasWords() {
			words, _, err := p.Words(t.Context(), samples, o)
			if err != nil || len(words) < 2 {
				t.Fatal(words, err)
			}
			got := decode[verbose](t, ask("response_format", "verbose_json", granularity, "word"))
			if len(got.Words) != len(words) || got.Segments != nil || got.Words[1].Word != strings.TrimSpace(words[1].Text) || got.Words[1].Start != words[1].Start {
				t.Errorf("%s: %+v", name, got)
			}
			if got := decode[verbose](t, ask("response_format", "verbose_json", granularity, "word", granularity, "segment")); len(got.Words) != len(words) || len(got.Segments) != len(want) {
				t.Errorf("%s: %+v", name, got)
			}
		} else if status, answer := transcription(t, h, sound, "model", name, "response_format", "verbose_json", granularity, "word"); status != 400 || !strings.Contains(answer, "not of words") {
			t.Error(status, answer)
		}
		// ask trims the end
		srt, vtt := ask("response_format", "srt"), ask("response_format", "vtt")
		if n := strings.Count(srt, " --> "); n != len(want) || !strings.HasPrefix(srt, "1\n00:00:") || strings.Count(srt+"\n\n", "\n\n") != n {
			t.Errorf("%s: %q", name, srt)
		}
		if n := strings.Count(vtt, " --> "); n != len(want) || !strings.HasPrefix(vtt, "WEBVTT\n\n00:00:") || strings.Count(vtt+"\n\n", "\n\n") != n+1 {
			t.Errorf("%s: %q", name, vtt)
		}
	}
	for _, c := range [][]string{{"response_format", "json", granularity, "word"}, {"response_format", "verbose_json", granularity, "x"}} {
		if status, answer := transcription(t, h, sound, append(c, "model", "characters")...); status != 400 || !strings.Contains(answer, `"param":"timestamp_granularities"`) {
			t.Error(c, status, answer)
		}
	}
}
