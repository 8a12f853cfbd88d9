package sound

// Ogg (RFC 3533) with Opus (RFC 7845), Vorbis or FLAC, also several recordings after each other.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
)

// mostPacket is the most bytes of a packet.
const mostPacket = 1 << 22

// oggPage has the packets that end on a page of a stream.
type oggPage struct {
	packets [][]byte
	serial  uint32
	end     int64 // of the samples of these packets, by the stream's count; -1: no packet ends here
	first   bool  // of the stream
	last    bool
}

// oggReader reads pages.
type oggReader struct {
	in   *bufio.Reader
	open map[uint32][]byte // packets that have begun
}

const (
	oggContinued = 1 << iota
	oggFirst
	oggLast
)

// next returns the next page, or io.EOF, also where a file was broken off.
func (r *oggReader) next() (p oggPage, err error) {
	const headBytes = 27
	head := make([]byte, headBytes, headBytes+255)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return p, brokenOff(err)
	}
	if string(head[:4]) != "OggS" || head[4] != 0 {
		if string(head[:3]) == "TAG" || bytes.Count(head, []byte{0}) == len(head) {
			return p, io.EOF
		}
		return p, errorf("the Ogg file has no page where one should begin")
	}
	head = head[:headBytes+int(head[26])]
	if _, err := io.ReadFull(r.in, head[headBytes:]); err != nil {
		return p, brokenOff(err)
	}
	size := 0
	for _, n := range head[headBytes:] {
		size += int(n)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(r.in, body); err != nil {
		return p, brokenOff(err)
	}
	sum := binary.LittleEndian.Uint32(head[22:])
	copy(head[22:26], "\x00\x00\x00\x00")
	if oggSum(oggSum(0, head), body) != sum {
		return p, errorf("a page of the Ogg file is damaged")
	}
	p.end, p.serial = int64(binary.LittleEndian.Uint64(head[6:])), binary.LittleEndian.Uint32(head[14:])
	p.first, p.last = head[5]&oggFirst != 0, head[5]&oggLast != 0
	packet, begun := r.open[p.serial]
	delete(r.open, p.serial)
	if head[5]&oggContinued == 0 {
		packet, begun = nil, true
	}
	for _, n := range head[headBytes:] {
		packet = append(packet, body[:n]...)
		body = body[n:]
		if len(packet) > mostPacket {
			return p, errorf("a packet of over %d bytes", mostPacket)
		}
		if n < 255 {
			if begun { // else its beginning is missing
				p.packets = append(p.packets, packet)
			}
			packet, begun = nil, true
		}
	}
	if n := len(head); n > headBytes && head[n-1] == 255 && begun {
		if len(r.open) > 16 {
			return p, errorf("more than 16 streams at a time")
		}
		r.open[p.serial] = packet
	}
	return p, nil
}

// brokenOff makes the end of a recording that was broken off its end.
func brokenOff(err error) error {
	if err == io.ErrUnexpectedEOF {
		return io.EOF
	}
	return err
}

var oggTable = func() (t [256]uint32) {
	for i := range t {
		v := uint32(i) << 24
		for range 8 {
			v = v<<1 ^ v>>31*0x04c11db7
		}
		t[i] = v
	}
	return t
}()

func oggSum(sum uint32, data []byte) uint32 {
	for _, b := range data {
		sum = sum<<8 ^ oggTable[byte(sum>>24)^b]
	}
	return sum
}

// An oggStream decodes the pages of a stream, the first of which has its head.
type oggStream interface {
	page(p oggPage) error
	end() error
}

// oggKinds has the bytes that streams of each kind begin with. Those without begin are not decoded.
var oggKinds = []struct {
	head, name string
	begin      func(s *sink, head []byte) (oggStream, error)
}{
	{"OpusHead", "Opus", beginOggOpus}, {"\x01vorbis", "Vorbis", beginVorbis}, {"\x7fFLAC", "FLAC", beginOggFLAC}, {"Speex   ", "Speex", nil},
}

func readOgg(in *bufio.Reader, s *sink) error {
	r := &oggReader{in: in, open: map[uint32][]byte{}}
	var stream oggStream // that is heard
	var serial uint32
	defer func() { // after an error
		if stream != nil {
			stream.end()
		}
	}()
	heads, others := false, "" // whether streams are beginning, and those that are not decoded
	any := false
	for {
		p, err := r.next()
		if err == io.EOF {
			if stream != nil {
				return stream.end()
			}
			if any {
				return nil
			}
			return errorf("an Ogg file of no sound that is decoded here%s; %s", others, convert)
		} else if err != nil {
			return err
		}
		switch {
		case p.first && len(p.packets) > 0:
			if !heads && stream != nil { // the next recording
				if err := stream.end(); err != nil {
					return err
				}
				stream, others = nil, ""
			}
			heads = true
			for _, k := range oggKinds {
				if stream != nil || !bytes.HasPrefix(p.packets[0], []byte(k.head)) {
					continue
				}
				if k.begin == nil {
					others += ", but " + k.name
					continue
				}
				if stream, err = k.begin(s, p.packets[0]); err != nil {
					return err
				}
				serial, any = p.serial, true
			}
		case stream != nil && p.serial == serial:
			heads = false
			if err := stream.page(p); err != nil {
				return err
			}
		default:
			heads = heads && p.serial != serial
		}
	}
}

// oggClock says how many samples of a page are heard.
type oggClock struct {
	began bool
	base  int64 // of the stream's count before its first sample
	heard int64
}

// heardOf returns the number of a page's samples that are heard: on the last page only those up to
// its end.
func (c *oggClock) heardOf(p oggPage, samples int64) int64 {
	if p.end < 0 {
		c.heard += samples
		return samples
	}
	if !c.began {
		c.began = true
		if !p.last {
			c.base = max(0, p.end-samples)
		}
	}
	before := c.heard
	c.heard += samples
	if p.last {
		return min(samples, max(0, p.end-c.base-before))
	}
	return samples
}

// oggOpus is a stream of Opus.
type oggOpus struct {
	opusStream
	clock oggClock
	tags  bool // have come
}

func beginOggOpus(s *sink, head []byte) (oggStream, error) {
	o := &oggOpus{opusStream: opusStream{s: s}}
	return o, o.head(head)
}

func (o *oggOpus) page(p oggPage) error {
	if !o.tags && len(p.packets) > 0 { // the second packet has titles and other tags
		o.tags = true
		p.packets = p.packets[1:]
	}
	if len(p.packets) == 0 {
		return nil
	}
	total := int64(0)
	for _, b := range p.packets {
		n, err := opusSamples(b)
		if err != nil {
			return err
		}
		total += int64(n)
	}
	left := o.clock.heardOf(p, total)
	for _, b := range p.packets {
		n, err := o.decode(b)
		if err != nil {
			return err
		}
		if err := o.keep(int(min(int64(n), left))); err != nil {
			return err
		}
		left -= min(int64(n), left)
	}
	return nil
}

func (o *oggOpus) end() error { return nil }

// opusSamples returns the number of samples of a packet, by its first bytes (RFC 6716, section
// 3.1).
func opusSamples(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errorf("an Opus packet without bytes")
	}
	config, frames := int(b[0]>>3), 1
	switch b[0] & 3 {
	case 1, 2:
		frames = 2
	case 3:
		if len(b) < 2 {
			return 0, errorf("an Opus packet without a count of frames")
		}
		frames = int(b[1] & 63)
	}
	var n int
	switch {
	case config < 12:
		n = [4]int{480, 960, 1920, 2880}[config&3]
	case config < 16:
		n = [2]int{480, 960}[config&1]
	default:
		n = 120 << (config & 3)
	}
	return n * frames, nil
}
