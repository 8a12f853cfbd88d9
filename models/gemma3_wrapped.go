package models

import (
	"slices"
	"strings"

	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Gemma 3 as the sizes that read images are published: gemma3_text as text_config, beside a tower of images and what leads
// from it to the text's width. The text is computed; images are not.

func init() {
	Register(newGemma3Wrapped, "gemma3")
	Describe(Traits{Use: UseText}, "gemma3")
}

// gemma3Images are the tensors that only images pass through, by the names of transformers 4 and 5. They are not read.
var gemma3Images = []string{"vision_tower.*", "multi_modal_projector.*", "model.vision_tower.*", "model.multi_modal_projector.*"}

func newGemma3Wrapped(c *Checkpoint) (*Model, error) {
	// Where images stand among the tokens, and how many tokens each has.
	for _, field := range []string{"vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index"} {
		c.doc.Note(field)
	}
	if c.Config.Head() != "ForConditionalGeneration" {
		return nil, c.unknownHead()
	}
	inner := *c
	inner.Config.Architectures = []string{"Gemma3ForCausalLM"}
	var err error
	if inner.doc, err = c.gemma3Text(); err != nil {
		return nil, err
	}
	tokens, err := common(inner.doc, configuration.Document{})
	if err != nil {
		return nil, err
	}
	inner.Config.inheritTokens(tokens)
	c.Loader.Rename(gemma3Names(c.Loader))
	c.Loader.Ignore(gemma3Images...)
	m, err := newGemma3(&inner)
	inner.Config.ModelType, inner.Config.Architectures = c.Config.ModelType, c.Config.Architectures
	c.Config = inner.Config
	return m, err
}

// gemma3Text is text_config, except that the wrapper decides whether the head is tied to the embeddings, and that the
// logits have no cap.
func (c *Checkpoint) gemma3Text() (configuration.Document, error) {
	text, err := c.doc.Sub("text_config")
	if err != nil {
		return text, err
	}
	const kind, tied = "model_type", "tie_word_embeddings"
	if text.Has(kind) && text.Value(kind) != `"gemma3_text"` {
		return text, text.Errorf(kind, `want "gemma3_text"`)
	}
	c.doc.Note(tied)
	text = text.With(kind, `"gemma3_text"`).Without(tied, "final_logit_softcapping")
	if said, ok := c.doc.Raw(tied); ok && c.doc.Has(tied) {
		text = text.With(tied, string(said))
	}
	return text, nil
}

// inheritTokens takes the tokens that c does not name from another configuration.
func (c *Config) inheritTokens(from Config) {
	for _, token := range []struct{ to, from *int }{{&c.PadToken, &from.PadToken}, {&c.BOSToken, &from.BOSToken}} {
		if *token.to < 0 {
			*token.to = *token.from
		}
	}
	if c.EOSTokens == nil {
		c.EOSTokens = slices.Clone(from.EOSTokens)
	}
}

// gemma3Names gives the tensors of the names that gemma3_text has. Transformers 4 puts the text with its head under one prefix,
// transformers 5 the head beside.
func gemma3Names(l *transformer.Loader) func(name string) string {
	body, head := "model.language_model.", ""
	if l.Has("language_model.model.embed_tokens.weight") {
		body, head = "language_model.model.", "language_model."
	}
	return func(name string) string {
		if rest, ok := strings.CutPrefix(name, "model."); ok {
			return body + rest
		}
		return head + name
	}
}
