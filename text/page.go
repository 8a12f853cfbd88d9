// This file reads images of pages as text.

package text

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/doctags"
)

// PageOptions says how the image of a page becomes text.
type PageOptions struct {
	GenerateOptions // without Images
	// Prompt is the question to the model; "" asks it to convert the page, in the words of
	// granite-docling.
	Prompt string
	// DocTags leaves the text as the model writes it.
	DocTags bool
}

// convertPage is the prompt that SmolDocling and granite-docling were trained with.
const convertPage = "Convert this page to docling."

// Page yields the text of the file of a page's image, as Markdown: each heading, paragraph, list or
// table as soon as it has ended. The model has to write DocTags, as granite-docling does, and to be
// opened with models.Options.Images; otherwise the error matches fault.ErrOption.
func (g *Generator) Page(ctx context.Context, file []byte, o PageOptions) iter.Seq2[Piece, error] {
	tags, err := g.documentTags()
	var prompt string
	if err == nil {
		if o.Prompt == "" {
			o.Prompt = convertPage
		}
		content := []map[string]string{{"type": "image"}, {"type": "text", "text": o.Prompt}}
		prompt, err = g.Prompt([]Message{{Role: "user", Fields: map[string]any{"content": content}}}, PromptOptions{Literal: o.Literal})
	}
	if err != nil {
		return func(yield func(Piece, error) bool) { yield(Piece{}, err) }
	}
	o.Images = [][]byte{file}
	o.Markers = append(slices.Clone(o.Markers), tags...)
	pieces := g.ContinuePrompt(ctx, prompt, o.GenerateOptions)
	if o.DocTags {
		return pieces
	}
	return markdown(pieces)
}

// ReadsPages reports whether Page takes images of pages.
func (g *Generator) ReadsPages() bool {
	_, err := g.documentTags()
	return err == nil
}

// documentTags returns the special tokens of the vocabulary that are tags of documents.
func (g *Generator) documentTags() (tags []string, err error) {
	if g.reader == nil {
		return nil, errNoReader(1)
	}
	table := false
	for _, token := range g.tokenizer.AddedTokens() {
		if doctags.IsTag(token.Content) {
			tags = append(tags, token.Content)
			table = table || token.Content == "<otsl>"
		}
	}
	if !table {
		return nil, check.Errorf(fault.ErrOption, "the model writes no DocTags: its vocabulary lacks the token <otsl>; want one such as granite-docling")
	}
	return tags, nil
}

// markdown makes Markdown of pieces of DocTags.
func markdown(pieces iter.Seq2[Piece, error]) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		var made strings.Builder
		w := doctags.NewWriter(&made) // which has no errors of its own
		for piece, err := range pieces {
			io.WriteString(w, piece.Text)
			if err != nil || piece.Finish != generation.FinishNone {
				w.Close()
			}
			piece.Text = made.String()
			made.Reset()
			if !yield(piece, err) {
				return
			}
		}
	}
}
