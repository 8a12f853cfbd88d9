package text_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Options of what computes whole texts. One that does not apply is an error when the pipeline is
// opened.
func ExampleOptions() {
	batches := 0
	e, err := text.OpenEmbedder("examples/models/embed", text.Options{
		Threads: 2, BatchTokens: 512, MaxLength: 32, Long: text.LongTruncate, Dim: 16, OnBatch: func(windows, tokens int) { batches++ },
		Model: models.Options{
			Exact: true, WeightFormat: kernels.FormatBF16, Warn: func(w string) { fmt.Println("warning:", w) },
			WeightFormats: []models.NamedFormat{{Pattern: "encoder.layer.0.*", Format: kernels.FormatF32}},
		},
	})
	must(err)
	v, err := e.Embed(ctx, text.Texts("bread"), text.EmbedOptions{})
	must(err)
	fmt.Println(len(v.Outputs[0]), "numbers in", batches, "batch")

	_, err = text.OpenEmbedder("examples/models/embed", text.Options{CacheMemory: 1 << 30})
	fmt.Println(errors.Is(err, fault.ErrOption))
	// Output:
	// 16 numbers in 1 batch
	// true
}

// Options of what generates text.
func ExampleOpenGenerator_options() {
	g, err := text.OpenGenerator("examples/models/chat", text.Options{
		CacheMemory: 64 << 20, Draft: "examples/models/chat",
		Model: models.Options{CacheFormat: kernels.FormatF16, PromptFormat: kernels.FormatInt8},
	})
	must(err)
	answer, err := text.Collect(g.Chat(ctx, []text.Message{{Role: "user", Content: "What is the capital of France?"}}, text.GenerateOptions{}))
	must(err)
	fmt.Println(answer.Text, answer.Finish, answer.Usage.Tokens, "tokens")
	// Output: The capital of France is Paris. stop 9 tokens
}

// Texts of more tokens than a limit are split, or refused.
func ExampleLong() {
	long := "The dough has to rest in a warm place, and the bread goes in the oven when it has risen."
	e, err := text.OpenEmbedder("examples/models/embed", text.Options{MaxLength: 12, Long: text.LongSplit, Stride: 2})
	must(err)
	v, err := e.Embed(ctx, text.Texts(long), text.EmbedOptions{})
	must(err)
	fmt.Println(v.SplitInputs(), "text was split")

	e, err = text.OpenEmbedder("examples/models/embed", text.Options{MaxLength: 12, Long: text.LongRefuse})
	must(err)
	_, err = e.Embed(ctx, text.Texts(long), text.EmbedOptions{})
	fmt.Println(err)
	// Output:
	// 1 text was split
	// too many tokens: text 0 has 25, at most 12 are possible
}

func ExampleMaxSim() {
	query := [][]float32{{1, 0}, {0, 1}}
	fmt.Println(text.MaxSim(query, [][]float32{{1, 0}, {0.5, 0.5}}))
	// Output: 1.5
}

// The memory that a model takes, by the headers of its files, and a limit of it.
func ExampleFootprintOf() {
	const dir = "examples/models/embed"
	wide, err := text.FootprintOf(text.KindEmbedder, dir, text.Options{})
	must(err)
	narrow, err := text.FootprintOf(text.KindEmbedder, dir, text.Options{Model: models.Options{WeightFormat: kernels.FormatBF16}})
	must(err)
	fmt.Println(narrow.Weights < wide.Weights, wide.Weights <= wide.Loading)

	_, err = text.OpenEmbedder(dir, text.Options{Model: models.Options{MemoryLimit: wide.Loading - 1}})
	fmt.Println(errors.Is(err, fault.ErrMemory))

	e, err := text.OpenEmbedder(dir, text.Options{Model: models.Options{HeadersOnly: true}}) // says what it is, and computes nothing
	must(err)
	fmt.Println(e.Dim(), e.Footprint() == wide)
	// Output:
	// true true
	// true
	// 64 true
}

// What a folder is for, by its small files, and the pipeline for that.
func ExampleKindOf() {
	for _, dir := range []string{"embed", "rerank", "spam", "names", "chat", "numbers", "dial", "shapes", "page"} {
		kind, err := text.KindOf("examples/models/" + dir)
		must(err)
		fmt.Println(dir, kind)
	}
	p, err := text.OpenKind(text.KindEmbedder, "examples/models/embed", text.Options{})
	must(err)
	fmt.Println(p.(*text.Embedder).Dim(), slices.Contains(text.Kinds(), p.Kind()))
	// Output:
	// embed embedder
	// rerank reranker
	// spam classifier
	// names token-classifier
	// chat generator
	// numbers translator
	// dial transcriber
	// shapes image-classifier
	// page generator
	// 64 true
}

// Pipelines for models of other tasks; these have random weights, and show the shapes of results.
func ExampleOpenMaskFiller() {
	m, err := text.OpenMaskFiller("testdata/fill-mask", text.Options{})
	must(err)
	fillings, err := m.Fill(ctx, text.Texts("The capital of France is "+m.Mask()+"."), text.FillOptions{Best: 3})
	must(err)
	fmt.Println(len(fillings.Outputs[0][0]), "tokens for the mask")
	// Output: 3 tokens for the mask
}

func ExampleOpenQuestionAnswerer() {
	a, err := text.OpenQuestionAnswerer("testdata/answer", text.Options{})
	must(err)
	q := text.Question{Question: "What is the capital?", Text: "The capital of France is Paris."}
	spans, err := a.Answer(ctx, []text.Question{q}, text.AnswerOptions{})
	must(err)
	s := spans.Outputs[0][0]
	fmt.Println(s.Answer == q.Text[s.Start:s.End])
	// Output: true
}

func ExampleOpenNextSentence() {
	s, err := text.OpenNextSentence("testdata/next-sentence", text.Options{})
	must(err)
	p, err := s.Follows(ctx, text.Pairs([2]string{"It rains.", "Take an umbrella."}), text.InputOptions{})
	must(err)
	fmt.Println(p.Outputs[0] > 0 && p.Outputs[0] < 1)
	// Output: true
}

// A folder whose tokenizer_config.json contradicts its tokenizer.json does not open, unless the
// latter is to be used as it is.
func ExampleOptions_tokenizerAsWritten() {
	dir, err := os.MkdirTemp("", "example")
	must(err)
	defer os.RemoveAll(dir)
	folder := filepath.Join(dir, "embed")
	must(os.CopyFS(folder, os.DirFS("examples/models/embed")))
	must(os.WriteFile(filepath.Join(folder, "tokenizer_config.json"), []byte(`{"cls_token": "[SEP]"}`), 0o644))

	_, err = text.OpenEmbedder(folder, text.Options{})
	fmt.Println(errors.Is(err, fault.ErrConfig))
	e, err := text.OpenEmbedder(folder, text.Options{TokenizerAsWritten: true})
	must(err)
	v, err := e.Embed(ctx, text.Texts("bread"), text.EmbedOptions{})
	must(err)
	fmt.Println(len(v.Outputs[0]), "numbers")
	// Output:
	// true
	// 64 numbers
}

// Vectors as they are finished, in the order in which they are computed.
func ExampleEmbedder_EmbedEach() {
	e, err := text.OpenEmbedder("examples/models/embed", text.Options{})
	must(err)
	vectors := make(map[int][]float32)
	for v, err := range e.EmbedEach(ctx, text.Texts("bread", "a letter to the committee"), text.EmbedOptions{}) {
		if err != nil {
			log.Print(err) // of a cancelled context, say; the vectors before it are valid
			break
		}
		vectors[v.Number] = v.Vector
	}
	fmt.Println(len(vectors))
	// Output: 2
}

// A sparse vector has a weight for each token of the vocabulary that a text is about.
func ExampleEmbedder_EmbedSparse() {
	e, err := text.OpenEmbedder("testdata/embed-sparse", text.Options{}) // SPLADE, or BGE-M3
	if err != nil {
		log.Fatal(err)
	}
	v, err := e.EmbedSparse(ctx, text.Texts("The capital of France.", "Paris is a city.", "the capital"), text.EmbedOptions{})
	if err != nil {
		log.Fatal(err)
	}
	a, b, query := v.Outputs[0], v.Outputs[1], v.Outputs[2]
	fmt.Println(a.Dot(query) > b.Dot(query))
	// Output: true
}

// Late interaction compares each token of a query with each of a document.
func ExampleEmbedder_EmbedMultiVector() {
	e, err := text.OpenEmbedder("testdata/embed-late", text.Options{}) // ColBERT, by sentence-transformers or PyLate; or BGE-M3
	if err != nil {
		log.Fatal(err)
	}
	queries, err := e.EmbedMultiVector(ctx, text.Texts("what is the capital?"), text.EmbedOptions{Prompt: "query"})
	if err != nil {
		log.Fatal(err)
	}
	documents, err := e.EmbedMultiVector(ctx, text.Texts("The capital of France is Paris.", "Yes."), text.EmbedOptions{Prompt: "document"})
	if err != nil {
		log.Fatal(err)
	}
	query, a, b := queries.Outputs[0], documents.Outputs[0], documents.Outputs[1]
	fmt.Println(len(query), e.Interact(query, a) > e.Interact(query, b))
	// Output: 24 true
}
