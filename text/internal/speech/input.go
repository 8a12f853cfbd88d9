// Package speech has the parts that only models of speech need: how samples become their input, the
// characters that models of CTC hear, and the timestamps that Whisper writes.
package speech

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/account"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyclass"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
)

// File has the fields of the classes of feature extractors, which say how samples become the input
// of a model.
const File = "preprocessor_config.json"

// A Folder is a model's folder, and Warn is called with its warnings.
type Folder struct {
	FS   fs.FS
	Warn func(string)
}

// Spectrograms has the fields of WhisperFeatureExtractor that are read.
type Spectrograms struct {
	Class   string `json:"feature_extractor_type"`
	Seconds int    `json:"chunk_length"`
	Rate    int    `json:"sampling_rate"`
	Bins    int    `json:"feature_size"`
	Hop     int    `json:"hop_length"`
	FFT     int    `json:"n_fft"`
}

// waves has the fields of Wav2Vec2FeatureExtractor that are read.
type waves struct {
	Class     string                `json:"feature_extractor_type"`
	Rate      int                   `json:"sampling_rate"`
	Features  int                   `json:"feature_size"`
	Normalize pyjson.Optional[bool] `json:"do_normalize"` // null is false
}

// normalized has the fields of ParakeetFeatureExtractor that are read.
type normalized struct {
	Class       string  `json:"feature_extractor_type"`
	Rate        int     `json:"sampling_rate"`
	Bins        int     `json:"feature_size"`
	Hop         int     `json:"hop_length"`
	FFT         int     `json:"n_fft"`
	Window      int     `json:"win_length"`
	PreEmphasis float64 `json:"preemphasis"`
}

// check returns the error of a field that says something else than what models.NormalizedLogMel
// computes, for a model that takes so many bins.
func (s *normalized) check(bins int) error {
	if err := wants([]size{{"sampling_rate", s.Rate, models.SampleRate}, {"hop_length", s.Hop, models.SpectrogramHop}, {"n_fft", s.FFT, 512}, {"win_length", s.Window, 400}, {"feature_size", s.Bins, bins}}); err != nil {
		return err
	}
	if s.PreEmphasis != 0.97 {
		return folder.FileError(File, "preemphasis", fmt.Sprint(s.PreEmphasis), "the model takes 0.97")
	}
	return nil
}

// A size is what a field says, and what the model takes.
type size struct {
	field      string
	have, want int
}

// wants returns the error of the first field that does not say what the model takes.
func wants(sizes []size) error {
	for _, x := range sizes {
		if x.have != x.want {
			return folder.FileError(File, x.field, fmt.Sprint(x.have), "the model takes %d", x.want)
		}
	}
	return nil
}

// idle are the fields without effect, by class. Whisper's encoder takes no mask, and the last three
// follow from other fields. wav2vec 2.0 and Parakeet get the samples of one text at a time, which
// need no padding.
var idle = map[string][]string{
	"WhisperFeatureExtractor":  {"processor_class", "return_attention_mask", "n_samples", "nb_max_frames", "mel_filters"},
	"Wav2Vec2FeatureExtractor": {"processor_class", "return_attention_mask", "padding_side", "padding_value"},
	"ParakeetFeatureExtractor": {"processor_class", "return_attention_mask", "padding_side", "padding_value"},
}

// read fills into, a pointer to Spectrograms, waves or normalized, which has the class's defaults,
// from the file, if there is one.
func (f Folder) read(class string, into any) error {
	data, err := regular.ReadFile(f.FS, File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return check.InFile(File, fault.ErrFolder, err)
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(pyjson.Unmarshal(data, &fields), pyjson.Unmarshal(data, into)); err != nil {
		return folder.JSONError(File, err)
	}
	const kind = "feature_extractor_type"
	var named string
	if v := fields[kind]; v != nil && (pyjson.Unmarshal(v, &named) != nil || string(v) != "null" && named != class) {
		return folder.FileError(File, kind, check.JSON(v), "want %s", class)
	}
	known := account.Tags(reflect.ValueOf(into).Elem().Interface())
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if name != kind && name != "do_normalize" && string(fields[name]) == "null" {
			return folder.FileError(File, name, "null", "want a number")
		}
	}
	warnings, err := account.Settle(pyclass.File(class), fields, known, idle[class])
	for _, w := range warnings {
		f.Warn(File + ": " + w)
	}
	if err != nil {
		return check.InFile(File, fault.ErrConfig, err)
	}
	return nil
}

// Spectrograms reads how the samples of a model such as Whisper become spectrograms of so many mel
// bins.
func (f Folder) Spectrograms(bins int) (Spectrograms, error) {
	s := Spectrograms{Seconds: 30, Rate: models.SampleRate, Bins: bins, Hop: models.SpectrogramHop, FFT: 400}
	if err := f.read("WhisperFeatureExtractor", &s); err != nil {
		return s, err
	}
	if err := wants([]size{{"sampling_rate", s.Rate, models.SampleRate}, {"hop_length", s.Hop, models.SpectrogramHop}, {"n_fft", s.FFT, 400}, {"feature_size", s.Bins, bins}}); err != nil {
		return s, err
	}
	if s.Seconds < 1 || s.Seconds > 600 {
		return s, folder.FileError(File, "chunk_length", fmt.Sprint(s.Seconds), "want 1 to 600 seconds")
	}
	return s, nil
}

// waves reads how samples become the input of a model such as wav2vec 2.0.
func (f Folder) waves() (waves, error) {
	w := waves{Rate: models.SampleRate, Features: 1, Normalize: pyjson.Optional[bool]{Present: true, Value: true}}
	if err := f.read("Wav2Vec2FeatureExtractor", &w); err != nil {
		return w, err
	}
	return w, wants([]size{{"sampling_rate", w.Rate, models.SampleRate}, {"feature_size", w.Features, 1}})
}

// standardized is x with mean 0 and variance 1.
func standardized(x []float32) []float32 {
	mean, squares := 0.0, 0.0
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		squares += float64((float64(v) - mean) * (float64(v) - mean))
	}
	scale := 1 / math.Sqrt(squares/float64(len(x))+1e-7)
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32((float64(v) - mean) * scale)
	}
	return y
}
