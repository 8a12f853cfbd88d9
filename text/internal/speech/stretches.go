// Sound that a model with a decoder hears stretch by stretch.

package speech

import (
	"github.com/avoformer/avoformer/models"
)

// Stretches says how a model with a decoder takes samples.
type Stretches interface {
	// Next returns how many of the samples the model hears next, at least 1 and at most all.
	Next(samples []float32) int
	// Features returns the model's input for a stretch, [features, frames], and the number of
	// frames.
	Features(stretch []float32) ([]float32, int, error)
	// Tokens returns the most tokens for a stretch of so many samples; 0: no limit.
	Tokens(samples int) int
	// Space returns the text between the texts of two stretches.
	Space() string
}

// Frames returns the number of frames that the model hears at once.
func (s Spectrograms) Frames() int { return s.Seconds * FramesPerSecond }

// Sound returns the number of frames that have sound, of samples that silence may follow.
func (s Spectrograms) Sound(samples int) int {
	if samples <= s.Seconds*models.SampleRate {
		return (samples + models.SpectrogramHop - 1) / models.SpectrogramHop
	}
	return samples / models.SpectrogramHop
}

// Next returns as many samples as the model hears at once. Those of less than a frame more count,
// as in transformers' pipeline.
func (s Spectrograms) Next(samples []float32) int {
	if len(samples)/models.SpectrogramHop <= s.Frames() {
		return len(samples)
	}
	return s.Seconds * models.SampleRate
}

// Features returns the log-mel spectrogram of a stretch. A stretch that is shorter than what the
// model hears at once is padded with silence.
func (s Spectrograms) Features(stretch []float32) ([]float32, int, error) {
	if n := s.Seconds * models.SampleRate; len(stretch) < n {
		stretch = append(make([]float32, 0, n), stretch...)[:n]
	}
	features, err := models.LogMel(stretch, s.Bins)
	return features, len(features) / s.Bins, err
}

// Tokens returns 0: a stretch itself sets no limit.
func (s Spectrograms) Tokens(int) int { return 0 }

// Space returns "": the tokens of words have their spaces.
func (s Spectrograms) Space() string { return "" }

// Waves are samples themselves, for models that hear sound of any length, such as Moonshine.
type Waves struct{ Normalize bool }

// Waves reads how the samples of a model such as Moonshine become its input.
func (f Folder) Waves() (Waves, error) {
	w, err := f.waves()
	return Waves{w.Normalize.Value}, err
}

// Sound that is longer than Moonshine was trained on is cut where it is quietest, between the two
// times after which a stretch may end.
const (
	stretchMost  = windowSeconds * models.SampleRate
	stretchLeast = stretchMost - 6*models.SampleRate
	stretchRest  = models.SampleRate // at least so much is left for the last stretch
	quietStep    = models.SampleRate / 100
	quietSteps   = 10
)

// Next returns the length of all samples if they are few, else that up to the middle of the
// quietest tenth of a second in which a stretch may end.
func (w Waves) Next(samples []float32) int {
	if len(samples) <= stretchMost {
		return len(samples)
	}
	from := samples[stretchLeast : stretchMost-stretchRest]
	loudness := make([]float64, len(from)/quietStep)
	for i := range loudness {
		for _, v := range from[i*quietStep : (i+1)*quietStep] {
			loudness[i] += float64(float64(v) * float64(v))
		}
	}
	best, least := 0, 0.0
	for i := 0; i+quietSteps <= len(loudness); i++ {
		sum := 0.0
		for _, v := range loudness[i : i+quietSteps] {
			sum += v
		}
		if i == 0 || sum <= least {
			best, least = i, sum
		}
	}
	return stretchLeast + (best+quietSteps/2)*quietStep
}

// Features returns the samples, one for each frame.
func (w Waves) Features(stretch []float32) ([]float32, int, error) {
	if w.Normalize {
		stretch = standardized(stretch)
	}
	return stretch, len(stretch), nil
}

// Tokens allows six and a half tokens a second, including the first token of the decoder, as
// Moonshine's authors recommend, so that a model that repeats itself ends. It returns at least 1.
func (w Waves) Tokens(samples int) int { return max(samples*13/(2*models.SampleRate)-1, 1) }

// Space returns a space, because there is no space before the first word of a text.
func (w Waves) Space() string { return " " }
