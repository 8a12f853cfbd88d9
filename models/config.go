package models

import (
	"strings"

	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models/internal/configuration"
)

// What all configurations say.

// Config has the fields that the configurations of all architectures have, under one name each.
type Config struct {
	ModelType     string
	Architectures []string // classes of transformers, the first of which decides about heads
	Vocab         int      // number of tokens
	Dim           int      // width of the hidden states
	Layers        int
	MaxLength     int      // the most tokens of a sequence; 0: not limited
	Labels        []string // of a classifier, by index
	MultiLabel    bool     // each label on its own, not one of all

	// Tokens with a meaning of their own; -1 where there is none.
	PadToken, BOSToken, DecoderStart int
	EOSTokens                        []int // that end a text
}

// Head returns the end of the first architecture's name that tells the head, such as
// "ForSequenceClassification", "LMHeadModel" or "MTModel"; "Model" is without head, as are all
// other names.
func (c *Config) Head() string {
	name := "Model"
	if len(c.Architectures) > 0 {
		name = c.Architectures[0]
	}
	if at := strings.LastIndex(name, "For"); at > 0 {
		return name[at:]
	}
	for _, end := range []string{"LMHeadModel", "MTModel"} {
		if strings.HasSuffix(name, end) {
			return end
		}
	}
	return "Model"
}

// tokenFields are the tokens with a meaning of their own.
type tokenFields struct {
	Pad   int                                 `json:"pad_token_id" min:"-1"`
	BOS   configuration.TokenID               `json:"bos_token_id" min:"-1"`
	Start int                                 `json:"decoder_start_token_id" min:"-1"`
	EOS   pyjson.OneOr[configuration.TokenID] `json:"eos_token_id"`
}

// common reads what all configurations have. generation, which may be empty, goes before
// config.json in what concerns generation.
func common(d, generation configuration.Document) (Config, error) {
	raw := struct {
		ModelType     string               `json:"model_type"`
		Architectures []string             `json:"architectures"`
		Labels        configuration.Labels `json:"id2label"`
		LabelCount    int                  `json:"num_labels" min:"0"`
		Problem       any                  `json:"problem_type"` // transformers compares it with names: a value that is not a string equals none of them
		tokenFields
	}{tokenFields: tokenFields{Pad: -1, BOS: -1, Start: -1}}
	if err := d.Decode(&raw); err != nil {
		return Config{}, err
	}
	if err := generation.Decode(&raw.tokenFields); err != nil {
		return Config{}, err
	}
	if raw.ModelType == "" && d.Has("architecture") { // timm's: vit_base_patch16_224
		var name string
		if err := d.Field("architecture", &name); err != nil {
			return Config{}, err
		}
		raw.ModelType, _, _ = strings.Cut(name, "_")
	}
	if raw.ModelType == "" {
		return Config{}, d.ErrorWith("model_type", "", "missing")
	}
	c := Config{
		ModelType: raw.ModelType, Architectures: raw.Architectures, MultiLabel: raw.Problem == "multi_label_classification",
		PadToken: raw.Pad, BOSToken: int(raw.BOS), DecoderStart: raw.Start,
	}
	for _, id := range raw.EOS {
		c.EOSTokens = append(c.EOSTokens, int(id))
	}
	c.Labels = raw.Labels
	if d.Has("num_labels") && len(raw.Labels) != raw.LabelCount { // the names are then those of transformers
		if raw.LabelCount > configuration.MostLabels {
			return c, d.Errorf("num_labels", "want at most %d", configuration.MostLabels)
		}
		c.Labels = configuration.LabelNames(raw.LabelCount)
	}
	return c, nil
}
