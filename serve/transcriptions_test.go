package serve

import (
	"bytes"
	"mime/multipart"
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

// TestTranscriptions compares answers with what the transcriber gives.
func TestTranscriptions(t *testing.T) {
	sound, err := os.ReadFile(testdata + "transcribe/sound0.wav")
	if err != nil {
		t.Fatal(err)
	}
	samples, err := text.ReadWAV(bytes.NewReader(sound))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := text.OpenTranscriber(testdata + "transcribe")
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
		{"response_format", "json", 200, ""}, {"response_format", "text", 200, ""}, {"response_format", "verbose_json", 200, `"duration":`}, {"temperature", "0", 200, ""},
		{"response_format", "srt", 400, `"param":"response_format"`}, {"timestamp_granularities[]", "word", 400, "timestamp"}, {"model", "x", 404, "model_not_found"},
		{"temperature", "0.7", 400, `"param":"temperature"`}, {"language", "none", 400, "none"},
	} {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		f, err := w.CreateFormFile("file", "a.wav")
		if err != nil {
			t.Fatal(err)
		}
		f.Write(sound)
		w.WriteField(c.name, c.value)
		w.Close()
		status, answer, _ := ask(t, "POST", h.URL+"/v1/audio/transcriptions", body.String(), "Content-Type", w.FormDataContentType())
		if status != c.status || !strings.Contains(answer, c.want) {
			t.Errorf("%s %s: %d %s", c.name, c.value, status, answer)
			continue
		}
		if status == 200 {
			got := answer
			if c.value != "text" {
				got = decode[struct{ Text string }](t, answer).Text
			}
			if got != strings.TrimSpace(want) && got != want {
				t.Errorf("%s %s: %q, want %q", c.name, c.value, got, want)
			}
		}
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/v1/audio/transcriptions", "{}", "Content-Type", "application/json"); status != 400 || !strings.Contains(answer, "multipart") {
		t.Error(status, answer)
	}
}
