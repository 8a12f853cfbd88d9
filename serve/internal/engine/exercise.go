// A first question to a model.

package engine

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text"
)

// exercise asks a pipeline for something small, so that the first request does not wait for what is made once, and a model that
// fails does so before the server is ready.
func exercise(ctx context.Context, pipeline any) (err error) {
	const hello = "Hello, world."
	switch p := pipeline.(type) {
	case *text.Embedder:
		_, err = p.Embed(ctx, []string{hello})
	case *text.Reranker:
		_, err = p.Score(ctx, hello, []string{hello})
	case *text.Classifier:
		_, err = p.Classify(ctx, []string{hello})
	case *text.TokenClassifier:
		_, err = p.Entities(ctx, []string{hello}, text.AggregateSimple)
	case *text.Generator:
		_, err = text.Collect(p.Generate(ctx, hello, text.GenerateOptions{MaxTokens: 1}))
	case *text.Translator:
		_, err = p.Translate(ctx, []string{hello}, text.TranslateOptions{GenerateOptions: text.GenerateOptions{MaxTokens: 1}})
	case *text.Transcriber:
		silence := make([]float32, 8000) // half a second
		_, err = text.Collect(p.Transcribe(ctx, silence, text.TranscribeOptions{MaxTokens: 1}))
		if errors.Is(err, fault.ErrOption) { // models without a decoder take none
			_, err = text.Collect(p.Transcribe(ctx, silence, text.TranscribeOptions{}))
		}
	case *text.ImageClassifier:
		_, err = p.Classify(ctx, [][]byte{grey()})
	case *text.ImageEmbedder:
		_, err = p.Embed(ctx, [][]byte{grey()})
	}
	if errors.Is(err, fault.ErrInput) || errors.Is(err, fault.ErrOption) {
		return nil // the model is there, if that text is none for it, or it wants to be told a language
	}
	return err
}

// grey is the file of a small image.
func grey() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 32, 32))); err != nil {
		panic(err) // nothing keeps a buffer from being written
	}
	return b.Bytes()
}
