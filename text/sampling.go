// This file has the options for choosing tokens.

package text

import (
	"math"
	"slices"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/grammar"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/settings"
	"github.com/avoformer/avoformer/text/internal/stream"
)

// GenerateOptions says how text is generated. The zero value takes the most likely token each time,
// whatever the files of the model recommend: small models then repeat themselves.
// [Generator.Defaults] returns what the files recommend. What else the folder's
// generation_config.json says holds in any case: penalties, minimal lengths, tokens that are forced
// or forbidden.
type GenerateOptions struct {
	MaxTokens int // the most new tokens; 0: what the folder says, or 256
	// Sampling says how to draw each token. The zero value is greedy.
	generation.Sampling
	// Beams is the width of the search for the most likely text; 0 and 1 choose token by token. A
	// search does not sample, and yields the text at its end.
	Beams int
	// RepetitionPenalty makes tokens that were there less likely, and NoRepeatNgram forbids so many
	// in the same order; 0: what the folder says. A penalty of 1 and a length of -1 turn them off.
	RepetitionPenalty float64
	NoRepeatNgram     int
	// FrequencyPenalty, PresencePenalty and LogitBias are as [generation.Rules] has them.
	FrequencyPenalty float64         `json:",omitempty"`
	PresencePenalty  float64         `json:",omitempty"`
	LogitBias        map[int]float64 `json:",omitempty"`
	// MinTokens is the least number of new tokens: before, none of the tokens comes that end texts.
	// Stop strings end the text all the same. 0: what the folder says.
	MinTokens int `json:",omitempty"`
	// IgnoreEOS continues after the tokens with which the model ends texts, up to MaxTokens or the
	// end of the context.
	IgnoreEOS bool `json:",omitempty"`
	// StopTokens are the ids of further tokens that end the text, which does not include them.
	StopTokens []int `json:",omitempty"`
	// BadWords are strings that the text does not have: the last token of a word, alone or after a
	// space, does not follow the others. Other tokens that spell the same are not found.
	BadWords []string `json:",omitempty"`
	// Stop is strings that end the text, which is then what comes before them, or with KeepStop
	// ends with the one that came.
	Stop     []string
	KeepStop bool `json:",omitempty"`
	// Markers are special tokens that the text has although it has no others, such as what
	// [answer.Format.Markers] gives, for an [answer.Parser].
	Markers []string
	// Adapter, unless empty, is the name of an adapter, Name of a models.Adapter, that the text is
	// generated with.
	Adapter string `json:",omitempty"`
	// LogProbs asks for the log probability of each token, and for as many of the most likely
	// tokens beside it as TopLogProbs says; see [Piece].
	LogProbs    bool
	TopLogProbs int
	// Images are the files of images, of the kinds that [ImageClassifier] takes, in the order of
	// their placeholders in the prompt: those that a chat template writes for parts of the type
	// image. See [Generator.ReadsImages].
	Images [][]byte `json:"-"`
	// Literal makes control tokens that users write plain text in Chat and Answer, as
	// [PromptOptions].Literal says. For [Generator.ContinuePrompt] it must be set if
	// [Generator.Prompt] made the prompt with that option, and only then.
	Literal bool `json:",omitempty"`
	// Hook, unless nil, changes the logits before anything else does.
	Hook generation.LogitHook `json:"-"`
	// Grammar, unless nil, is what the text has to follow, up to a stop string that cuts it: that
	// of a JSON schema, a regular expression or GBNF. A text that MaxTokens or the context cut
	// before it was whole ends with an fault.ErrCut after its last piece.
	Grammar *grammar.Grammar `json:"-"`
}

// ends returns the strings that end a text.
func (o *GenerateOptions) ends() stream.Stops { return stream.Stops{Strings: o.Stop, Keep: o.KeepStop} }

// sampler returns the configuration of the sampler of a text.
func (o *GenerateOptions) sampler(rules *generation.Rules) generation.SamplerConfig {
	return generation.SamplerConfig{Sampling: o.Sampling, Rules: rules, Hook: o.Hook, LogProbs: o.LogProbs, TopLogProbs: o.TopLogProbs}
}

const defaultNewTokens = 256

func (o *GenerateOptions) check() error {
	if _, err := generation.NewSampler(generation.SamplerConfig{Vocab: 1, Sampling: o.Sampling}); err != nil { // which checks the numbers
		return err
	}
	for _, x := range []struct {
		name             string
		has, least, most float64
	}{
		{"MaxTokens", float64(o.MaxTokens), 0, math.MaxInt32}, {"Beams", float64(o.Beams), 0, 1024},
		{"RepetitionPenalty", o.RepetitionPenalty, 0, math.MaxFloat32}, {"NoRepeatNgram", float64(o.NoRepeatNgram), -1, math.MaxInt32},
		{"MinTokens", float64(o.MinTokens), 0, math.MaxInt32},
	} {
		if err := check.Between(x.name, x.has, x.least, x.most); err != nil {
			return err
		}
	}
	for _, x := range []struct {
		name string
		has  float64
	}{{"FrequencyPenalty", o.FrequencyPenalty}, {"PresencePenalty", o.PresencePenalty}} {
		if !(math.Abs(x.has) <= math.MaxFloat32) {
			return check.Option(x.name, x.has, "want a number")
		}
	}
	if o.TopLogProbs != 0 && !o.LogProbs {
		return check.Option("TopLogProbs", o.TopLogProbs, "without LogProbs")
	}
	if slices.Contains(o.Stop, "") {
		return check.Option("Stop", "", "an empty string")
	}
	if o.MaxTokens > 0 && o.MinTokens > o.MaxTokens {
		return check.Option("MinTokens", o.MinTokens, "want at most MaxTokens, which is %d", o.MaxTokens)
	}
	if o.Grammar != nil && (o.MinTokens > 0 || o.IgnoreEOS || len(o.StopTokens) > 0) {
		return check.Option("Grammar", "", "with MinTokens, IgnoreEOS or StopTokens: the grammar says where the text may end")
	}
	if slices.Contains(o.BadWords, "") {
		return check.Option("BadWords", "", "an empty string")
	}
	if o.Beams > 1 {
		return o.checkSearch()
	}
	return nil
}

// checkSearch returns an error for options that a search does not have.
func (o *GenerateOptions) checkSearch() error {
	for _, x := range []struct {
		name  string
		given bool
	}{
		{"LogProbs", o.LogProbs}, {"Hook", o.Hook != nil}, {"Adapter", o.Adapter != ""}, {"Grammar", o.Grammar != nil}, {"Sampling", o.Temperature != 0 || o.Filtered()},
		{"Images", len(o.Images) > 0},
	} {
		if x.given {
			return check.Option("Beams", o.Beams, "with %s: a search neither samples nor has log probabilities, a hook, an adapter, a grammar or images", x.name)
		}
	}
	return nil
}

// apply has rules, which are those of a folder, follow the options.
func (o *GenerateOptions) apply(r *generation.Rules) {
	r.LogitBias, r.FrequencyPenalty, r.PresencePenalty = o.LogitBias, o.FrequencyPenalty, o.PresencePenalty
	if o.RepetitionPenalty > 0 {
		r.RepetitionPenalty = o.RepetitionPenalty
	}
	if o.NoRepeatNgram != 0 {
		r.NoRepeatNgram = max(o.NoRepeatNgram, 0)
	}
	if o.MinTokens > 0 {
		r.MinNewTokens, r.MinLength = o.MinTokens, 0
	}
}

// defaultsOf returns the options that the settings state.
func defaultsOf(s *settings.Settings) (GenerateOptions, error) {
	o := GenerateOptions{MaxTokens: settings.Or(s.MaxNew, 0), Stop: s.Stop, Beams: s.Beams, RepetitionPenalty: settings.Or(s.Repetition, 1), NoRepeatNgram: s.Ngram}
	if s.Sample {
		// What transformers has without a value.
		o.Sampling = generation.Sampling{Temperature: 1, TopK: 50, TopP: 1, TypicalP: 1}
		s.Sampling.Apply(&o.Sampling)
		if s.Unsampled != nil {
			return o, s.Unsampled
		}
	}
	if err := o.check(); err != nil {
		return o, folder.FileError(s.File, "", "", "%w", err)
	}
	return o, nil
}
