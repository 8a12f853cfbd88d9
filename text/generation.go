// What a folder says about generating: generation_config.json.

package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
)

// settings is generation_config.json, or without one those fields of config.json. A field
// that transformers' generate acts on is applied as there, or an error that names it.
type settings struct {
	file string // that it was read from

	MaxLength  *int                 `json:"max_length"`
	MaxNew     *int                 `json:"max_new_tokens"`
	MinLength  int                  `json:"min_length"`
	MinNew     *int                 `json:"min_new_tokens"`
	Stop       pyjson.OneOr[string] `json:"stop_strings"`
	Beams      int                  `json:"num_beams"`
	Penalty    *float64             `json:"length_penalty"`
	Early      json.RawMessage      `json:"early_stopping"`
	early      generation.EarlyStopping
	Sample     bool              `json:"do_sample"`
	Temp       *float64          `json:"temperature"`
	TopK       *int              `json:"top_k"`
	TopP       *float64          `json:"top_p"`
	MinP       *float64          `json:"min_p"`
	TypicalP   *float64          `json:"typical_p"`
	Repetition *float64          `json:"repetition_penalty"`
	EncoderRep *float64          `json:"encoder_repetition_penalty"`
	Ngram      int               `json:"no_repeat_ngram_size"`
	EncNgram   int               `json:"encoder_no_repeat_ngram_size"`
	Bad        [][]int           `json:"bad_words_ids"`
	Bias       []bias            `json:"sequence_bias"`
	ForcedBOS  *int              `json:"forced_bos_token_id"`
	ForcedEOS  pyjson.OneOr[int] `json:"forced_eos_token_id"`
	Invalid    bool              `json:"remove_invalid_values"`
	Decay      []float64         `json:"exponential_decay_length_penalty"`
	Suppress   []int             `json:"suppress_tokens"`
	Begin      []int             `json:"begin_suppress_tokens"`
	Normalize  bool              `json:"renormalize_logits"`

	// Of speech.
	Language string    `json:"language"`
	Task     string    `json:"task"`
	Forced   [][2]*int `json:"forced_decoder_ids"`
	MaxTime  *int      `json:"max_initial_timestamp_index"`
	sampling error     // why sampling as the folder says is not possible
}

// bias is [[tokens...], number].
type bias generation.SequenceBias

func (b *bias) UnmarshalJSON(data []byte) error {
	var pair [2]json.RawMessage
	if err := pyjson.Unmarshal(data, &pair); err != nil {
		return err
	}
	if string(pair[0]) == "null" || string(pair[1]) == "null" {
		return errors.New("sequence_bias: want tokens and a number")
	}
	return errors.Join(pyjson.Unmarshal(pair[0], &b.Tokens), pyjson.Unmarshal(pair[1], &b.Bias))
}

// refused are fields of generation that are not supported, with the values besides null
// that ask for nothing; those of sampling matter if the folder samples.
var (
	refused = map[string][]string{
		"num_return_sequences": {"1"}, "num_beam_groups": {"1"}, "diversity_penalty": {"0", "0.0"}, "penalty_alpha": {"0", "0.0"}, "guidance_scale": {"1", "1.0"},
		"watermarking_config": {}, "constraints": {}, "force_words_ids": {}, "dola_layers": {}, "max_time": {}, "token_healing": {"false"}, "return_timestamps": {"false"},
	}
	refusedSampling = map[string][]string{"top_h": {}, "epsilon_cutoff": {"0", "0.0"}, "eta_cutoff": {"0", "0.0"}}
)

// readSettings reads what the folder says about generating.
func (f *folder) readSettings() error {
	s := &settings{file: "generation_config.json"}
	data, err := regular.ReadFile(f.fsys, s.file)
	if errors.Is(err, fs.ErrNotExist) {
		s.file = "config.json"
		data, err = regular.ReadFile(f.fsys, s.file)
	}
	f.settings = s
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a GGUF file
	} else if err != nil {
		return check.InFile(s.file, ErrFolder, err)
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(pyjson.Unmarshal(data, &fields), pyjson.Unmarshal(data, s)); err != nil {
		return jsonError(s.file, err)
	}
	if err := s.refuse(fields, refused); err != nil {
		return err
	}
	if s.file == "generation_config.json" {
		if err := s.account(f, fields); err != nil {
			return err
		}
	}
	if s.Sample {
		s.sampling = s.refuse(fields, refusedSampling)
		if s.Beams > 1 {
			s.sampling = s.errorf("num_beams", s.Beams, "not supported with do_sample")
		}
		for _, x := range []struct {
			name  string
			value *float64
		}{{"temperature", s.Temp}, {"typical_p", s.TypicalP}} { // of which 0 says something else in GenerateOptions
			if x.value != nil && *x.value == 0 {
				s.sampling = s.errorf(x.name, 0, "with do_sample, want a number above 0")
			}
		}
	}
	return s.check(f)
}

// idle are fields of generation_config.json without effect on which tokens are chosen here: what generate returns, how it keeps
// its past and makes proposals, tokens that models.Open reads, and what of Whisper the vocabulary says.
var idle = []string{
	"transformers_version", "use_cache", "output_attentions", "output_hidden_states", "output_logits", "output_scores", "return_dict_in_generate",
	"assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight", "assistant_lookbehind", "is_assistant", "max_matching_ngram_size", "num_assistant_tokens",
	"num_assistant_tokens_schedule", "prompt_lookup_num_tokens", "speculation_type", "target_lookbehind", "use_mtp",
	"cache_config", "cache_implementation", "compile_config", "continuous_batching_config", "disable_compile", "low_memory", "max_cache_len", "prefill_chunk_size",
	"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id",
	"alignment_heads", "is_multilingual", "lang_to_id", "task_to_id", "no_timestamps_token_id", "prev_sot_token_id", "median_filter_width",
}

// account warns about fields that transformers does not know.
func (s *settings) account(f *folder, fields map[string]json.RawMessage) error {
	read := account.Tags(*s)
	for _, by := range []map[string][]string{refused, refusedSampling} {
		for name := range by {
			read[name] = true
		}
	}
	warnings, err := account.Settle(account.Classes["GenerationConfig"], fields, read, idle)
	for _, w := range warnings {
		f.warning(s.file + ": " + w)
	}
	if err != nil {
		return check.InFile(s.file, ErrConfig, err)
	}
	return nil
}

func (s *settings) errorf(field string, value any, format string, args ...any) error {
	return fileError(s.file, field, fmt.Sprint(value), format, args...)
}

func (s *settings) refuse(fields map[string]json.RawMessage, by map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(by)) {
		harmless := by[name]
		if v, ok := fields[name]; ok && string(v) != "null" && !slices.Contains(harmless, string(v)) {
			return s.errorf(name, check.JSON(v), "not supported")
		}
	}
	return nil
}

// check reports values that mean nothing.
func (s *settings) check(f *folder) error {
	vocab := f.model.LM.Vocab()
	token := func(name string, ids ...int) error {
		for _, id := range ids {
			if id < 0 || id >= vocab {
				return s.errorf(name, id, "want a token below %d", vocab)
			}
		}
		return nil
	}
	for _, x := range []struct {
		name  string
		value *float64
	}{{"repetition_penalty", s.Repetition}, {"encoder_repetition_penalty", s.EncoderRep}} {
		if p := x.value; p != nil && !(*p > 0 && *p < math.MaxFloat32) {
			return s.errorf(x.name, *p, "want a number above 0")
		}
	}
	for _, x := range []struct {
		name  string
		value int
	}{
		{"no_repeat_ngram_size", s.Ngram}, {"encoder_no_repeat_ngram_size", s.EncNgram}, {"min_length", s.MinLength}, {"min_new_tokens", number(s.MinNew, 0)},
		{"max_length", number(s.MaxLength, 0)}, {"max_new_tokens", number(s.MaxNew, 0)}, {"num_beams", s.Beams},
	} {
		if x.value < 0 {
			return s.errorf(x.name, x.value, "want at least 0")
		}
	}
	for i, words := range [][][]int{s.Bad, s.biased()} {
		name := [...]string{"bad_words_ids", "sequence_bias"}[i]
		for _, word := range words {
			if len(word) == 0 {
				return s.errorf(name, word, "a sequence without tokens")
			}
			if err := token(name, word...); err != nil {
				return err
			}
		}
	}
	if s.ForcedBOS != nil {
		if err := token("forced_bos_token_id", *s.ForcedBOS); err != nil {
			return err
		}
	}
	if n := len(s.Decay); n != 0 && (n != 2 || s.Decay[0] != math.Trunc(s.Decay[0]) || s.Decay[0] < 0 || s.Decay[0] > math.MaxInt32 || !(s.Decay[1] > 0)) {
		return s.errorf("exponential_decay_length_penalty", s.Decay, "want a number of tokens and a factor")
	}
	switch string(s.Early) {
	case "", "null", "false":
		s.early = generation.EarlyLikely
	case "true":
		s.early = generation.EarlyAlways
	case `"never"`:
		s.early = generation.EarlyNever
	default:
		return s.errorf("early_stopping", check.JSON(s.Early), "want true, false or \"never\"")
	}
	for _, place := range []int{1, 2} {
		if id := s.forced(place); id != -1 {
			if err := token("forced_decoder_ids", id); err != nil {
				return err
			}
		}
	}
	return token("forced_eos_token_id", s.ForcedEOS...)
}

// forced is the token that old configurations of speech have at a place of the prompt, or
// -1; the newer fields go before them.
func (s *settings) forced(place int) int {
	for _, f := range s.Forced {
		if s.Language == "" && s.Task == "" && f[0] != nil && *f[0] == place && f[1] != nil {
			return *f[1]
		}
	}
	return -1
}

func (s *settings) biased() [][]int {
	words := make([][]int, len(s.Bias))
	for i, b := range s.Bias {
		words[i] = b.Tokens
	}
	return words
}

// number is a setting, or what holds without one.
func number[T any](p *T, without T) T {
	if p == nil {
		return without
	}
	return *p
}

// defaults are the options that the settings state.
func (s *settings) defaults() (GenerateOptions, error) {
	o := GenerateOptions{MaxTokens: number(s.MaxNew, 0), Stop: s.Stop, Beams: s.Beams, RepetitionPenalty: number(s.Repetition, 1), NoRepeatNgram: s.Ngram}
	if s.Sample {
		// Without a value, transformers has 1 and 50.
		o.Temperature, o.TopK, o.TopP = number(s.Temp, 1), number(s.TopK, 50), number(s.TopP, 1)
		o.MinP, o.TypicalP = number(s.MinP, 0), number(s.TypicalP, 1)
		if o.TopP == 0 { // there, one token is left; here, all would be
			o.TopP = math.SmallestNonzeroFloat64
		}
		if s.sampling != nil {
			return o, s.sampling
		}
	}
	if err := o.check(); err != nil {
		return o, fileError(s.file, "", "", "%w", err)
	}
	return o, nil
}

// rules are the settings' for a text, with the options' in their place. source is what an encoder got, or without one the
// prompt; nil for sound.
func (s *settings) rules(o *GenerateOptions, eos, source []int) *generation.Rules {
	r := &generation.Rules{
		EncoderRepetitionPenalty: number(s.EncoderRep, 0), RepetitionPenalty: number(s.Repetition, 0), NoRepeatNgram: s.Ngram, EncoderNoRepeatNgram: s.EncNgram,
		BadWords: s.Bad, MinLength: s.MinLength, MinNewTokens: number(s.MinNew, 0), ForcedEOS: s.ForcedEOS, RemoveInvalid: s.Invalid,
		SuppressTokens: s.Suppress, BeginSuppressTokens: s.Begin, Renormalize: s.Normalize, EOS: eos, Encoder: source,
		LogitBias: o.LogitBias, FrequencyPenalty: o.FrequencyPenalty, PresencePenalty: o.PresencePenalty,
	}
	if s.MinNew != nil {
		r.MinLength = 0 // which min_new_tokens goes before, 0 too
	}
	for _, b := range s.Bias {
		r.SequenceBias = append(r.SequenceBias, generation.SequenceBias(b))
	}
	if len(s.Decay) == 2 {
		r.DecayStart, r.ExponentialDecay = int(s.Decay[0]), s.Decay[1]
	}
	if o.RepetitionPenalty > 0 {
		r.RepetitionPenalty = o.RepetitionPenalty
	}
	if o.NoRepeatNgram != 0 {
		r.NoRepeatNgram = max(o.NoRepeatNgram, 0)
	}
	if source == nil { // which what concerns an encoder's tokens needs
		r.EncoderRepetitionPenalty, r.EncoderNoRepeatNgram = 0, 0
	}
	if s.ForcedBOS != nil {
		r.ForcedBOS = []int{*s.ForcedBOS}
	}
	return r
}

// room is how many tokens may follow a prompt: wanted, or without that what the settings
// say, and no more than the context has room for.
func (f *folder) room(prompt, wanted int) (int, error) {
	s := f.settings
	switch {
	case wanted > 0:
	case s.MaxNew != nil && *s.MaxNew > 0:
		wanted = *s.MaxNew
	case s.MaxLength != nil && *s.MaxLength > 0:
		if wanted = *s.MaxLength - prompt; wanted < 1 {
			return 0, fmt.Errorf("%w: a prompt of %d, and %s: max_length = %d counts it", ErrTooLong, prompt, s.file, *s.MaxLength)
		}
	default:
		wanted = defaultNewTokens
	}
	if f.limit == 0 {
		return wanted, nil
	}
	if prompt >= f.limit {
		return 0, fmt.Errorf("%w: a prompt of %d in a context of %d", ErrTooLong, prompt, f.limit)
	}
	return min(wanted, f.limit-prompt), nil
}
