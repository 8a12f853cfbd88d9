package sound

import (
	"encoding/binary"

	"github.com/jfreymuth/vorbis"

	"github.com/avoformer/avoformer/text/internal/wav"
)

// vorbisStream is a stream of Vorbis.
type vorbisStream struct {
	s       *sink
	decoder vorbis.Decoder
	headers int
	clock   oggClock
}

func beginVorbis(s *sink, head []byte) (oggStream, error) {
	v := &vorbisStream{s: s}
	return v, v.header(head)
}

// header reads one of the three packets before the sound.
func (v *vorbisStream) header(b []byte) error {
	if len(b) < 7 || b[0] != byte(1+2*v.headers) || string(b[1:7]) != "vorbis" {
		return errorf("no header of a Vorbis stream where one should be")
	}
	switch v.headers {
	case 0: // version, channels, rate
		if len(b) < 30 || binary.LittleEndian.Uint32(b[7:]) != 0 {
			return errorf("the head of a Vorbis stream is damaged")
		}
		if n := int(b[11]); n < 1 || n > wav.MostChannels {
			return errorf("%d channels, want 1 to %d", n, wav.MostChannels)
		}
	case 1: // titles and other tags
		v.headers++
		return nil
	case 2:
		if err := checkVorbisSetup(b[7:]); err != nil {
			return err
		}
	}
	if err := v.decoder.ReadHeader(b); err != nil {
		return err
	}
	v.headers++
	if v.headers == 3 {
		return v.s.begin(v.decoder.SampleRate(), v.decoder.Channels())
	}
	return nil
}

func (v *vorbisStream) page(p oggPage) error {
	var all []float32 // interleaved
	channels := v.decoder.Channels()
	for _, b := range p.packets {
		if v.headers < 3 {
			if err := v.header(b); err != nil {
				return err
			}
			continue
		}
		if len(b) == 0 {
			continue
		}
		out, err := v.decoder.Decode(b)
		if err != nil {
			return err
		}
		all = append(all, out...)
	}
	if v.headers < 3 || len(all) == 0 {
		return nil
	}
	samples := int64(len(all) / channels)
	first := !v.clock.began
	n := v.clock.heardOf(p, samples)
	if first && !p.last && p.end >= 0 && p.end < samples { // the beginning is cut off
		all = all[(samples-p.end)*int64(channels):]
		n = p.end
		v.clock.heard = p.end
	}
	for i := range n {
		sum := 0.0
		for _, x := range all[i*int64(channels) : (i+1)*int64(channels)] {
			sum += float64(x)
		}
		if err := v.s.add(sum / float64(channels)); err != nil {
			return err
		}
	}
	return nil
}

func (v *vorbisStream) end() error {
	if v.headers < 3 {
		return errorf("the Vorbis stream ends in its headers")
	}
	return nil
}

// lowBits reads numbers of some bits, the lowest first.
type lowBits struct {
	data []byte
	at   int
}

func (b *lowBits) take(n int) (v uint32) {
	for i := range n {
		if at := b.at >> 3; at < len(b.data) {
			v |= uint32(b.data[at]>>(b.at&7)&1) << i
		}
		b.at++
	}
	return v
}

// mostVorbisValues is the most values of the code books of a stream. Encoders' have some ten
// thousands.
const mostVorbisValues = 1 << 22

// checkVorbisSetup goes through the code books of a setup header, for which the decoder takes
// whatever memory they claim, and time without end where they are cut off.
func checkVorbisSetup(data []byte) error {
	b := &lowBits{data: data}
	values := 0
	damaged := errorf("the code books of the Vorbis stream are damaged")
	for range b.take(8) + 1 {
		if b.take(24) != 0x564342 {
			return damaged
		}
		dimensions, entries := int(b.take(16)), int(b.take(24))
		if values += max(1, dimensions) * entries; entries == 0 || dimensions == 0 || values > mostVorbisValues {
			return damaged
		}
		if b.take(1) == 1 { // in order of their lengths
			b.take(5)
			for at, length := 0, 0; at < entries; length++ {
				width := 0
				for n := entries - at; n > 0; n >>= 1 {
					width++
				}
				n := int(b.take(width))
				if at += n; at > entries || length > 32 || b.at > 8*len(data) {
					return damaged
				}
			}
		} else {
			sparse := b.take(1) == 1
			for range entries {
				if !sparse || b.take(1) == 1 {
					b.take(5)
				}
				if b.at > 8*len(data) {
					return damaged
				}
			}
		}
		switch kind := b.take(4); kind {
		case 0:
		case 1, 2:
			b.at += 64
			bits := int(b.take(4)) + 1
			b.at++
			n := entries * dimensions
			if kind == 1 {
				for n = 0; power(n+1, dimensions, entries) <= entries; n++ {
				}
			}
			if n == 0 {
				return damaged
			}
			b.at += n * bits
		default:
			return damaged
		}
		if b.at > 8*len(data) {
			return damaged
		}
	}
	return nil
}

// power returns base to the power of n, or any number above most if it is larger.
func power(base, n, most int) int {
	v := 1
	for range n {
		if v *= base; v > most || base < 2 {
			return v
		}
	}
	return v
}
