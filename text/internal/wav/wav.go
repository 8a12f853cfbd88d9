// Package wav reads the samples of WAV files, as a stream.
package wav

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// The rates, in Hz, and the most channels of a sound.
const (
	LeastRate    = 1000
	MostRate     = 1_000_000
	MostChannels = 64
)

// Read calls begin with the rate and the number of channels of a file, and then add with each
// sample, the mean of its channels between -1 and 1. An error of either ends reading. The forms
// that it takes are those of audio.ReadWAV.
func Read(r io.Reader, begin func(rate, channels int) error, add func(x float64) error) error {
	w := &wavReader{in: bufio.NewReaderSize(r, 1<<16), begin: begin, add: add}
	return w.read()
}

// wavReader reads a file chunk by chunk.
type wavReader struct {
	in       *bufio.Reader
	at       uint64 // bytes read
	end      uint64 // of the file, as it says; 0: it does not know
	long     uint64 // the length of the data chunk, if it is in a chunk of its own
	sample   func(b []byte) float64
	width    int // bytes of a sample
	channels int
	rate     uint32
	begin    func(rate, channels int) error
	add      func(x float64) error
}

// bytes reads n bytes. It returns an error if the file ends earlier.
func (w *wavReader) bytes(n int) ([]byte, error) {
	b := make([]byte, n)
	read, err := io.ReadFull(w.in, b)
	w.at += uint64(read)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, check.Errorf(fault.ErrSound, "the file is cut off before its samples")
	}
	return b, err
}

func (w *wavReader) skip(n uint64) error {
	read, err := io.CopyN(io.Discard, w.in, int64(min(n, math.MaxInt64)))
	w.at += uint64(read)
	if err == io.EOF {
		return check.Errorf(fault.ErrSound, "no samples")
	}
	return err
}

func (w *wavReader) read() error {
	head, err := w.bytes(12)
	if errors.Is(err, fault.ErrSound) || err == nil && (string(head[8:]) != "WAVE" || !isRIFF(string(head[:4]))) {
		return check.Errorf(fault.ErrSound, "no WAV file")
	} else if err != nil {
		return err
	}
	if w.end = uint64(binary.LittleEndian.Uint32(head[4:])); w.end == math.MaxUint32 {
		w.end = 0
	} else if w.end > 0 {
		w.end += 8
	}
	for {
		head, err := w.bytes(8)
		if errors.Is(err, fault.ErrSound) {
			return check.Errorf(fault.ErrSound, "no samples")
		} else if err != nil {
			return err
		}
		n := uint64(binary.LittleEndian.Uint32(head[4:]))
		switch name := string(head[:4]); {
		case name == "ds64" && n >= 24:
			err = w.lengths(n)
		case name == "fmt " && n >= 16:
			err = w.format(n)
		case name == "data" && w.sample == nil:
			return check.Errorf(fault.ErrSound, "the samples come before their format")
		case name == "data":
			return w.data(n)
		default:
			err = w.skip(n)
		}
		if err == nil && n%2 == 1 {
			err = w.skip(1)
		}
		if err != nil {
			return err
		}
	}
}

func isRIFF(name string) bool { return name == "RIFF" || name == "RF64" || name == "BW64" }

// lengths reads a ds64 chunk.
func (w *wavReader) lengths(n uint64) error {
	b, err := w.bytes(24)
	if err != nil {
		return err
	}
	w.end, w.long = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	return w.skip(n - 24)
}

// The formats of samples by their numbers.
const (
	wavPCM        = 1
	wavFloat      = 3
	wavALaw       = 6
	wavMuLaw      = 7
	wavExtensible = 0xfffe
)

// wavOthers are formats that are told by name.
var wavOthers = map[uint16]string{2: "Microsoft's ADPCM", 0x11: "IMA ADPCM", 0x31: "GSM 6.10", 0x45: "G.726 ADPCM", 0x50: "MPEG audio", 0x55: "MP3", 0xff: "AAC", 0x161: "Windows Media Audio", 0x1610: "AAC"}

// extensible are the bytes after a format's number in a GUID of WAVE_FORMAT_EXTENSIBLE.
const extensible = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// format reads a fmt chunk.
func (w *wavReader) format(n uint64) error {
	b, err := w.bytes(int(min(n, 40)))
	if err != nil {
		return err
	}
	format, bits, align := binary.LittleEndian.Uint16(b), binary.LittleEndian.Uint16(b[14:]), binary.LittleEndian.Uint16(b[12:])
	w.channels, w.rate = int(binary.LittleEndian.Uint16(b[2:])), binary.LittleEndian.Uint32(b[4:])
	if format == wavExtensible {
		if len(b) < 40 || string(b[26:]) != extensible {
			return check.Errorf(fault.ErrSound, "WAVE_FORMAT_EXTENSIBLE without a format that is known")
		}
		format = binary.LittleEndian.Uint16(b[24:])
	}
	w.sample = wavSample(format, bits)
	w.width = int(bits) / 8
	switch other, named := wavOthers[format]; {
	case named:
		return check.Errorf(fault.ErrSound, "a WAV file of %s; want PCM, floating point, A-law or mu-law: ffmpeg -i IN -c:a pcm_s16le OUT.wav makes one", other)
	case w.sample == nil:
		return check.Errorf(fault.ErrSound, "a WAV file of format %d with %d bits; want PCM of 8, 16, 24 or 32 bits, floating point of 32 or 64, A-law or mu-law", format, bits)
	case w.channels == 0 || w.channels > MostChannels:
		return check.Errorf(fault.ErrSound, "%d channels, want 1 to %d", w.channels, MostChannels)
	case int(align) != w.width*w.channels:
		return check.Errorf(fault.ErrSound, "%d bytes for a sample of each of %d channels with %d bits", align, w.channels, bits)
	case w.rate < LeastRate || w.rate > MostRate:
		return check.Errorf(fault.ErrSound, "%d samples a second, want %d to %d", w.rate, LeastRate, MostRate)
	}
	return w.skip(n - uint64(len(b)))
}

// wavSample is what reads a sample between -1 and 1, or nil.
func wavSample(format, bits uint16) func(b []byte) float64 {
	switch {
	case format == wavPCM && bits == 8:
		return func(b []byte) float64 { return (float64(b[0]) - 128) / 128 }
	case format == wavPCM && bits == 16:
		return func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) / (1 << 15) }
	case format == wavPCM && bits == 24:
		return func(b []byte) float64 {
			return float64(int32(uint32(b[0])<<8|uint32(b[1])<<16|uint32(b[2])<<24)) / (1 << 31)
		}
	case format == wavPCM && bits == 32:
		return func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) / (1 << 31) }
	case format == wavFloat && bits == 32:
		return func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case format == wavFloat && bits == 64:
		return func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	case format == wavALaw && bits == 8:
		return func(b []byte) float64 { return aLaw(b[0]) / (1 << 15) }
	case format == wavMuLaw && bits == 8:
		return func(b []byte) float64 { return muLaw(b[0]) / (1 << 15) }
	}
	return nil
}

// aLaw returns a sample of G.711's A-law as one of 16 bits.
func aLaw(b byte) float64 {
	b ^= 0x55
	size := int(b&15)<<4 + 8
	if exponent := b >> 4 & 7; exponent > 0 {
		size = (size + 0x100) << (exponent - 1)
	}
	if b&0x80 == 0 {
		size = -size
	}
	return float64(size)
}

// muLaw returns a sample of G.711's mu-law as one of 16 bits.
func muLaw(b byte) float64 {
	const bias = 0x84
	b = ^b
	size := (int(b&15)<<3+bias)<<(b>>4&7) - bias
	if b&0x80 != 0 {
		size = -size
	}
	return float64(size)
}

// data reads the samples of a data chunk of n bytes as it says.
func (w *wavReader) data(n uint64) error {
	if err := w.begin(int(w.rate), w.channels); err != nil {
		return err
	}
	switch {
	case n == math.MaxUint32 && w.long > 0:
		n = w.long
	case n == math.MaxUint32 || n == 0 && w.end <= w.at: // as written to a pipe
		n = math.MaxUint64
	}
	frame := make([]byte, w.width*w.channels)
	read := 0
	for ; n >= uint64(len(frame)); n -= uint64(len(frame)) {
		_, err := io.ReadFull(w.in, frame)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		} else if err != nil {
			return err
		}
		sum := 0.0
		for c := range w.channels {
			sum += w.sample(frame[c*w.width:])
		}
		x := float32(sum / float64(w.channels))
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return check.Errorf(fault.ErrSound, "sample %d is %v", read, x)
		}
		if err := w.add(float64(x)); err != nil {
			return err
		}
		read++
	}
	if read == 0 {
		return check.Errorf(fault.ErrSound, "no samples")
	}
	return nil
}
