// Package sound reads sound files as transcribers take them: mono samples at 16 kHz.
//
//	samples, err := sound.Read(ctx, file, sound.Options{})
//
// It takes WAV in all forms of [audio.ReadWAV], MP3, FLAC, also in Ogg, Vorbis in Ogg, and Opus in
// Ogg and WebM, which browsers record. What a file is is told by its first bytes, not by its name.
// Other kinds are an error that says what to convert them to. The package is a module of its own,
// so that programs without it do not depend on decoders.
//
// Files are taken for hostile: a decoder that panics gives an error, sound is decoded piece by
// piece, and a duration that is only claimed takes no memory.
//
// This package is settling: see doc/stability.md.
package sound

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/topology"
	"github.com/avoformer/avoformer/text/audio"
	"github.com/avoformer/avoformer/text/internal/wav"
)

// Rate is the rate of the samples that Read gives, in Hz.
const Rate = 16000

// Options bound what is read.
type Options struct {
	// Longest is the most sound that is read; more is an error. 0: four hours.
	Longest time.Duration
	// Memory is the most bytes of samples, 64,000 for a second; more is an error that matches
	// [fault.ErrMemory]. At its end Read takes as many again for a moment. 0: a quarter of the
	// memory that the process may use, of its machine or the lower limit of its cgroups.
	Memory int64
	// Grow, unless nil, is told of memory for so many more bytes of samples before it is taken; its
	// error ends reading.
	Grow func(bytes int) error
}

// Read returns the samples of a sound file, between -1 and 1 at 16 kHz; several channels are
// averaged. Errors about the file match [fault.ErrSound].
//
// However small a file is, its samples may take gigabytes: Options bound them.
func Read(ctx context.Context, r io.Reader, o Options) (samples []float32, err error) {
	if o.Longest <= 0 {
		o.Longest = 4 * time.Hour
	}
	if o.Memory <= 0 {
		if o.Memory = topology.Here().Memory / 4; o.Memory == 0 { // not known
			o.Memory = math.MaxInt64
		}
	}
	defer func() {
		if v := recover(); v != nil { // of a decoder
			samples, err = nil, errorf("the file is damaged: %v", v)
		}
	}()
	in := bufio.NewReaderSize(r, lookAhead)
	if err := skipTags(in); err != nil {
		return nil, err
	}
	head, err := in.Peek(lookAhead)
	if err != nil && err != io.EOF {
		return nil, err
	}
	k, err := kindOf(head)
	if err != nil {
		return nil, err
	}
	s := &sink{ctx: ctx, options: o}
	if err := decoders[k](in, s); err != nil {
		return nil, damaged(err)
	}
	return s.finish()
}

var decoders = map[kind]func(in *bufio.Reader, s *sink) error{riff: readWAV, mpeg: readMP3, flac: readFLAC, ogg: readOgg, webm: readWebM}

func readWAV(in *bufio.Reader, s *sink) error {
	err := wav.Read(in, s.begin, s.add)
	if _, stops := errors.AsType[stop](err); err == nil || stops || errors.Is(err, fault.ErrSound) {
		return err
	}
	return stop{err} // of in
}

// errorf returns an error about the file.
func errorf(format string, args ...any) error {
	return &fault.Error{Kind: fault.ErrSound, Err: fmt.Errorf(format, args...)}
}

// stop is an error that is not about the file.
type stop struct{ error }

func (s stop) Unwrap() error { return s.error }

// damaged makes the error of a decoder one about the file.
func damaged(err error) error {
	if s, ok := errors.AsType[stop](err); ok {
		return s.error
	}
	if errors.Is(err, fault.ErrSound) {
		return err
	}
	return errorf("the file is damaged: %w", err)
}

// sink takes what decoders give, and brings it to the rate of transcribers piece by piece.
type sink struct {
	ctx      context.Context
	options  Options
	seconds  int // that are resampled at a time; 0: as many as have about a million samples, 60 at most
	rate     int
	pending  []float32   // mono, at rate
	began    bool        // the first of pending are samples that were resampled before
	out      [][]float32 // parts of the result, which would be copied again and again if it grew
	length   int         // of all parts
	reserved int
}

// begin begins sound at a rate.
func (s *sink) begin(rate, channels int) error {
	if rate < wav.LeastRate || rate > wav.MostRate {
		return errorf("%d samples a second, want %d to %d", rate, wav.LeastRate, wav.MostRate)
	}
	if channels < 1 || channels > wav.MostChannels {
		return errorf("%d channels, want 1 to %d", channels, wav.MostChannels)
	}
	if s.rate > 0 && s.rate != rate { // the next recording of a file
		if err := s.resample(true); err != nil {
			return err
		}
		s.pending, s.began = s.pending[:0], false
	}
	s.rate = rate
	return nil
}

// add takes a sample of each channel, as their mean.
func (s *sink) add(x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return errorf("a sample is %v", x)
	}
	s.pending = append(s.pending, float32(x))
	if len(s.pending) < s.block()+2*s.margin() {
		return nil
	}
	return s.resample(false)
}

// block returns the number of samples that are resampled at a time.
func (s *sink) block() int { return cmp.Or(s.seconds, min(60, max(1, 1<<20/s.rate))) * s.rate }

// margin is the number of samples before and after others on which these depend: more than the
// filter of audio.Resample reaches, in whole steps between times at which both rates have a sample,
// which are there every second.
func (s *sink) margin() int {
	step := s.rate / gcd(s.rate, Rate)
	reach := 80 * max(1, s.rate/Rate+1)
	return (reach + step - 1) / step * step
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// resample makes a block of what is pending, or all of it.
func (s *sink) resample(last bool) error {
	if err := context.Cause(s.ctx); err != nil {
		return stop{err}
	}
	made, err := audio.Resample(s.pending, s.rate, Rate)
	if err != nil {
		return err
	}
	at := func(n int) int { return int(int64(n) * Rate / int64(s.rate)) } // of a whole number of steps
	if !last {
		done := s.block()
		if s.began {
			done += s.margin()
		}
		made = made[:at(done)]
		keep := copy(s.pending, s.pending[done-s.margin():])
		s.pending = s.pending[:keep]
	}
	if s.began {
		made = made[at(s.margin()):]
	}
	s.began = true
	return s.take(made)
}

// take adds samples, which it keeps, to those that are done.
func (s *sink) take(made []float32) error {
	n := s.length + len(made)
	if int64(n) > int64(s.options.Longest.Seconds()*Rate) {
		return errorf("longer than %v", s.options.Longest)
	}
	if most := s.options.Memory; 4*int64(n) > most {
		return stop{&fault.Error{Kind: fault.ErrMemory, Err: fmt.Errorf("sound of more than %v takes more than %d bytes",
			time.Duration(most/(4*Rate))*time.Second, most)}}
	}
	if need := 4 * n; s.options.Grow != nil && need > s.reserved {
		if err := s.options.Grow(need - s.reserved); err != nil {
			return stop{err}
		}
		s.reserved = need
	}
	s.out, s.length = append(s.out, made), n
	return nil
}

func (s *sink) finish() ([]float32, error) {
	if s.rate > 0 {
		if err := s.resample(true); err != nil {
			return nil, damaged(err)
		}
	}
	if s.length == 0 {
		return nil, errorf("no samples")
	}
	if len(s.out) == 1 {
		return s.out[0], nil
	}
	all := make([]float32, 0, s.length)
	for i, part := range s.out {
		all = append(all, part...)
		s.out[i] = nil
	}
	return all, nil
}
