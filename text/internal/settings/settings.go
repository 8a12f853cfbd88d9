// Package settings reads what a folder says about generating: generation_config.json.
package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/overrides"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/text/internal/folder"
)

// Settings is generation_config.json, or without one those fields of config.json. A field that
// transformers' generate acts on is applied as there, or an error that names it.
type Settings struct {
	File string `json:"-"` // that it was read from
	From string `json:"-"` // the file, or the keys of a GGUF file, that say how tokens are chosen; "" if nothing does

	MaxLength *int                     `json:"max_length"`
	MaxNew    *int                     `json:"max_new_tokens"`
	MinLength int                      `json:"min_length"`
	MinNew    *int                     `json:"min_new_tokens"`
	Stop      pyjson.OneOr[string]     `json:"stop_strings"`
	Beams     int                      `json:"num_beams"`
	Penalty   *float64                 `json:"length_penalty"`
	Early     json.RawMessage          `json:"early_stopping"`
	Stopping  generation.EarlyStopping `json:"-"` // by Early
	Sample    bool                     `json:"do_sample"`
	overrides.Sampling
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
	Language  string    `json:"language"`
	Task      string    `json:"task"`
	Forced    [][2]*int `json:"forced_decoder_ids"`
	MaxTime   *int      `json:"max_initial_timestamp_index"`
	Unsampled error     `json:"-"` // why sampling as the folder says is not possible
	// Of Whisper.
	Multilingual *bool          `json:"is_multilingual"`
	Languages    map[string]int `json:"lang_to_id"` // by their tokens; nil: absent
	Tasks        map[string]int `json:"task_to_id"`
	NoTimes      *int           `json:"no_timestamps_token_id"`
	Previous     *int           `json:"prev_sot_token_id"`
	OnPrevious   bool           `json:"condition_on_prev_tokens"`
	Times        bool           `json:"return_timestamps"`
	Alignment    [][2]int       `json:"alignment_heads"` // layers, and heads in these, whose attention tells the times of tokens
	Smoothing    int            `json:"-"`               // median_filter_width of config.json
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

// refused are fields of generation that are not supported, with the values besides null that ask
// for nothing; those of sampling matter if the folder samples.
var (
	refused = map[string][]string{
		"num_return_sequences": {"1"}, "num_beam_groups": {"1"}, "diversity_penalty": {"0", "0.0"}, "penalty_alpha": {"0", "0.0"}, "guidance_scale": {"1", "1.0"},
		"logprob_threshold": {}, "no_speech_threshold": {}, // which generate takes only as arguments: it ends with an error if a folder has them
		"watermarking_config": {}, "constraints": {}, "force_words_ids": {}, "dola_layers": {}, "max_time": {}, "token_healing": {"false"},
	}
	refusedSampling = map[string][]string{"top_h": {}}
	// refusedWithin are fields of sampling that ask for nothing unless they are between 0 and 1.
	refusedWithin = []string{"epsilon_cutoff", "eta_cutoff"}
)

// Read reads what a folder says about generating. Tokens are below vocab; warnings go to warn.
func Read(fsys fs.FS, vocab int, warn func(warning string)) (*Settings, error) {
	if g, ok := fsys.(folder.GGUF); ok {
		return readGGUF(g.Path, vocab, warn)
	}
	s := &Settings{File: "generation_config.json"}
	data, err := regular.ReadFile(fsys, s.File)
	if errors.Is(err, fs.ErrNotExist) {
		s.File = "config.json"
		data, err = regular.ReadFile(fsys, s.File)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil // neither file
	} else if err != nil {
		return nil, check.InFile(s.File, fault.ErrFolder, err)
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(pyjson.Unmarshal(data, &fields), pyjson.Unmarshal(data, s)); err != nil {
		return nil, folder.JSONError(s.File, err)
	}
	if err := s.refuse(fields, refused); err != nil {
		return nil, err
	}
	if s.File == "generation_config.json" {
		if err := s.account(fields, warn); err != nil {
			return nil, err
		}
		if err := s.readConfig(fsys); err != nil {
			return nil, err
		}
	}
	s.From = s.File
	if s.Sample {
		s.Unsampled = s.refuse(fields, refusedSampling)
		for _, name := range refusedWithin {
			var x float64
			if pyjson.Unmarshal(fields[name], &x) == nil && !(x <= 0 || x >= 1) {
				s.Unsampled = s.Errorf(name, x, "not supported")
			}
		}
		if s.Beams > 1 {
			s.Unsampled = s.Errorf("num_beams", s.Beams, "not supported with do_sample")
		}
		for _, x := range []struct {
			name  string
			value *float64
		}{{"temperature", s.Temperature}, {"typical_p", s.TypicalP}} { // of which 0 says something else in GenerateOptions
			if x.value != nil && *x.value == 0 {
				s.Unsampled = s.Errorf(x.name, 0, "with do_sample, want a number above 0")
			}
		}
	}
	return s, s.check(vocab)
}

// readConfig reads what transformers takes from config.json beside generation_config.json.
func (s *Settings) readConfig(fsys fs.FS) error {
	config := struct {
		Forced    [][2]*int `json:"forced_decoder_ids"`
		Smoothing int       `json:"median_filter_width"`
	}{Smoothing: 7}
	data, err := regular.ReadFile(fsys, "config.json")
	if err == nil {
		err = pyjson.Unmarshal(data, &config)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return folder.JSONError("config.json", err)
	}
	if s.Forced == nil {
		s.Forced = config.Forced
	}
	if s.Smoothing = config.Smoothing; s.Alignment != nil && (s.Smoothing < 1 || s.Smoothing%2 == 0 || s.Smoothing > mostSmoothing) {
		return folder.FileError("config.json", "median_filter_width", fmt.Sprint(s.Smoothing), "want an odd number up to %d", mostSmoothing)
	}
	return nil
}

// mostSmoothing bounds the memory that a folder can ask for.
const mostSmoothing = 1001

// idle are fields of generation_config.json without effect on which tokens are chosen here: what
// generate returns, how it keeps its past and makes proposals, tokens that models.Open reads, and
// of Whisper the threshold above which generate tries the next temperature: a folder has no
// temperatures.
var idle = []string{
	"transformers_version", "use_cache", "output_attentions", "output_hidden_states", "output_logits", "output_scores", "return_dict_in_generate",
	"assistant_confidence_threshold", "assistant_early_exit", "assistant_ensemble_weight", "assistant_lookbehind", "is_assistant", "max_matching_ngram_size", "num_assistant_tokens",
	"num_assistant_tokens_schedule", "prompt_lookup_num_tokens", "speculation_type", "target_lookbehind", "use_mtp",
	"cache_config", "cache_implementation", "compile_config", "continuous_batching_config", "disable_compile", "low_memory", "max_cache_len", "prefill_chunk_size",
	"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id",
	"median_filter_width", "compression_ratio_threshold",
}

// account warns about fields that transformers does not know.
func (s *Settings) account(fields map[string]json.RawMessage, warn func(warning string)) error {
	read := account.Tags(*s)
	for _, name := range slices.Concat(slices.Collect(maps.Keys(refused)), slices.Collect(maps.Keys(refusedSampling)), refusedWithin) {
		read[name] = true
	}
	warnings, err := account.Settle(pyclass.File("GenerationConfig"), fields, read, idle)
	for _, w := range warnings {
		warn(s.File + ": " + w)
	}
	if err != nil {
		return check.InFile(s.File, fault.ErrConfig, err)
	}
	return nil
}

// Errorf returns an error about a field of the file.
func (s *Settings) Errorf(field string, value any, format string, args ...any) error {
	return folder.FileError(s.File, field, fmt.Sprint(value), format, args...)
}

func (s *Settings) refuse(fields map[string]json.RawMessage, by map[string][]string) error {
	for _, name := range slices.Sorted(maps.Keys(by)) {
		harmless := by[name]
		if v, ok := fields[name]; ok && string(v) != "null" && !slices.Contains(harmless, string(v)) {
			return s.Errorf(name, check.JSON(v), "not supported")
		}
	}
	return nil
}

// check reports values that mean nothing.
func (s *Settings) check(vocab int) error {
	token := func(name string, ids ...int) error {
		for _, id := range ids {
			if id < 0 || id >= vocab {
				return s.Errorf(name, id, "want a token below %d", vocab)
			}
		}
		return nil
	}
	for _, x := range []struct {
		name  string
		value *float64
	}{{"repetition_penalty", s.Repetition}, {"encoder_repetition_penalty", s.EncoderRep}} {
		if p := x.value; p != nil && !(*p > 0 && *p < math.MaxFloat32) {
			return s.Errorf(x.name, *p, "want a number above 0")
		}
	}
	for _, x := range []struct {
		name  string
		value int
	}{
		{"no_repeat_ngram_size", s.Ngram}, {"encoder_no_repeat_ngram_size", s.EncNgram}, {"min_length", s.MinLength}, {"min_new_tokens", Or(s.MinNew, 0)}, {"max_length", Or(s.MaxLength, 0)}, {"num_beams", s.Beams},
	} {
		if x.value < 0 {
			return s.Errorf(x.name, x.value, "want at least 0")
		}
	}
	if n := s.MaxNew; n != nil && *n < 1 {
		return s.Errorf("max_new_tokens", *n, "want at least 1")
	}
	for i, words := range [][][]int{s.Bad, s.biased()} {
		name := [...]string{"bad_words_ids", "sequence_bias"}[i]
		for _, word := range words {
			if len(word) == 0 {
				return s.Errorf(name, word, "a sequence without tokens")
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
		return s.Errorf("exponential_decay_length_penalty", s.Decay, "want a number of tokens and a factor")
	}
	switch string(s.Early) {
	case "", "null", "false":
		s.Stopping = generation.EarlyLikely
	case "true":
		s.Stopping = generation.EarlyAlways
	case `"never"`:
		s.Stopping = generation.EarlyNever
	default:
		return s.Errorf("early_stopping", check.JSON(s.Early), "want true, false or \"never\"")
	}
	forced, err := s.ForcedTokens()
	if err != nil {
		return err
	}
	for _, id := range forced {
		if id != Unforced {
			if err := token("forced_decoder_ids", id); err != nil {
				return err
			}
		}
	}
	for _, x := range []struct {
		name string
		ids  []int
	}{
		{"lang_to_id", slices.Collect(maps.Values(s.Languages))}, {"task_to_id", slices.Collect(maps.Values(s.Tasks))},
		{"no_timestamps_token_id", given(s.NoTimes)}, {"prev_sot_token_id", given(s.Previous)},
	} {
		if err := token(x.name, x.ids...); err != nil {
			return err
		}
	}
	seen := map[[2]int]bool{}
	for _, head := range s.Alignment {
		if head[0] < 0 || head[1] < 0 || seen[head] {
			return s.Errorf("alignment_heads", head, "want layers and heads, each once")
		}
		seen[head] = true
	}
	if s.MaxTime != nil && *s.MaxTime < 0 {
		return s.Errorf("max_initial_timestamp_index", *s.MaxTime, "want at least 0")
	}
	return token("forced_eos_token_id", s.ForcedEOS...)
}

// given returns the value, if there is one.
func given(p *int) []int {
	if p == nil {
		return nil
	}
	return []int{*p}
}

// Unforced stands for a token that is not forced.
const Unforced = -1

// ForcedTokens returns the tokens that forced_decoder_ids has after the first one of the prompt,
// Unforced for null.
func (s *Settings) ForcedTokens() (tokens []int, err error) {
	if len(s.Forced) == 0 || s.Forced[0][0] == nil || *s.Forced[0][0] != 1 {
		return nil, nil // transformers acts only on those that begin there
	}
	for i, f := range s.Forced {
		if f[0] == nil || *f[0] != i+1 {
			return nil, s.Errorf("forced_decoder_ids", s.Forced, "want the places 1, 2 and so on")
		}
		tokens = append(tokens, Or(f[1], Unforced))
	}
	return tokens, nil
}

func (s *Settings) biased() [][]int {
	words := make([][]int, len(s.Bias))
	for i, b := range s.Bias {
		words[i] = b.Tokens
	}
	return words
}

// Or returns a setting, or what holds without one.
func Or[T any](p *T, without T) T {
	if p == nil {
		return without
	}
	return *p
}

// Rules are those for a text. source is what an encoder got, or without one the prompt; nil for
// sound.
func (s *Settings) Rules(eos, source []int) *generation.Rules {
	r := &generation.Rules{
		EncoderRepetitionPenalty: Or(s.EncoderRep, 0), RepetitionPenalty: Or(s.Repetition, 0), NoRepeatNgram: s.Ngram, EncoderNoRepeatNgram: s.EncNgram,
		BadWords: s.Bad, MinLength: s.MinLength, MinNewTokens: Or(s.MinNew, 0), ForcedEOS: s.ForcedEOS, RemoveInvalid: s.Invalid,
		SuppressTokens: s.Suppress, BeginSuppressTokens: s.Begin, Renormalize: s.Normalize, EOS: eos, Encoder: source,
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
	if source == nil { // which what concerns an encoder's tokens needs
		r.EncoderRepetitionPenalty, r.EncoderNoRepeatNgram = 0, 0
	}
	if s.ForcedBOS != nil {
		r.ForcedBOS = []int{*s.ForcedBOS}
	}
	return r
}
