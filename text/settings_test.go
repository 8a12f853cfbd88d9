package text

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/text/audio"
)

// overlay returns a folder of testdata with files replaced; an empty one is not there.
func overlay(folder string, files map[string]string) fs.FS {
	return overlaid{os.DirFS(filepath.Join("testdata", folder)), files}
}

type overlaid struct {
	fs.FS
	files map[string]string
}

func (o overlaid) Open(name string) (fs.File, error) {
	switch text, ok := o.files[name]; {
	case ok && text == "":
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	case ok:
		return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	}
	return o.FS.Open(name)
}

// merged returns the folder's generation_config.json with other fields.
func merged(t *testing.T, folder string, fields map[string]json.RawMessage) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", folder, "generation_config.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, fields)
	if data, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// generating opens a folder, and gives what it makes of an input.
func generating(fsys fs.FS, folder string) (func(t *testing.T, input string) iter.Seq2[Piece, error], error) {
	ctx := context.Background()
	switch folder {
	case "generate":
		g, err := OpenGenerator(".", Options{FS: fsys})
		if err != nil {
			return nil, err
		}
		o, err := g.Defaults()
		return func(t *testing.T, input string) iter.Seq2[Piece, error] { return g.Generate(ctx, input, o) }, err
	case "transcribe":
		tr, err := OpenTranscriber(".", Options{FS: fsys})
		if err != nil {
			return nil, err
		}
		return func(t *testing.T, input string) iter.Seq2[Piece, error] {
			data, err := fs.ReadFile(fsys, input)
			if err != nil {
				t.Fatal(err)
			}
			samples, err := audio.ReadWAV(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			return tr.Transcribe(ctx, samples, TranscribeOptions{Language: "en", Beams: tr.settings.Beams})
		}, nil
	}
	tr, err := OpenTranslator(".", Options{FS: fsys})
	if err != nil {
		return nil, err
	}
	o, err := tr.Defaults()
	return func(t *testing.T, input string) iter.Seq2[Piece, error] { return tr.Stream(ctx, input, o) }, err
}

// TestSettings compares with what transformers generates for each configuration, which
// scripts/settings.py writes.
func TestSettings(t *testing.T) {
	for _, folder := range []string{"generate", "translate", "summarize", "transcribe"} {
		t.Run(folder, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", folder, "settings.json"))
			if err != nil {
				t.Fatal(err)
			}
			var cases []struct {
				Config          map[string]json.RawMessage
				Inputs, Results []string
			}
			if err := json.Unmarshal(data, &cases); err != nil {
				t.Fatal(err)
			}
			for _, c := range cases {
				config := merged(t, folder, c.Config)
				run, err := generating(overlay(folder, map[string]string{"generation_config.json": config}), folder)
				if err != nil {
					t.Errorf("%s: %v", config, err)
					continue
				}
				for i, input := range c.Inputs {
					if got, err := textOf(run(t, input)); err != nil || got != c.Results[i] {
						t.Errorf("%s\n%q: %q, %v, want %q", config, input, got, err, c.Results[i])
					}
				}
			}
		})
	}
}

// TestSettingsOfConfig: without generation_config.json, config.json's fields count, and with it
// they do not.
func TestSettingsOfConfig(t *testing.T) {
	data, err := os.ReadFile("testdata/generate/config.json")
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	config["max_new_tokens"] = 3
	if data, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	for generation, want := range map[string]int{"": 3, `{"max_new_tokens": 5}`: 5, "{}": 256} {
		g, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"config.json": string(data), "generation_config.json": generation})})
		if err != nil {
			t.Fatal(err)
		}
		tokens := 0
		for _, err := range tokensOf(context.Background(), g, "The", GenerateOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			tokens++
		}
		if want = min(want, g.limit-1); tokens > want || want < 10 && tokens != want {
			t.Errorf("generation_config.json %q: %d tokens, want %d", generation, tokens, want)
		}
	}
}

// TestSettingsRefused: what is not supported is an error that names the field.
func TestSettingsRefused(t *testing.T) {
	for field, values := range map[string][]string{
		"num_return_sequences": {"2"}, "num_beam_groups": {"2"}, "diversity_penalty": {"0.5"}, "penalty_alpha": {"0.6"}, "guidance_scale": {"1.5"}, "watermarking_config": {`{"bias": 2.5}`},
		"constraints": {"[1]"}, "force_words_ids": {"[[1]]"}, "dola_layers": {`"low"`}, "max_time": {"3.5"}, "token_healing": {"true"}, "logprob_threshold": {"-1"}, "no_speech_threshold": {"0.6"},
		"repetition_penalty": {"0", "-1", `"x"`, "1e300"}, "encoder_repetition_penalty": {"0"}, "length_penalty": {`"x"`}, "no_repeat_ngram_size": {"-2", "2.5"}, "encoder_no_repeat_ngram_size": {"-1"},
		"min_length": {"-1"}, "min_new_tokens": {"-1"}, "max_new_tokens": {"-1", "0"}, "max_length": {"-1"}, "num_beams": {"-1"}, "bad_words_ids": {"[[]]", "[[-1]]", "[[99999]]", "[3]"}, "sequence_bias": {`{"3": 1}`, "[[[99999], 1.0]]", "[[[], 1.0]]", "[[[3]]]", "[[[3], null]]", "[[[3], 1, 2]]"},
		"forced_bos_token_id": {"-3", "99999"}, "forced_eos_token_id": {"99999", "[-1]"}, "exponential_decay_length_penalty": {"[1]", "[1.5, 2]", "[2, -1]", "[1e300, 2]"}, "early_stopping": {`"maybe"`, "3"},
		"forced_decoder_ids": {"[[1, 99999]]", "[[1, -2]]", "[[1, 3], [3, 4]]"}, "lang_to_id": {`{"<|en|>": 99999}`, `{"<|en|>": "x"}`}, "task_to_id": {`{"transcribe": -1}`},
		"no_timestamps_token_id": {"-1", "99999"}, "prev_sot_token_id": {"-1", "99999"}, "max_initial_timestamp_index": {"-1"}, "is_multilingual": {"1"}, "condition_on_prev_tokens": {"3"},
	} {
		for _, value := range values {
			config := merged(t, "generate", map[string]json.RawMessage{field: json.RawMessage(value)})
			_, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config})})
			if !errors.Is(err, fault.ErrConfig) || !bytes.Contains([]byte(err.Error()), []byte(field)) {
				t.Errorf("%s = %s: error %v, want a fault.ErrConfig that names it", field, value, err)
			}
		}
		config := merged(t, "generate", map[string]json.RawMessage{field: json.RawMessage("null")})
		if _, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config})}); err != nil {
			t.Errorf("%s = null: %v", field, err)
		}
	}
	// What concerns sampling alone leaves the folder usable without.
	for _, x := range []struct{ field, value string }{
		{"top_h", "0.4"}, {"epsilon_cutoff", "0.1"}, {"eta_cutoff", "0.1"}, {"num_beams", "4"}, {"top_p", "2"}, {"min_p", "-1"},
		{"typical_p", "3"}, {"typical_p", "0"}, {"typical_p", "0.0"}, {"temperature", "-1"}, {"temperature", "0"}, {"temperature", "0.0"},
	} {
		field, value := x.field, x.value
		config := merged(t, "generate", map[string]json.RawMessage{field: json.RawMessage(value), "do_sample": json.RawMessage("true")})
		g, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": config})})
		if err != nil {
			t.Errorf("%s = %s: %v", field, value, err)
			continue
		}
		if _, err := g.Defaults(); !errors.Is(err, fault.ErrConfig) {
			t.Errorf("%s = %s: error %v of sampling, want a fault.ErrConfig", field, value, err)
		}
	}
}

// TestSettingsTopP: of 0 as the probability of the tokens that are kept, transformers makes one
// token.
func TestSettingsTopP(t *testing.T) {
	generate := func(fields map[string]json.RawMessage, seed uint64) string {
		t.Helper()
		g, err := OpenGenerator(".", Options{FS: overlay("generate", map[string]string{"generation_config.json": merged(t, "generate", fields)})})
		if err != nil {
			t.Fatal(err)
		}
		o, err := g.Defaults()
		if err != nil {
			t.Fatal(err)
		}
		o.Seed, o.MaxTokens = seed, 8
		var tokens []string
		for token, err := range tokensOf(context.Background(), g, "The", o) {
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, fmt.Sprint(token))
		}
		return strings.Join(tokens, " ")
	}
	sampled := map[string]json.RawMessage{"do_sample": json.RawMessage("true"), "temperature": json.RawMessage("3.0")}
	likeliest, others := generate(nil, 0), 0
	for seed := range uint64(5) {
		if generate(sampled, seed) != likeliest {
			others++
		}
	}
	if others == 0 {
		t.Fatal("sampling never differs from the likeliest tokens")
	}
	sampled["top_p"] = json.RawMessage("0")
	for seed := range uint64(5) {
		if got := generate(sampled, seed); got != likeliest {
			t.Errorf("top_p = 0, seed %d: %q, want %q", seed, got, likeliest)
		}
	}
}

// TestLanguages: the token of a language begins the text or the translation, as its form says,
// without being written there.
func TestLanguages(t *testing.T) {
	data, err := os.ReadFile("testdata/translate/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	const letter, id = "ś", 395 // a letter of the vocabulary that the texts do not have
	open := func(token string, files map[string]string) *Translator {
		t.Helper()
		named := bytes.Replace(data, []byte(`"`+letter+`"`), []byte(`"`+token+`"`), 1)
		added := fmt.Appendf(nil, `"added_tokens": [{"id":%d,"content":%q,"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},`, id, token)
		named = bytes.Replace(named, []byte(`"added_tokens": [`), added, 1)
		files["tokenizer.json"] = string(named)
		tr, err := OpenTranslator(".", Options{FS: overlay("translate", files)})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	run := func(tr *Translator, text, language string) string {
		t.Helper()
		o := TranslateOptions{Language: language}
		o.MaxTokens, o.Beams = 12, 3
		out, err := translated(tr, context.Background(), []string{text}, o)
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	const text = "Yes."
	for _, token := range []string{">>fra<<", "<2fra>"} {
		tr := open(token, map[string]string{})
		if got, want := run(tr, text, "fra"), run(tr, token+text, ""); got != want || got == run(tr, text, "") {
			t.Errorf("%s: %q, want %q", token, got, want)
		}
	}
	config := merged(t, "translate", map[string]json.RawMessage{"forced_bos_token_id": json.RawMessage(fmt.Sprint(id))})
	for token, language := range map[string]string{"__fra__": "fra", "fra_Latn": "fra_Latn"} {
		tr := open(token, map[string]string{})
		want := run(open(token, map[string]string{"generation_config.json": config}), text, "")
		if got := run(tr, text, language); got != want || got == run(tr, text, "") {
			t.Errorf("%s: %q, want %q", token, got, want)
		}
	}
}
