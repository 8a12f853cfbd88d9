package sound

// Opus.

import (
	"encoding/binary"

	"github.com/pion/opus"

	"github.com/avoformer/avoformer/internal/elementary"
)

// opusRate is the rate that Opus is decoded at, in Hz.
const opusRate = 48000

// opusStream decodes packets.
type opusStream struct {
	s        *sink
	decoder  opus.Decoder
	channels int
	gain     float64
	skip     int // samples at the beginning that are not heard
	buffer   []float32
}

// opusHead is the first packet of a stream (RFC 7845, section 5.1).
func (o *opusStream) head(b []byte) error {
	if len(b) < 19 || string(b[:8]) != "OpusHead" || b[8]>>4 != 0 {
		return errorf("no head of an Opus stream")
	}
	o.channels = int(b[9])
	o.skip = int(binary.LittleEndian.Uint16(b[10:]))
	o.gain = elementary.Pow(10, float64(int16(binary.LittleEndian.Uint16(b[16:])))/256/20)
	if o.channels < 1 || o.channels > 2 || b[18] != 0 {
		return errorf("Opus with %d channels, want 1 or 2", o.channels)
	}
	var err error
	if o.decoder, err = opus.NewDecoderWithOutput(opusRate, o.channels); err != nil {
		return err
	}
	o.buffer = make([]float32, opusRate*120/1000*o.channels) // the longest packet
	return o.s.begin(opusRate, o.channels)
}

// decode decodes a packet into the buffer, and returns how many samples it has.
func (o *opusStream) decode(b []byte) (int, error) {
	return o.decoder.DecodeToFloat32(b, o.buffer)
}

// keep hands on the first n samples of the buffer, except for those that are to be skipped.
func (o *opusStream) keep(n int) error {
	for i := range n {
		if o.skip > 0 {
			o.skip--
			continue
		}
		sum := 0.0
		for _, x := range o.buffer[i*o.channels : (i+1)*o.channels] {
			sum += float64(x)
		}
		if err := o.s.add(o.gain * sum / float64(o.channels)); err != nil {
			return err
		}
	}
	return nil
}
