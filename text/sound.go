package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
)

// How samples become what a model takes: preprocessor_config.json of the classes of feature extractors.

// soundFile is where they are.
const soundFile = "preprocessor_config.json"

// spectrograms is what is read of WhisperFeatureExtractor.
type spectrograms struct {
	Class   string `json:"feature_extractor_type"`
	Seconds int    `json:"chunk_length"`
	Rate    int    `json:"sampling_rate"`
	Bins    int    `json:"feature_size"`
	Hop     int    `json:"hop_length"`
	FFT     int    `json:"n_fft"`
}

// waves is what is read of Wav2Vec2FeatureExtractor.
type waves struct {
	Class     string                `json:"feature_extractor_type"`
	Rate      int                   `json:"sampling_rate"`
	Features  int                   `json:"feature_size"`
	Normalize pyjson.Optional[bool] `json:"do_normalize"` // null is false
}

// soundIdle are fields without effect, by class. Whisper's encoder takes no mask, and the last three follow from other fields.
// wav2vec 2.0 gets the samples of one text at a time, which need no padding.
var soundIdle = map[string][]string{
	"WhisperFeatureExtractor":  {"processor_class", "return_attention_mask", "n_samples", "nb_max_frames", "mel_filters"},
	"Wav2Vec2FeatureExtractor": {"processor_class", "return_attention_mask", "padding_side", "padding_value"},
}

// readSound fills into, a pointer to spectrograms or waves, which have the class's defaults, from the file, if there is one.
func (f *base) readSound(class string, into any) error {
	data, err := regular.ReadFile(f.fsys, soundFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return check.InFile(soundFile, fault.ErrFolder, err)
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(pyjson.Unmarshal(data, &fields), pyjson.Unmarshal(data, into)); err != nil {
		return folder.JSONError(soundFile, err)
	}
	const kind = "feature_extractor_type"
	var named string
	if v := fields[kind]; v != nil && (pyjson.Unmarshal(v, &named) != nil || string(v) != "null" && named != class) {
		return folder.FileError(soundFile, kind, check.JSON(v), "want %s", class)
	}
	read := account.Tags(reflect.ValueOf(into).Elem().Interface())
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if name != kind && name != "do_normalize" && string(fields[name]) == "null" {
			return folder.FileError(soundFile, name, "null", "want a number")
		}
	}
	warnings, err := account.Settle(account.Classes[class], fields, read, soundIdle[class])
	for _, w := range warnings {
		f.warning(soundFile + ": " + w)
	}
	if err != nil {
		return check.InFile(soundFile, fault.ErrConfig, err)
	}
	return nil
}

// spectrograms reads how the samples of a model such as Whisper become spectrograms.
func (f *base) spectrograms() (spectrograms, error) {
	bins := f.model.Audio.Features()
	s := spectrograms{Seconds: 30, Rate: models.SampleRate, Bins: bins, Hop: models.SpectrogramHop, FFT: 400}
	if err := f.readSound("WhisperFeatureExtractor", &s); err != nil {
		return s, err
	}
	for _, x := range []struct {
		field      string
		have, want int
	}{{"sampling_rate", s.Rate, models.SampleRate}, {"hop_length", s.Hop, models.SpectrogramHop}, {"n_fft", s.FFT, 400}, {"feature_size", s.Bins, bins}} {
		if x.have != x.want {
			return s, folder.FileError(soundFile, x.field, fmt.Sprint(x.have), "the model takes %d", x.want)
		}
	}
	if s.Seconds < 1 || s.Seconds > 600 {
		return s, folder.FileError(soundFile, "chunk_length", fmt.Sprint(s.Seconds), "want 1 to 600 seconds")
	}
	return s, nil
}

// waves reads how samples become the input of a model such as wav2vec 2.0.
func (f *base) waves() (waves, error) {
	w := waves{Rate: models.SampleRate, Features: 1, Normalize: pyjson.Optional[bool]{Present: true, Value: true}}
	if err := f.readSound("Wav2Vec2FeatureExtractor", &w); err != nil {
		return w, err
	}
	if w.Rate != models.SampleRate {
		return w, folder.FileError(soundFile, "sampling_rate", fmt.Sprint(w.Rate), "the model takes %d", models.SampleRate)
	}
	if w.Features != 1 {
		return w, folder.FileError(soundFile, "feature_size", fmt.Sprint(w.Features), "the model takes 1")
	}
	return w, nil
}
