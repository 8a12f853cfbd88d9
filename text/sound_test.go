package text

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/models"
)

// TestSoundAccount gives each field of the classes of feature extractors a value that no class has as its default, and null: it
// is an error that names the field, unless the field has no effect or null is a value of it. A field that the class does not
// have is a warning.
func TestSoundAccount(t *testing.T) {
	t.Parallel()
	for class, c := range map[string]struct{ folder, idle, null string }{
		"WhisperFeatureExtractor":  {"transcribe", "return_attention_mask", "dither model_input_names padding_side padding_value return_attention_mask"},
		"Wav2Vec2FeatureExtractor": {"characters", "padding_side padding_value return_attention_mask", "do_normalize model_input_names padding_side padding_value return_attention_mask"},
	} {
		var was map[string]any
		data, err := os.ReadFile(filepath.Join("testdata", c.folder, soundFile))
		if err := errors.Join(err, json.Unmarshal(data, &was)); err != nil {
			t.Fatal(err)
		}
		open := func(field string, value any) (warnings []string, err error) {
			fields := maps.Clone(was)
			fields[field] = value
			text, _ := json.Marshal(fields)
			_, err = OpenTranscriber(".", Options{FS: overlay(c.folder, map[string]string{soundFile: string(text)}), Model: models.Options{Warn: func(w string) { warnings = append(warnings, w) }}})
			return warnings, err
		}
		check := func(field string, value any, opens string) {
			if _, err := open(field, value); slices.Contains(strings.Fields(opens), field) {
				if err != nil {
					t.Errorf("%s: %s = %v: %v", class, field, value, err)
				}
			} else if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Field != field || e.File != soundFile {
				t.Errorf("%s: %s = %v: error %v, want one that names it", class, field, value, err)
			}
		}
		for field := range account.Classes[class].Fields {
			check(field, map[string]any{"a": 1}, c.idle)
			check(field, nil, c.null)
		}
		for _, x := range []struct {
			field string
			value any
			opens bool
		}{
			{"feature_extractor_type", nil, true}, {"feature_extractor_type", "SeamlessM4TFeatureExtractor", false}, {"sampling_rate", 8000, false},
			{"feature_size", 3, false}, {"processor_class", "X", true}, {"padding_value", 0, true},
		} {
			if _, err := open(x.field, x.value); (err == nil) != x.opens {
				t.Errorf("%s: %s = %v: error %v", class, x.field, x.value, err)
			}
		}
		warnings, err := open("a_remark", 1)
		if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], soundFile+": a_remark = 1: ignored, as by transformers") {
			t.Errorf("%s: an unknown field: warnings %q, error %v", class, warnings, err)
		}
	}
	tr, err := OpenTranscriber(".", Options{FS: overlay("characters", map[string]string{soundFile: `{"do_normalize": null}`})})
	if err != nil || tr.characters.normalize {
		t.Errorf("do_normalize = null: normalizes %t, error %v", tr.characters.normalize, err)
	}
}
