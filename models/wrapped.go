package models

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/transformer"
)

// Models that read images or hear sound beside text, as they are published: a model of text under
// text_config, and towers beside it. The text is computed, and images where the wrapper has a
// reader of them and the caller asks for it; sound is not.

// A wrapper is a model type with a model of text under text_config.
type wrapper struct {
	kinds []string // model types that text_config may have; the first is the default
	head  string   // that the wrapper has: ForConditionalGeneration or, of an encoder, Model
	tied  string   // what tie_word_embeddings is where the wrapper leaves it out, which decides for the text as well; "": an encoder's is not read
	// fields has the wrapper's fields without an effect on text, and unread the fields that
	// transformers ignores in text_config.
	fields, unread []string
	towers         []string // patterns of the tensors that only images and sound pass through
	tiedToo        []string // fields that go before tie_word_embeddings
	// inside is the part of the model that has the text, by the names of transformers 5; "":
	// language_model.
	inside string
	// placeholders are fields with tokens that stand for images and sound, and their defaults. In a
	// text these enter as padding.
	placeholders map[string]int
	// images makes the reader of images, whose soft tokens have dim features, for the text that
	// text_config describes; nil: images are not computed.
	images func(c *Checkpoint, text configuration.Document, dim int) (*ImageReader, error)
}

// registerWrapper makes folders of a model type open for their text.
func registerWrapper(modelType string, w wrapper) {
	Register(w.open, modelType)
	if w.head == "ForConditionalGeneration" {
		Describe(Traits{Use: UseText}, modelType)
	}
}

func init() {
	registerWrapper("mistral3", wrapper{
		kinds: []string{"mistral", "ministral3"}, head: "ForConditionalGeneration", tied: "true", towers: visionTower,
		fields: []string{"vision_config", "image_token_index", "image_token_id", "projector_hidden_act", "vision_feature_layer", "multimodal_projector_bias", "spatial_merge_size"},
	})
}

// visionTower are the tensors of a tower of images and of the projection to the text's width, by
// the names of transformers 4 and 5.
var visionTower = []string{"vision_tower.*", "multi_modal_projector.*", "model.vision_tower.*", "model.multi_modal_projector.*"}

// ofModelType returns an error if d says that it is of a model type other than kinds.
func ofModelType(d configuration.Document, kinds ...string) error {
	kind := kinds[0]
	if d.Has("model_type") && (d.Field("model_type", &kind) != nil || !slices.Contains(kinds, kind)) {
		return d.Errorf("model_type", "want %q", kinds[0])
	}
	return nil
}

// ignoreImageHead leaves out the head of an encoder like SigLIP's, which would pool hidden states.
func (c *Checkpoint) ignoreImageHead() {
	c.Loader.Ignore("model.vision_tower.head.*", "model.vision_tower.vision_model.head.*", "vision_tower.vision_model.head.*", "vision_tower.head.*")
}

func (w wrapper) open(c *Checkpoint) (*Model, error) {
	for _, field := range w.fields {
		c.doc.Note(field)
	}
	if c.Config.Head() != w.head {
		return nil, c.unknownHead()
	}
	inner := *c
	inner.Config.Architectures = []string{"TextModel"}
	if w.head != "Model" {
		inner.Config.Architectures = []string{"TextForCausalLM"}
	}
	kind, err := "", error(nil)
	if inner.doc, kind, err = w.text(c.doc); err != nil {
		return nil, err
	}
	tokens, err := common(inner.doc, configuration.Document{})
	if err != nil {
		return nil, err
	}
	if inner.instead, err = w.padding(c.doc, inner.doc, tokens.PadToken); err != nil {
		return nil, err
	}
	inner.Config.inheritTokens(tokens)
	inner.Config.ModelType = kind
	c.Loader.Rename(w.names(c.Loader))
	reads := c.options.Images && w.images != nil
	for _, pattern := range w.towers {
		if !reads || strings.Contains(pattern, "audio") {
			c.Loader.Ignore(pattern)
		}
	}
	build, _ := builderOf(kind)
	m, err := build(&inner)
	if err == nil && reads {
		m.Images, err = w.images(c, inner.doc, inner.Config.Dim)
	}
	inner.Config.ModelType, inner.Config.Architectures = c.Config.ModelType, c.Config.Architectures
	c.Config = inner.Config
	return m, err
}

// text is text_config with the fields that hold for it, and its model type.
func (w wrapper) text(d configuration.Document) (text configuration.Document, kind string, err error) {
	if text, err = d.Sub("text_config"); err != nil {
		return text, "", err
	}
	const field, tied = "model_type", "tie_word_embeddings"
	kind = w.kinds[0]
	if text.Has(field) {
		if err := text.Field(field, &kind); err != nil {
			return text, "", err
		}
	}
	if !slices.Contains(w.kinds, kind) {
		return text, "", text.Errorf(field, "want %q", strings.Join(w.kinds, `" or "`))
	}
	text.AsClass(kind)
	text = text.With(field, strconv.Quote(kind)).Without(w.unread...)
	if w.tied == "" {
		return text, kind, nil
	}
	said := w.tied
	for _, field := range append([]string{tied}, w.tiedToo...) {
		d.Note(field)
		if raw, ok := d.Raw(field); ok && d.Has(field) {
			said = string(raw)
		}
	}
	return text.With(tied, said), kind, nil
}

// padding returns the tokens that stand for images and sound, and the token that they are in a
// text.
func (w wrapper) padding(d, text configuration.Document, pad int) (map[int]int, error) {
	const field = "pad_token_id"
	if len(w.placeholders) > 0 && text.IsNull(field) {
		return nil, text.Errorf(field, "want a token, which stands for images and sound")
	}
	instead := map[int]int{}
	for name, token := range w.placeholders {
		d.Note(name)
		if d.IsNull(name) {
			continue
		}
		if d.Has(name) {
			if err := d.Field(name, &token); err != nil {
				return nil, err
			}
		}
		instead[token] = max(pad, 0) // where text_config does not say: the class's default
	}
	return instead, nil
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

// names returns a function from the names that a model of text has by itself, and its towers, to
// those of the tensors. Transformers 4 puts the text with its head under one prefix, transformers 5
// puts the head beside it; a model without a head has no further prefix.
func (w wrapper) names(l *transformer.Loader) func(name string) string {
	inside := cmp.Or(w.inside, "language_model") + "."
	body, head := "model."+inside, ""
	switch {
	case l.Has(inside + "model.embed_tokens.weight"):
		body, head = inside+"model.", inside
	case l.Has(inside + "embed_tokens.weight"):
		body, head = inside, inside
	}
	towers := "model."
	if l.Has("vision_tower.patch_embedder.input_proj.weight") || l.Has("multi_modal_projector.mm_input_projection_weight") {
		towers = ""
	}
	return func(name string) string {
		if rest, ok := strings.CutPrefix(name, "model."); ok {
			return body + rest
		}
		for _, tower := range w.towers {
			if own := strings.TrimSuffix(tower, "*"); strings.HasPrefix(name, own) {
				return towers + name
			}
		}
		return head + name
	}
}
