package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

// TestChatImages: an image in a message is read as the pipeline reads it, in each protocol, and
// counts as tokens. One that cannot be read, an address, and images for a model that takes text,
// are errors of the request.
func TestChatImages(t *testing.T) {
	t.Parallel()
	const folders, files = "../models/testdata/images/", "../models/testdata/gguf-images/"
	named := text.Options{Model: models.Options{Images: true, Projector: files + "gemma3/mmproj-model.gguf"}}
	for name, m := range map[string]Model{
		"gemma4": {}, "idefics3": {}, "lfm2_vl": {}, "qwen3_5": {},
		"gemma3 by files": {Dir: tftest.RewriteGGUF(t, files+"gemma3/model.gguf", nil), Options: named}, "idefics3 by files": {Dir: files + "idefics3/model.gguf"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(name, " ")
			if m.Dir == "" {
				m.Dir = folders + kind
			}
			m.Options.Model.Images = true
			chatImages(t, m, folders+kind)
		})
	}
}

// chatImages is TestChatImages with one model, whose answers are in a folder.
func chatImages(t *testing.T, m Model, folder string) {
	t.Helper()
	m.Name = "reads"
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
	h := startedAs(t, Options{}, m, Model{Name: "text", Dir: testdata + "generate"})
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
	messages := func(model, block string) string {
		return fmt.Sprintf(`{"model": %q, "max_tokens": 10, "temperature": 0, "system": "Look.", "messages": [{"role": "user", "content": [%s, {"type": "text", "text": "What is this?"}]}]}`, model, block)
	}
	block := func(kind, media, data string) string {
		return fmt.Sprintf(`{"type": "image", "source": {"type": %q, "media_type": %q, "data": %q}}`, kind, media, data)
	}
	_, answer, _ = ask(t, "POST", h.URL+"/v1/messages", messages("reads", block("base64", "image/png", encoded)))
	if said := decode[struct {
		Content []struct{ Text string }
		Usage   struct {
			Input int `json:"input_tokens"`
			Read  int `json:"cache_read_input_tokens"`
		}
	}](t, answer); len(said.Content) != 1 || said.Content[0].Text != cases[0].Text || said.Usage.Input+said.Usage.Read != cases[0].Tokens {
		t.Errorf("Anthropic's protocol: %s, want %q after %d tokens", answer, cases[0].Text, cases[0].Tokens)
	}
	_, answer, _ = ask(t, "POST", h.URL+"/v1/messages/count_tokens", strings.NewReplacer(`"max_tokens": 10, "temperature": 0, `, "").Replace(messages("reads", block("base64", "image/png", encoded))))
	if want := fmt.Sprintf(`{"input_tokens":%d}`, cases[0].Tokens); strings.TrimSpace(answer) != want {
		t.Errorf("Anthropic's number of tokens: %s, want %s", answer, want)
	}
	response := func(model, part, more string) string {
		return fmt.Sprintf(`{"model": %q, "max_output_tokens": 10, "temperature": 0, "instructions": "Look.", %s "input": [{"role": "user", "content": [%s, {"type": "input_text", "text": "What is this?"}]}]}`, model, more, part)
	}
	part := func(url string) string {
		return fmt.Sprintf(`{"type": "input_image", "image_url": %q, "detail": "auto"}`, url)
	}
	type responded struct {
		ID     string
		Output []struct{ Content []struct{ Text string } }
		Usage  struct {
			Input int `json:"input_tokens"`
		}
	}
	_, answer, _ = ask(t, "POST", h.URL+"/v1/responses", response("reads", part("data:image/png;base64,"+encoded), ""))
	first := decode[responded](t, answer)
	if len(first.Output) != 1 || first.Output[0].Content[0].Text != cases[0].Text || first.Usage.Input != cases[0].Tokens {
		t.Errorf("OpenAI's responses: %s, want %q after %d tokens", answer, cases[0].Text, cases[0].Tokens)
	}
	_, answer, _ = ask(t, "POST", h.URL+"/v1/responses", fmt.Sprintf(`{"model": "reads", "max_output_tokens": 1, "instructions": "Look.", "previous_response_id": %q, "input": "And?"}`, first.ID))
	if second := decode[responded](t, answer); second.Usage.Input <= cases[0].Tokens {
		t.Errorf("a response after one with an image has %d tokens, want more than %d", second.Usage.Input, cases[0].Tokens)
	}
	counted := strings.NewReplacer(`"max_output_tokens": 10, "temperature": 0, `, "")
	_, answer, _ = ask(t, "POST", h.URL+"/v1/responses/input_tokens", counted.Replace(response("reads", part(encoded), "")))
	if n := decode[struct {
		Input int `json:"input_tokens"`
	}](t, answer).Input; n != cases[0].Tokens {
		t.Errorf("number of tokens of an input: %s, want %d", answer, cases[0].Tokens)
	}
	half := base64.StdEncoding.EncodeToString(file[:len(file)/2])
	for name, x := range map[string]struct{ path, body, want string }{
		"messages, text":       {"messages", messages("text", block("base64", "image/png", encoded)), "messages: 1 images, the model takes text"},
		"messages, address":    {"messages", messages("reads", `{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}`), "this server does not ask"},
		"messages, file":       {"messages", messages("reads", block("file", "", "")), `want base64`},
		"messages, type":       {"messages", messages("reads", block("base64", "image/svg+xml", encoded)), "image/svg+xml"},
		"messages, no source":  {"messages", messages("reads", `{"type": "image"}`), "no source"},
		"messages, no base64":  {"messages", messages("reads", block("base64", "image/png", "*")), "illegal base64"},
		"messages, no image":   {"messages", messages("reads", block("base64", "image/png", "aGVsbG8=")), "neither JPEG nor PNG"},
		"messages, truncated":  {"messages", messages("reads", block("base64", "image/png", half)), "image"},
		"messages, result":     {"messages", messages("reads", `{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image"}]}`), "a tool's result"},
		"responses, text":      {"responses", response("text", part(encoded), ""), `"param":"input"`},
		"responses, address":   {"responses", response("reads", part("https://example.com/a.png"), ""), "this server does not ask"},
		"responses, file":      {"responses", response("reads", `{"type": "input_image", "file_id": "a"}`, ""), "without image_url"},
		"responses, no base64": {"responses", response("reads", part("data:image/png;base64,*"), ""), "illegal base64"},
		"responses, no image":  {"responses", response("reads", part("data:text/plain;base64,aGVsbG8="), ""), "neither JPEG nor PNG"},
		"responses, truncated": {"responses", response("reads", part(half), ""), "image"},
		"responses, system":    {"responses", strings.Replace(response("reads", part(encoded), ""), `"user"`, `"system"`, 1), "a part of type"},
	} {
		status, answer, _ := ask(t, "POST", h.URL+"/v1/"+x.path, x.body)
		if form := map[string]string{"messages": `{"type":"error","error":{`, "responses": `{"error":{`}[x.path]; status != 400 || !strings.HasPrefix(answer, form) || !strings.Contains(answer, x.want) {
			t.Errorf("%s: %d %s, want 400 and %s with %q in it", name, status, answer, form, x.want)
		}
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

// TestStreamedImageOnce: an answer that is streamed decodes a new image once, as one that is not
// does. The bytes that a request allocates show it, because most are pixels. It is not parallel:
// other tests allocate too.
func TestStreamedImageOnce(t *testing.T) {
	h := startedAs(t, Options{}, Model{Name: "reads", Dir: "../models/testdata/images/gemma4", Options: text.Options{Model: models.Options{Images: true}}})
	const side = 1200
	pixels := image.NewGray(image.Rect(0, 0, side, side))
	allocated := func(path, body, events string) uint64 {
		pixels.Pix[0]++ // an image that is not known yet
		var file bytes.Buffer
		tftest.NoError(t, png.Encode(&file, pixels))
		body = fmt.Sprintf(body, base64.StdEncoding.EncodeToString(file.Bytes()))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer, _ := ask(t, "POST", h.URL+path, body)
		runtime.ReadMemStats(&after)
		if status != 200 || !strings.Contains(answer, events) {
			t.Fatalf("%s: %d %s, want %q", path, status, answer, events)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	for path, x := range map[string]struct{ body, ends string }{
		"/v1/messages":  {`"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": %q}}]}]}`, "message_stop"},
		"/v1/responses": {`"max_output_tokens": 1, "input": [{"role": "user", "content": [{"type": "input_image", "image_url": %q}]}]}`, "response.incomplete"},
	} {
		allocated(path, `{"model": "reads", `+x.body, "") // what the first request makes
		whole, streamed := allocated(path, `{"model": "reads", `+x.body, ""), allocated(path, `{"model": "reads", "stream": true, `+x.body, x.ends)
		if whole < side*side || streamed > whole+whole/3 {
			t.Errorf("%s: a streamed answer allocates %d bytes, one at once %d", path, streamed, whole)
		}
	}
}
