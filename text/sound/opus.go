package sound

// Opus, in Ogg.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/pion/opus"
	"github.com/pion/opus/pkg/oggreader"

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

// packet decodes a packet, keeps at most left of its samples, and returns how many it has.
func (o *opusStream) packet(b []byte, left int64) (int, error) {
	n, err := o.decoder.DecodeToFloat32(b, o.buffer)
	if err != nil {
		return 0, err
	}
	for i := range n {
		if o.skip > 0 {
			o.skip--
			continue
		}
		if int64(i) >= left {
			break
		}
		sum := 0.0
		for _, x := range o.buffer[i*o.channels : (i+1)*o.channels] {
			sum += float64(x)
		}
		if err := o.s.add(o.gain * sum / float64(o.channels)); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func readOgg(in *bufio.Reader, s *sink) error {
	first, err := in.Peek(64)
	if err != nil && err != io.EOF {
		return err
	}
	if !bytes.Contains(first, []byte("OpusHead")) {
		for in, name := range map[string]string{"vorbis": "Vorbis", "FLAC": "FLAC in Ogg", "Speex": "Speex"} {
			if bytes.Contains(first, []byte(in)) {
				return errorf("%s is not decoded here; %s", name, convert)
			}
		}
		return errorf("an Ogg file of no sound that is known; %s", convert)
	}
	var head []byte
	if at := bytes.Index(first, []byte("OpusHead")); len(first) >= at+19 {
		head = bytes.Clone(first[at : at+19])
	}
	o := &opusStream{s: s}
	if err := o.head(head); err != nil {
		return err
	}
	pages, _, err := oggreader.NewWith(in)
	if err != nil {
		return err
	}
	heard := int64(0)
	for tags := false; ; {
		packet, page, err := pages.ParseNextPacket()
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		if !tags { // the second packet has titles and other tags
			tags = true
			continue
		}
		left := int64(math.MaxInt64)
		if end := int64(page.GranulePosition); end > 0 { // samples up to the end of the packets of the page
			left = max(0, end-heard)
		}
		n, err := o.packet(packet, left)
		if err != nil {
			return err
		}
		heard += int64(n)
	}
}
