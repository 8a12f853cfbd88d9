package clients

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/avoformer/avoformer/serve"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/audio"
)

const testdata = "../../text/testdata/"

// address returns the address of a server with three models and a key.
func address(t *testing.T) string {
	t.Helper()
	var models []serve.Model
	for _, name := range []string{"embed", "generate", "transcribe"} {
		models = append(models, serve.Model{Dir: testdata + name})
	}
	s, err := serve.New(models, serve.Options{Keys: []string{"key"}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h.URL
}

// client returns OpenAI's client for such a server.
func client(t *testing.T) openai.Client {
	t.Helper()
	return openai.NewClient(option.WithBaseURL(address(t)+"/v1/"), option.WithAPIKey("key"), option.WithMaxRetries(0))
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-5 }

func TestEmbeddings(t *testing.T) {
	c := client(t)
	e, err := text.OpenEmbedder(testdata+"embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"hello world", "the cat reads"}
	want, err := e.Embed(t.Context(), text.Texts(texts...), text.EmbedOptions{Scale: text.ScaleUnit})
	if err != nil {
		t.Fatal(err)
	}
	in := openai.EmbeddingNewParams{Model: "embed", Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts}}
	got, err := c.Embeddings.New(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != len(texts) || got.Usage.PromptTokens != int64(want.Sum()) {
		t.Fatalf("%d vectors, %d tokens; want %d, %d", len(got.Data), got.Usage.PromptTokens, len(texts), want.Sum())
	}
	for i, d := range got.Data {
		for j, x := range d.Embedding {
			if len(d.Embedding) != len(want.Outputs[i]) || !near(x, float64(want.Outputs[i][j])) {
				t.Fatalf("text %d: element %d is %g, want %g", i, j, x, want.Outputs[i][j])
			}
		}
	}
	in.EncodingFormat = openai.EmbeddingNewParamsEncodingFormatBase64
	in.Dimensions = openai.Int(8)
	got, err = c.Embeddings.New(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	data, err := base64.StdEncoding.DecodeString(strings.Trim(got.Data[0].JSON.Embedding.Raw(), `"`))
	if err != nil || len(data) != 4*8 {
		t.Fatalf("%d bytes, %v; want 32", len(data), err)
	}
	sum := 0.0
	for i := range 8 {
		x := float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		sum += x * x
	}
	if !near(sum, 1) {
		t.Errorf("8 dimensions have the norm %g, want 1", math.Sqrt(sum))
	}
}

func TestChat(t *testing.T) {
	c := client(t)
	g, err := text.OpenGenerator(testdata+"generate", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := text.Collect(g.Chat(t.Context(), []text.Message{{Role: "user", Content: "Hi"}}, text.GenerateOptions{MaxTokens: 12}))
	if err != nil {
		t.Fatal(err)
	}
	in := openai.ChatCompletionNewParams{Model: "generate", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Hi")},
		MaxCompletionTokens: openai.Int(12), Temperature: openai.Float(0)}
	whole, err := c.Chat.Completions.New(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Choices[0].Message.Content; strings.TrimSpace(got) != strings.TrimSpace(want.Text) || whole.Usage.CompletionTokens != 12 {
		t.Errorf("%q of %d tokens, want %q", got, whole.Usage.CompletionTokens, want.Text)
	}
	in.StreamOptions.IncludeUsage = openai.Bool(true)
	s := c.Chat.Completions.NewStreaming(t.Context(), in)
	var all openai.ChatCompletionAccumulator
	for s.Next() {
		if !all.AddChunk(s.Current()) {
			t.Fatalf("a chunk that does not fit: %s", s.Current().RawJSON())
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	if all.Choices[0].Message.Content != whole.Choices[0].Message.Content || all.Choices[0].FinishReason != "length" || all.Usage.TotalTokens != whole.Usage.TotalTokens {
		t.Errorf("streamed %+v, want %+v", all.Choices[0], whole.Choices[0])
	}
}

func TestTranscription(t *testing.T) {
	c := client(t)
	f, err := os.Open(testdata + "transcribe/sound0.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err := text.OpenTranscriber(testdata+"transcribe", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	samples, err := audio.ReadWAV(f)
	if err != nil {
		t.Fatal(err)
	}
	want, err := text.Collect(tr.Transcribe(t.Context(), samples, text.TranscribeOptions{Language: "en"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	got, err := c.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{File: f, Model: "transcribe", Language: openai.String("en")})
	if err != nil || got.Text != want.Text {
		t.Errorf("%v, %q; want %q", err, got.Text, want.Text)
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	segments, err := tr.Segments(t.Context(), samples, text.TranscribeOptions{Language: "en"})
	if err != nil {
		t.Fatal(err)
	}
	timed, err := c.Audio.Transcriptions.New(t.Context(), openai.AudioTranscriptionNewParams{File: f, Model: "transcribe", Language: openai.String("en"), ResponseFormat: openai.AudioResponseFormatVerboseJSON})
	if err != nil || len(timed.Segments) != len(segments) {
		t.Fatalf("%v, %d segments, want %v", err, len(timed.Segments), segments)
	}
	for i, s := range segments {
		if got := timed.Segments[i]; got.Start != s.Start || got.End != s.End || got.Text != s.Text {
			t.Errorf("segment %d is %+v, want %+v", i, got, s)
		}
	}
}

func TestModelsAndErrors(t *testing.T) {
	c := client(t)
	page, err := c.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	if !slices.Equal(names, []string{"embed", "generate", "transcribe"}) {
		t.Errorf("models are %q", names)
	}
	for _, x := range []struct {
		model, key, code string
		ids              []int64
		status           int
	}{
		{"none", "key", "model_not_found", nil, 404},
		{"embed", "other", "invalid_api_key", nil, 401},
		{"embed", "key", "", []int64{1, 2}, 400},
	} {
		in := openai.EmbeddingNewParams{Model: x.model, Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String("a")}}
		if x.ids != nil {
			in.Input = openai.EmbeddingNewParamsInputUnion{OfArrayOfTokens: x.ids}
		}
		_, err := c.Embeddings.New(t.Context(), in, option.WithAPIKey(x.key))
		var e *openai.Error
		if !errors.As(err, &e) || e.StatusCode != x.status || e.Code != x.code {
			t.Errorf("%s: %v, want %d %s", x.model, err, x.status, x.code)
		}
	}
}
