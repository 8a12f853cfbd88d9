// Translations, summaries and texts.

package huggingface

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/serve/internal/chat"
	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
	"github.com/avoformer/avoformer/text"
)

// newTokens is the most new tokens of a text if neither the request nor the folder gives a number,
// as text-generation-inference documents it.
const newTokens = 100

// sampling says how tokens are chosen, with transformers' names. A field that is nil has the value
// of the folder's generation_config.json.
type sampling struct {
	MaxTokens   *int     `json:"max_new_tokens"`
	Sample      *bool    `json:"do_sample"`
	Temperature *float64 `json:"temperature"`
	TopK        *int     `json:"top_k"`
	TopP        *float64 `json:"top_p"`
	TypicalP    *float64 `json:"typical_p"`
	Repetition  *float64 `json:"repetition_penalty"`
	Seed        *uint64  `json:"seed"`
}

// check refuses numbers that mean nothing.
func (s *sampling) check() error {
	for _, x := range []struct {
		name string
		n    *int
	}{{"max_new_tokens", s.MaxTokens}, {"top_k", s.TopK}} {
		if x.n != nil && *x.n < 1 {
			return engine.Errorf(engine.Invalid, "%s %d, want at least 1", x.name, *x.n).At(x.name)
		}
	}
	for _, x := range []struct {
		name string
		x    *float64
		most float64
	}{{"temperature", s.Temperature, 100}, {"top_p", s.TopP, 1}, {"typical_p", s.TypicalP, 1}, {"repetition_penalty", s.Repetition, 100}} {
		if x.x != nil && !(*x.x > 0 && *x.x <= x.most) {
			return engine.Errorf(engine.Invalid, "%s %g, want more than 0 and at most %g", x.name, *x.x, x.most).At(x.name)
		}
	}
	if s.Seed != nil && *s.Seed == 0 {
		return engine.Errorf(engine.Invalid, "seed 0, want at least 1").At("seed")
	}
	if s.Sample != nil && !*s.Sample && s.random() {
		return engine.Errorf(engine.Invalid, "do_sample is false, which temperature, top_k, top_p and typical_p contradict").At("do_sample")
	}
	return nil
}

// random reports whether something is given that only a choice at random heeds.
func (s *sampling) random() bool {
	return s.stated().Any()
}

func (s *sampling) stated() *overrides.Sampling {
	return &overrides.Sampling{Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, TypicalP: s.TypicalP}
}

// apply changes the options of the folder.
func (s *sampling) apply(o *text.GenerateOptions) {
	s.stated().Apply(&o.Sampling)
	if s.Repetition != nil {
		o.RepetitionPenalty = *s.Repetition
	}
	if s.MaxTokens != nil {
		o.MaxTokens = *s.MaxTokens
	}
	if s.Seed != nil {
		o.Seed = *s.Seed
	}
	switch {
	case s.Sample != nil && !*s.Sample:
		o.Temperature = 0
	case s.Sample != nil || s.random():
		o.Beams = 0
		if o.Temperature == 0 {
			o.Temperature = 1
		}
	}
}

// translate answers with the model's output for each text. The folder does not say whether the
// model translates or summarizes: the text has the names of both answers, and each client reads its
// own.
func (p protocol) translate(c *wire.Call, model string, body []byte) error {
	var in task
	var how struct {
		Language string          `json:"tgt_lang"`
		Source   json.RawMessage `json:"src_lang"`
		Generate struct {
			sampling
			Beams  *int `json:"num_beams"`
			Repeat *int `json:"no_repeat_ngram_size"`
		} `json:"generate_parameters"`
	}
	if err := in.read(c, body, &how); err != nil {
		return err
	}
	if !wire.IsNull(how.Source) {
		return engine.Errorf(engine.Invalid, "src_lang is not supported here: texts are in the language that the tokenizer is set to").At("src_lang")
	}
	g := &how.Generate
	if err := g.check(); err != nil {
		return err
	}
	switch {
	case g.Beams != nil && *g.Beams < 1:
		return engine.Errorf(engine.Invalid, "num_beams %d, want at least 1", *g.Beams).At("num_beams")
	case g.Beams != nil && *g.Beams > 1 && (g.random() || g.Sample != nil && *g.Sample):
		return engine.Errorf(engine.Invalid, "num_beams %d with a choice at random is not supported here", *g.Beams).At("num_beams")
	case g.Repeat != nil && *g.Repeat < 0:
		return engine.Errorf(engine.Invalid, "no_repeat_ngram_size %d, want at least 0", *g.Repeat).At("no_repeat_ngram_size")
	}
	texts, err := p.engine.Translate(c.Context(), model, in.texts(), func(o *text.TranslateOptions) error {
		o.Language = how.Language
		g.apply(&o.GenerateOptions)
		if g.Beams != nil {
			o.Beams = *g.Beams
		}
		if g.Repeat != nil {
			if o.NoRepeatNgram = *g.Repeat; o.NoRepeatNgram == 0 {
				o.NoRepeatNgram = -1
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	type answer struct {
		Translation string `json:"translation_text"`
		Summary     string `json:"summary_text"`
	}
	out := make([]answer, len(texts))
	for i, t := range texts {
		out[i] = answer{t, t}
	}
	return c.WriteJSON(http.StatusOK, out)
}

// generationParameters says what a text is to be.
type generationParameters struct {
	sampling
	Full      bool       `json:"return_full_text"`
	Stop      wire.Stops `json:"stop"`
	Details   bool       `json:"details"`
	Frequency float64    `json:"frequency_penalty"`
	Grammar   *struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	} `json:"grammar"`
	// These fields would change the answer and are not supported.
	Prefill bool `json:"decoder_input_details"`
	Mark    bool `json:"watermark"`
	Top     *int `json:"top_n_tokens"`
	Cut     *int `json:"truncate"`
	BestOf  *int `json:"best_of"`
}

// check refuses what cannot be done.
func (how *generationParameters) check() error {
	for _, x := range []struct {
		name  string
		asked bool
	}{
		{"decoder_input_details", how.Prefill}, {"watermark", how.Mark}, {"top_n_tokens", how.Top != nil && *how.Top > 0}, {"truncate", how.Cut != nil},
		{"best_of", how.BestOf != nil && *how.BestOf != 1},
	} {
		if x.asked {
			return engine.Errorf(engine.Invalid, "%s is not supported here", x.name).At(x.name)
		}
	}
	if !(how.Frequency >= -2 && how.Frequency <= 2) {
		return engine.Errorf(engine.Invalid, "frequency_penalty %g, want -2 to 2", how.Frequency).At("frequency_penalty")
	}
	return how.sampling.check()
}

// generate answers with what follows a text, or a list of that for each of several.
func (p protocol) generate(c *wire.Call, model string, body []byte) error {
	in := task{streams: true}
	var how generationParameters
	if err := in.read(c, body, &how); err != nil {
		return err
	}
	if err := how.check(); err != nil {
		return err
	}
	prompts := in.texts()
	switch most := p.engine.Config().Batch; {
	case len(prompts) == 0:
		return engine.Errorf(engine.Empty, "no texts are given").At("inputs")
	case len(prompts) > most:
		return engine.Errorf(engine.TooLarge, "%d texts are given, at most %d are possible in one request", len(prompts), most).At("inputs")
	case in.Stream && !in.Inputs.One:
		return engine.Errorf(engine.Invalid, "a stream is for one text, inputs is a list").At("stream")
	}
	var format *chat.Format
	if how.Grammar != nil {
		var err error
		if format, err = chat.ValueFormat(how.Grammar.Type, how.Grammar.Value); err != nil {
			return engine.AsError(err).At("grammar")
		}
	}
	g, err := p.engine.Generator(c.Context(), model)
	if err != nil {
		return err
	}
	defer g.Release()
	o, err := g.Defaults()
	if err != nil {
		return err
	}
	how.apply(&o)
	if o.MaxTokens == 0 {
		o.MaxTokens = newTokens
	}
	if how.Stop != nil {
		o.Stop = how.Stop
	}
	o.FrequencyPenalty = how.Frequency
	if in.Stream || how.Details {
		o.Beams, o.LogProbs = 0, true // a search has no log probabilities
	}
	jobs := make([]chat.Job, len(prompts))
	a := author{tokenizer: g.Tokenizer(), seed: how.Seed, texts: make([]strings.Builder, len(prompts)), tokens: make([][]token, len(prompts)), ends: make([]chat.Event, len(prompts))}
	for i, prompt := range prompts {
		jobs[i] = chat.Job{Prompt: engine.Prompt{Text: prompt}, Options: o}
		jobs[i].Follow(format)
		if how.Full {
			a.texts[i].WriteString(prompt)
		}
	}
	events := chat.Run(c.Context(), g, jobs)
	if in.Stream {
		return a.stream(c, events)
	}
	return a.whole(c, events, in.Inputs.One, how.Details)
}
