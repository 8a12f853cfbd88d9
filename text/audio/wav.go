// Package audio reads sound for pipelines that take speech: WAV files, and sound of other sampling
// rates. Package text/sound reads further formats.
//
// This package is settling: see doc/stability.md.
package audio

import (
	"io"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/wav"
)

// ReadWAV returns the samples of a WAV file, between -1 and 1 at 16 kHz: sound of other rates goes
// through [Resample]; channels are averaged. It takes PCM of 8, 16, 24 and 32 bits, floating point
// of 32 and 64, A-law and mu-law, also as WAVE_FORMAT_EXTENSIBLE and in RF64 and BW64 files, and
// sound that was written to a pipe, whose length the file does not know. Samples that are not
// finite numbers are an error. The memory follows the length of the sound, up to 64 times the
// file's of 8 bits at 1 kHz: package text/sound bounds it.
//
// Microsoft and IBM, "Multimedia Programming Interface and Data Specifications 1.0", 1991; EBU Tech
// 3306; ITU-T G.711.
func ReadWAV(r io.Reader) ([]float32, error) {
	var samples []float32
	var rate int
	err := wav.Read(r, func(hz, _ int) error {
		rate = hz
		return nil
	}, func(x float64) error {
		samples = append(samples, float32(x))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return Resample(samples, rate, models.SampleRate)
}
