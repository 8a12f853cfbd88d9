package serve

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// TestChatImages: an image in a message is read as the pipeline reads it, in each protocol, and counts as tokens. One that cannot be read,
// an address, and images for a model that takes text, are errors of the request.
func TestChatImages(t *testing.T) {
	t.Parallel()
	const folder = "../models/testdata/images/gemma4"
	var cases []struct {
		Tokens int
		Text   string
	}
	data, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(folder, "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	h := startedAs(t, Options{}, Model{Name: "reads", Dir: folder, Options: text.Options{Model: models.Options{Images: true}}}, Model{Name: "text", Dir: testdata + "generate"})
	encoded := base64.StdEncoding.EncodeToString(file)
	about := func(model, url string) string {
		return fmt.Sprintf(`{"model": %q, "max_tokens": 10, "temperature": 0, "messages": [{"role": "system", "content": "Look."}, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": %q, "detail": "high"}}, {"type": "text", "text": "What is this?"}]}]}`, model, url)
	}
	status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", about("reads", "data:image/png;base64,"+encoded))
	if status != 200 {
		t.Fatal(status, answer)
	}
	got := decode[struct {
		Choices []struct{ Message struct{ Content string } }
		Usage   struct {
			Prompt int `json:"prompt_tokens"`
		}
	}](t, answer)
	if len(got.Choices) != 1 || got.Choices[0].Message.Content != cases[0].Text || got.Usage.Prompt != cases[0].Tokens {
		t.Errorf("answer %+v, want %q after %d tokens", got, cases[0].Text, cases[0].Tokens)
	}
	_, answer, _ = ask(t, "POST", h.URL+"/api/chat", fmt.Sprintf(`{"model": "reads", "stream": false, "options": {"num_predict": 10, "temperature": 0}, "messages": [{"role": "system", "content": "Look."}, {"role": "user", "content": "What is this?", "images": [%q]}]}`, encoded))
	if said := decode[struct{ Message struct{ Content string } }](t, answer); said.Message.Content != cases[0].Text {
		t.Errorf("Ollama's protocol: %s, want %q", answer, cases[0].Text)
	}
	for model, reads := range map[string]bool{"reads": true, "text": false} { // clients ask before they send images
		_, answer, _ = ask(t, "POST", h.URL+"/api/show", fmt.Sprintf(`{"model": %q}`, model))
		if said := decode[struct{ Capabilities []string }](t, answer); slices.Contains(said.Capabilities, "vision") != reads || !slices.Contains(said.Capabilities, "completion") {
			t.Errorf("%s: capabilities %q", model, said.Capabilities)
		}
	}
	for name, x := range map[string]struct{ body, want string }{
		"text":       {about("text", encoded), "the model takes text"},
		"address":    {about("reads", "https://example.com/a.png"), "this server does not ask"},
		"no image":   {about("reads", "data:image/png;base64,aGVsbG8="), "neither JPEG nor PNG"},
		"no base64":  {about("reads", "data:image/png;base64,*"), "base64"},
		"truncated":  {about("reads", base64.StdEncoding.EncodeToString(file[:len(file)/2])), "image"},
		"no url":     {strings.Replace(about("reads", encoded), `"url"`, `"uri"`, 1), "want {"},
		"other part": {strings.Replace(about("reads", encoded), `"image_url"`, `"input_audio"`, 1), "a part of type"},
	} {
		if status, answer, _ := ask(t, "POST", h.URL+"/v1/chat/completions", x.body); status != 400 || !strings.Contains(answer, x.want) {
			t.Errorf("%s: %d %s, want 400 with %q in it", name, status, answer, x.want)
		}
	}
}
