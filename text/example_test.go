package text_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/search"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/answer"
	"github.com/avoformer/avoformer/text/audio"
)

var ctx = context.Background()

// The texts whose vectors point in the same direction are alike.
func ExampleOpenEmbedder() {
	e, err := text.OpenEmbedder("examples/models/embed", text.Options{}) // a folder
	if err != nil {
		log.Fatal(err)
	}
	texts := []string{"The dough has to rest in a warm place.", "The conductor wants to see your ticket.", "My bread did not rise."}
	r, err := e.Embed(ctx, text.Texts(texts...), text.EmbedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	v := r.Outputs // [][]float32, normalised as the model says
	for i := range 2 {
		cosine := float32(0)
		for j := range v[i] {
			cosine += v[i][j] * v[2][j]
		}
		fmt.Printf("%.2f %s\n", cosine, texts[i])
	}
	// Output:
	// 0.27 The dough has to rest in a warm place.
	// -0.52 The conductor wants to see your ticket.
}

func ExampleOpenReranker() {
	r, err := text.OpenReranker("examples/models/rerank", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	texts := []string{"Press the pedal, not the brake.", "Let the broth simmer for an hour.", "The conductor wants to see your ticket."}
	ranked, err := r.Rank(ctx, "how long does a soup boil in the pot?", texts, text.RerankOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, x := range ranked.Outputs {
		fmt.Printf("%.2f %s\n", x.Score, texts[x.Index])
	}
	// Output:
	// 0.18 Let the broth simmer for an hour.
	// 0.16 The conductor wants to see your ticket.
	// 0.16 Press the pedal, not the brake.
}

func ExampleOpenClassifier() {
	c, err := text.OpenClassifier("examples/models/spam", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	labels, err := c.Classify(ctx, text.Texts("You have won a free phone, click this link now!", "Can you buy bread on your way home?"), text.ClassifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range labels.Outputs {
		fmt.Printf("%s %.2f\n", l[0].Label, l[0].Score)
	}
	// Output:
	// spam 0.99
	// ham 0.99
}

func ExampleOpenTokenClassifier() {
	c, err := text.OpenTokenClassifier("examples/models/names", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	s := "Clara Berger works for Nova Motors in Lisbon."
	entities, err := c.Entities(ctx, []string{s}, text.EntityOptions{Aggregation: text.AggregateFirst})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entities.Outputs[0] {
		fmt.Printf("%s %q\n", e.Label, s[e.Start:e.End])
	}
	// Output:
	// PER "Clara Berger"
	// ORG "Nova Motors"
	// LOC "Lisbon"
}

func ExampleOpenGenerator() {
	g, err := text.OpenGenerator("examples/models/chat", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for piece, err := range g.Generate(ctx, "<|im_start|>user\nWhat is 3 plus 4?<|im_end|>\n<|im_start|>assistant\n", text.GenerateOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(piece.Text)
	}
	// Output:
	// 3 plus 4 is 7.
}

// The folder's chat template makes the prompt.
func ExampleGenerator_Chat() {
	g, err := text.OpenGenerator("examples/models/chat", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	chat := []text.Message{{Role: "system", Content: "You are a pirate."}, {Role: "user", Content: "Hello!"}}
	reply, err := text.Collect(g.Chat(ctx, chat, text.GenerateOptions{}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Text)
	// Output:
	// Ahoy! What can I do for you, matey?
}

// A chat as the API of servers has it: raw JSON keeps the order of keys, and a call has no content.
func ExampleGenerator_Prompt() {
	g, err := text.OpenGenerator("testdata/generate", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	messages := json.RawMessage(`[
		{"role": "user", "content": "What is the weather in Paris?"},
		{"role": "assistant", "content": null, "tool_calls": [
			{"type": "function", "function": {"name": "weather", "arguments": {"city": "Paris"}}}]},
		{"role": "tool", "content": "21 degrees"}
	]`)
	tools := json.RawMessage(`[{"type": "function", "function": {"name": "weather"}}]`)
	prompt, err := g.Prompt(messages, text.PromptOptions{Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt)
	// Output:
	// <|im_start|>system
	// You are a helpful assistant.
	//
	// # Tools
	//
	// Functions that may be called are within <tools></tools>:
	// <tools>
	// {"type": "function", "function": {"name": "weather"}}
	// </tools>
	//
	// Answer with <tool_call>
	// {"name": <name>, "arguments": <object>}
	// </tool_call><|im_end|>
	// <|im_start|>user
	// What is the weather in Paris?<|im_end|>
	// <|im_start|>assistant
	// <tool_call>
	// {"name": "weather", "arguments": {"city": "Paris"}}
	// </tool_call><|im_end|>
	// <|im_start|>user
	// <tool_response>
	// 21 degrees
	// </tool_response><|im_end|>
	// <|im_start|>assistant
}

// A call goes back into the chat with the tool's answer.
func ExampleReply() {
	g, err := text.OpenGenerator("testdata/generate", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	opts := text.PromptOptions{Tools: json.RawMessage(`[{"type": "function", "function": {"name": "weather"}}]`)}
	messages := []text.Message{{Role: "user", Content: "What is the weather in Paris?"}}

	// Here a large model would answer, taken apart by Answer.
	generated := "I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
	a, err := answer.Parse(g.AnswerFormat(opts), answer.Options{Tools: opts.Tools}, generated)
	if err != nil {
		log.Fatal(err)
	}
	messages = append(messages, text.Reply(a))
	for _, call := range a.Calls {
		fmt.Println(call.Name, call.Arguments)
		messages = append(messages, text.Message{Role: "tool", ToolCallID: call.ID, Content: "21 degrees"})
	}
	prompt, err := g.Prompt(messages, opts)
	if err != nil {
		log.Fatal(err)
	}
	_, prompt, _ = strings.Cut(prompt, "Paris?<|im_end|>\n")
	fmt.Println(prompt)
	// Output:
	// weather {"city": "Paris"}
	// <|im_start|>assistant
	// I look.
	// <tool_call>
	// {"name": "weather", "arguments": {"city": "Paris"}}
	// </tool_call><|im_end|>
	// <|im_start|>user
	// <tool_response>
	// 21 degrees
	// </tool_response><|im_end|>
	// <|im_start|>assistant
}

// An answer that is begun already.
func ExamplePromptOptions() {
	g, err := text.OpenGenerator("testdata/generate", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	messages := []text.Message{{Role: "user", Content: "Name a colour."}, {Role: "assistant", Content: "My favourite is"}}
	prompt, err := g.Prompt(messages, text.PromptOptions{Continue: "content"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(prompt)
	// Output:
	// <|im_start|>system
	// You are a helpful assistant.<|im_end|>
	// <|im_start|>user
	// Name a colour.<|im_end|>
	// <|im_start|>assistant
	// My favourite is
}

func ExampleOpenTranslator() {
	t, err := text.OpenTranslator("examples/models/numbers", text.Options{}) // it knows number words
	if err != nil {
		log.Fatal(err)
	}
	out, err := t.Translate(ctx, []string{"ninety-seven thousand two hundred and eighty-one"}, text.TranslateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Outputs[0].Text)
	// Output:
	// quatre-vingt-dix-sept mille deux cent quatre-vingt-un
}

func ExampleOpenTranscriber() {
	t, err := text.OpenTranscriber("examples/models/dial", text.Options{}) // it knows the tones of a telephone's keys
	if err != nil {
		log.Fatal(err)
	}
	f, err := os.Open("examples/models/dial.wav")
	if err != nil {
		log.Fatal(err)
	}
	samples, err := audio.ReadWAV(f)
	if err != nil {
		log.Fatal(err)
	}
	said, err := text.Collect(t.Transcribe(ctx, samples, text.TranscribeOptions{}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said.Text)
	// Output:
	// 31415
}

func ExampleOpenImageClassifier() {
	c, err := text.OpenImageClassifier("examples/models/shapes", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	png, err := os.ReadFile("examples/models/triangle.png")
	if err != nil {
		log.Fatal(err)
	}
	labels, err := c.Classify(ctx, [][]byte{png})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %.1f\n", labels[0][0].Label, labels[0][0].Score)
	// Output:
	// triangle 1.0
}

func ExampleOpenImageEmbedder() {
	e, err := text.OpenImageEmbedder("testdata/image", text.Options{})
	if err != nil {
		log.Fatal(err)
	}
	png, err := os.ReadFile("internal/vision/testdata/landscape.png")
	if err != nil {
		log.Fatal(err)
	}
	v, err := e.Embed(ctx, [][]byte{png})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(v), "vector of", len(v[0]))
	// Output: 1 vector of 32
}

// The pipelines that a model is good for.
func ExampleKindsFor() {
	m, err := models.Open("testdata/fill-mask", models.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, kind := range text.KindsFor(m) {
		fmt.Println(kind, kind.Info().Task)
	}
	// Output:
	// embedder sentence-similarity
	// mask-filler fill-mask
}

// Semantic search: vectors of texts in an index, and the nearest to those of a query.
func Example_search() {
	documents := []string{"A cat sat on the mat.", "Paris is the capital of France.", "Dogs bark."}
	e, _ := text.OpenEmbedder("testdata/embed", text.Options{})
	vectors, _ := e.Embed(ctx, text.Texts(documents...), text.EmbedOptions{})
	index, _ := search.New(e.Dim(), search.Options{})
	_ = index.Add(nil, vectors.Outputs)
	queries, _ := e.Embed(ctx, text.Texts("Paris is the capital of France!"), text.EmbedOptions{})
	hits, _ := index.Search(ctx, queries.Outputs, 2)
	for _, h := range hits[0] {
		fmt.Printf("%.3f %s\n", h.Score, documents[h.ID])
	}
	// Output:
	// 0.999 Paris is the capital of France.
	// 0.985 A cat sat on the mat.
}
