package text_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/audio"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// spoilt returns a copy of a folder of testdata in which one tensor has other values.
func spoilt(t *testing.T, folder, tensor string, change func(values []byte, kind string)) fs.FS {
	t.Helper()
	root, out := os.DirFS(filepath.Join("testdata", folder)), fstest.MapFS{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	change(tftest.Tensor(t, out["model.safetensors"].Data, tensor))
	return out
}

// all makes NaN, or +Inf, of all values.
func all(nan bool) func(values []byte, kind string) {
	return func(values []byte, kind string) { tftest.Spoil(values, kind, nan) }
}

// collected returns the length of what a stream yields, and its error.
func collected[T any](s iter.Seq2[T, error]) (n int, err error) {
	for _, err = range s {
		if err == nil {
			n++
		}
	}
	return n, err
}

// failing is a pipeline with a tensor whose values reach its results.
type failing struct {
	folder, tensor string
	call           func(ctx context.Context, fsys fs.FS) (int, error)
}

// TestNotFinite spoils the weights of every pipeline. Each call fails, and gives nothing.
func TestNotFinite(t *testing.T) {
	for _, c := range slices.Concat(failingEmbedders(), failingScorers(t), failingGenerators(t)) {
		for _, nan := range []bool{true, false} {
			results, err := c.call(t.Context(), spoilt(t, c.folder, c.tensor, all(nan)))
			if !errors.Is(err, fault.ErrNotFinite) || results > 0 {
				t.Errorf("%s, %s all NaN %t: %d results, error %v, want none and ErrNotFinite", c.folder, c.tensor, nan, results, err)
			}
		}
	}
}

func failingEmbedders() []failing {
	embed := func(call func(context.Context, *text.Embedder) (int, error)) func(context.Context, fs.FS) (int, error) {
		return func(ctx context.Context, fsys fs.FS) (int, error) {
			e, err := text.OpenEmbedder(".", text.Options{FS: fsys})
			if err != nil {
				return 0, err
			}
			return call(ctx, e)
		}
	}
	texts := text.Texts("hello world", "the cat reads")
	dense := func(o text.EmbedOptions) func(context.Context, fs.FS) (int, error) {
		return embed(func(ctx context.Context, e *text.Embedder) (int, error) {
			v, err := outputs(e.Embed(ctx, texts, o))
			return len(v), err
		})
	}
	tokens := embed(func(ctx context.Context, e *text.Embedder) (int, error) {
		v, err := outputs(e.EmbedTokens(ctx, texts, text.EmbedOptions{}))
		return len(v), err
	})
	sparse := embed(func(ctx context.Context, e *text.Embedder) (int, error) {
		v, err := outputs(e.EmbedSparse(ctx, texts, text.EmbedOptions{}))
		return len(v), err
	})
	vectors := embed(func(ctx context.Context, e *text.Embedder) (int, error) {
		v, err := outputs(e.EmbedMultiVector(ctx, texts, text.EmbedOptions{Prompt: "query"}))
		return len(v), err
	})
	chunks := embed(func(ctx context.Context, e *text.Embedder) (int, error) {
		v, err := outputs(e.EmbedChunks(ctx, "hello world", []tokenizer.Offset{{Start: 0, End: 5}}, text.EmbedOptions{}))
		return len(v), err
	})
	const norm = "encoder.layer.1.output.LayerNorm.weight"
	return []failing{
		{"embed", norm, dense(text.EmbedOptions{})}, {"embed", norm, dense(text.EmbedOptions{Scale: text.ScaleRaw})}, {"embed", norm, dense(text.EmbedOptions{Dim: 2})},
		{"embed", norm, tokens}, {"embed", norm, chunks}, {"embed-static", "embedding.weight", dense(text.EmbedOptions{})}, {"embed-last", "norm.weight", dense(text.EmbedOptions{})},
		{"embed-sparse", "embeddings.LayerNorm.weight", sparse}, {"embed-sparse", "predictions.bias", sparse}, {"embed-late", norm, vectors}, {"embed-late-new", norm, vectors},
	}
}

// opened returns a call of a pipeline that open opens.
func opened[P any](open func(string, text.Options) (P, error), call func(ctx context.Context, p P) (int, error)) func(context.Context, fs.FS) (int, error) {
	return func(ctx context.Context, fsys fs.FS) (int, error) {
		p, err := open(".", text.Options{FS: fsys})
		if err != nil {
			return 0, err
		}
		return call(ctx, p)
	}
}

func failingScorers(t *testing.T) []failing {
	picture, err := os.ReadFile("internal/vision/testdata/landscape.png")
	if err != nil {
		t.Fatal(err)
	}
	texts, files := []string{"hello world", "Paris [MASK]"}, [][]byte{picture}
	classify := opened(text.OpenClassifier, func(ctx context.Context, c *text.Classifier) (int, error) {
		out, err := outputs(c.Classify(ctx, text.Texts(texts...), text.ClassifyOptions{}))
		return len(out), err
	})
	rerank := opened(text.OpenReranker, func(ctx context.Context, r *text.Reranker) (int, error) {
		out, err := outputs(r.Rank(ctx, "what?", texts, text.RerankOptions{}))
		return len(out), err
	})
	const norm = "encoder.layer.1.output.LayerNorm.weight"
	return []failing{
		{"classify", norm, classify}, {"classify", "classifier.bias", classify}, {"classify-multi", norm, classify}, {"rerank", "classifier.bias", rerank}, {"rerank-judge", "model.norm.weight", rerank}, {"rerank-list", "projector.2.weight", rerank},
		{"tokens", "classifier.bias", opened(text.OpenTokenClassifier, func(ctx context.Context, c *text.TokenClassifier) (int, error) {
			out, err := outputs(c.Entities(ctx, texts, text.EntityOptions{}))
			return len(out), err
		})},
		{"fill-mask", "predictions.bias", opened(text.OpenMaskFiller, func(ctx context.Context, m *text.MaskFiller) (int, error) {
			out, err := outputs(m.Fill(ctx, text.Texts(texts[1:]...), text.FillOptions{Best: 2}))
			return len(out), err
		})},
		{"next-sentence", "seq_relationship.bias", opened(text.OpenNextSentence, func(ctx context.Context, s *text.NextSentence) (int, error) {
			out, err := outputs(s.Follows(ctx, text.Pairs([2]string{"a", "b"}), text.InputOptions{}))
			return len(out), err
		})},
		{"answer", "qa_outputs.bias", opened(text.OpenQuestionAnswerer, func(ctx context.Context, a *text.QuestionAnswerer) (int, error) {
			out, err := outputs(a.Answer(ctx, []text.Question{{Question: "what?", Text: "The cat reads."}}, text.AnswerOptions{}))
			return len(out), err
		})},
		{"image", "classifier.bias", opened(text.OpenImageClassifier, func(ctx context.Context, c *text.ImageClassifier) (int, error) {
			out, err := c.Classify(ctx, files)
			return len(out), err
		})},
		{"image", "vit.layernorm.weight", opened(text.OpenImageEmbedder, func(ctx context.Context, e *text.ImageEmbedder) (int, error) {
			out, err := e.Embed(ctx, files)
			return len(out), err
		})},
	}
}

func failingGenerators(t *testing.T) []failing {
	file, err := os.Open("testdata/transcribe/sound0.wav")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	sound, err := audio.ReadWAV(file)
	if err != nil {
		t.Fatal(err)
	}
	generate := func(o text.GenerateOptions) func(context.Context, fs.FS) (int, error) {
		return opened(text.OpenGenerator, func(ctx context.Context, g *text.Generator) (int, error) {
			return collected(g.Generate(ctx, "hello", o))
		})
	}
	translate := func(beams int) func(context.Context, fs.FS) (int, error) {
		return opened(text.OpenTranslator, func(ctx context.Context, tr *text.Translator) (int, error) {
			out, err := tr.Translate(ctx, []string{"hello", "world"}, text.TranslateOptions{GenerateOptions: text.GenerateOptions{MaxTokens: 4, Beams: beams}})
			return len(out.Outputs), err
		})
	}
	transcribe := func(o text.TranscribeOptions) func(context.Context, fs.FS) (int, error) {
		return opened(text.OpenTranscriber, func(ctx context.Context, tr *text.Transcriber) (int, error) {
			return collected(tr.Transcribe(ctx, sound, o))
		})
	}
	segments := opened(text.OpenTranscriber, func(ctx context.Context, tr *text.Transcriber) (int, error) {
		out, err := tr.Segments(ctx, sound, text.TranscribeOptions{Language: "en"})
		return len(out), err
	})
	chat := opened(text.OpenGenerator, func(ctx context.Context, g *text.Generator) (int, error) {
		return collected(g.Answer(ctx, []text.Message{{Role: "user", Content: "hello"}}, text.PromptOptions{}, text.GenerateOptions{MaxTokens: 4}))
	})
	return []failing{
		{"generate", "model.norm.weight", generate(text.GenerateOptions{MaxTokens: 4})}, {"generate", "model.norm.weight", generate(text.GenerateOptions{Sampling: generation.Sampling{Temperature: 1, TopP: 0.9}, MaxTokens: 4})},
		{"generate", "model.norm.weight", generate(text.GenerateOptions{MaxTokens: 4, Beams: 2})}, {"generate", "model.norm.weight", chat},
		{"translate", "final_logits_bias", translate(0)}, {"translate", "final_logits_bias", translate(2)}, {"summarize", "decoder.final_layer_norm.weight", translate(0)},
		{"transcribe", "decoder.layer_norm.weight", transcribe(text.TranscribeOptions{})}, {"transcribe", "decoder.layer_norm.weight", transcribe(text.TranscribeOptions{Language: "en", Beams: 2})},
		{"transcribe-times", "decoder.layer_norm.weight", segments}, {"characters", "lm_head.bias", transcribe(text.TranscribeOptions{})},
	}
}

// TestNotFiniteText spoils the vector of one token: a call with it fails and names a text that has
// it, and calls without it at the same time do not fail.
func TestNotFiniteText(t *testing.T) {
	whole, err := text.OpenEmbedder("testdata/embed", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := whole.Tokenizer().Encode("hello", tokenizer.Options{NoSpecial: true})
	if err != nil {
		t.Fatal(err)
	}
	width := 2 * 32 // bytes of a token's vector
	m, err := text.OpenEmbedder(".", text.Options{FS: spoilt(t, "embed", "word_embeddings.weight", func(values []byte, kind string) {
		tftest.Spoil(values[e.IDs[0]*width:][:width], kind, true)
	})})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			texts := []string{"the cat reads", "Paris", "a longer text that comes before all the others", "the cat"}
			if i%2 == 0 {
				texts[1], texts[2] = "hello", texts[2]+" hello"
			}
			vectors, err := outputs(m.Embed(t.Context(), text.Texts(texts...), text.EmbedOptions{}))
			var at *text.InputError
			switch {
			case i%2 == 1 && (err != nil || len(vectors) != len(texts)):
				t.Errorf("a call without the token: %v", err)
			case i%2 == 0 && (!errors.Is(err, fault.ErrNotFinite) || !errors.As(err, &at) || at.Number != 1 && at.Number != 2):
				t.Errorf("a call with the token: %v, want one of input 1 or 2", err)
			}
		})
	}
	group.Wait()
}

// outputs takes the outputs out of the results of a call.
func outputs[T any](r text.Results[T], err error) ([]T, error) { return r.Outputs, err }
