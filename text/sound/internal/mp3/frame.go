// Package mp3 reads MP3: layer III of MPEG-1, MPEG-2 and MPEG-2.5 audio (ISO/IEC 11172-3 and
// 13818-3), with the tags by which encoders say how much silence they added.
//
//   - frame.go: headers, frames between other bytes, and what tags leave out
//   - bits.go: side information, scale factors and Huffman codes of a frame
//   - decode.go: from these to samples
//   - tables.go: the standard's tables
package mp3

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// headBytes is the length of a frame's header.
const headBytes = 4

// mostFrame is the length of the longest frame: 320,000 bits a second at 32 kHz, or 160,000 at 8
// kHz, with a byte of padding.
const mostFrame = 144*160000/8000 + 1

// header is what the first four bytes of a frame say.
type header struct {
	low        int // 0: MPEG-1, 1: MPEG-2, 2: MPEG-2.5
	rate       int // in Hz
	rateIndex  int // of the tables of bands
	size       int // of the frame, in bytes; 0: it is not said
	channels   int
	joint      int // 1: intensity stereo, 2: sum and difference, 3: both
	checked    bool
	sideBytes  int
	granules   int
	freeFormat bool
}

var (
	rates    = [3]int{44100, 48000, 32000}
	bitrates = [2][15]int{
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
	}
)

// parse reads the header of a frame of layer III.
func parse(b []byte) (h header, ok bool) {
	if len(b) < headBytes || b[0] != 0xff || b[1]&0xe0 != 0xe0 || b[1]>>1&3 != 1 || b[2]>>4 == 15 || b[2]>>2&3 == 3 {
		return h, false
	}
	switch b[1] >> 3 & 3 {
	case 3:
	case 2:
		h.low = 1
	case 0:
		h.low = 2
	default:
		return h, false
	}
	index := int(b[2] >> 2 & 3)
	h.rate, h.rateIndex = rates[index]>>h.low, 3*h.low+index
	h.checked = b[1]&1 == 0
	h.channels, h.granules, h.sideBytes = 2, 2, 32
	if b[3]>>6 == 3 {
		h.channels = 1
	} else if b[3]>>6 == 1 {
		h.joint = int(b[3] >> 4 & 3)
	}
	spread := 144000
	switch {
	case h.low > 0 && h.channels == 1:
		h.sideBytes = 9
	case h.low > 0 || h.channels == 1:
		h.sideBytes = 17
	}
	if h.low > 0 {
		h.granules, spread = 1, 72000
	}
	kilobits := bitrates[min(h.low, 1)][b[2]>>4]
	if h.freeFormat = kilobits == 0; h.freeFormat {
		return h, true
	}
	h.size = spread*kilobits/h.rate + int(b[2]>>1&1)
	return h, h.size >= headBytes+h.sideBytes
}

// like reports whether two frames may be of one stream.
func (h header) like(o header) bool { return h.rateIndex == o.rateIndex }

// samples returns the number of samples of each channel.
func (h header) samples() int { return 576 * h.granules }

// frames finds frames in a file, between tags and other bytes.
type frames struct {
	in    *bufio.Reader
	first header // that others are like
	found bool
	after bool // a frame, with nothing between
}

// Begins reports whether a stream of frames begins in head, the beginning of a file, perhaps after
// bytes that belong to no frame.
func Begins(head []byte) bool {
	for at := range head {
		if sure(head[at:], header{}, false) {
			return true
		}
	}
	return false
}

// FreeFormat reports whether head, the beginning of a file, has frames that do not say how long
// they are: three like each other, at equal distances, of which each may have a byte of padding.
func FreeFormat(head []byte) bool {
	const most = 2 * mostFrame
	free := func(at int) (h header, ok bool) {
		if at+headBytes > len(head) {
			return h, false
		}
		h, ok = parse(head[at:])
		return h, ok && h.freeFormat
	}
	for at := range head {
		first, ok := free(at)
		if !ok {
			continue
		}
		for size := headBytes + first.sideBytes; size <= most; size++ {
			if second, ok := free(at + size); !ok || second != first {
				continue
			}
			for padding := -1; padding <= 1; padding++ {
				if third, ok := free(at + 2*size + padding); ok && third == first {
					return true
				}
			}
		}
	}
	return false
}

// sure reports whether a frame begins b: the next two headers are where they should be, as far as b
// has bytes for them.
func sure(b []byte, like header, known bool) bool {
	const most = 3
	for n := range most {
		h, ok := parse(b)
		if !ok || known && !h.like(like) {
			return n > 0 && len(b) < headBytes
		}
		if h.freeFormat {
			return false
		}
		like, known = h, true
		if h.size >= len(b) {
			return n > 0 || h.size == len(b)
		}
		b = b[h.size:]
	}
	return true
}

// next returns the next frame and its header. Its bytes are valid up to the next call.
func (f *frames) next() (header, []byte, error) {
	for {
		b, err := f.in.Peek(3*mostFrame + headBytes)
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return header{}, nil, err
		}
		if len(b) < headBytes {
			return header{}, nil, io.EOF
		}
		if size := id3(b); size > 0 {
			if _, err := f.in.Discard(size); err != nil {
				return header{}, nil, io.EOF
			}
			continue
		}
		h, ok := parse(b)
		if ok && !h.freeFormat && len(b) >= h.size && (f.found && h.like(f.first) && (f.after || f.follows(b[h.size:])) || sure(b, f.first, f.found)) {
			f.after = true
			if !f.found {
				f.first, f.found = h, true
			}
			frame := b[:h.size]
			_, err := f.in.Discard(h.size)
			return h, frame, err
		}
		f.after = false
		at := 1
		for at < len(b)-headBytes && b[at] != 0xff && string(b[at:at+3]) != "ID3" {
			at++
		}
		if _, err := f.in.Discard(at); err != nil {
			return header{}, nil, err
		}
	}
}

// follows reports whether what comes after a frame may come there: the next one, a tag or nothing.
func (f *frames) follows(b []byte) bool {
	h, ok := parse(b)
	if ok {
		return h.like(f.first)
	}
	return len(b) < headBytes || string(b[:3]) == "TAG" || string(b[:3]) == "ID3" || string(b[:4]) == "APET" || string(b[:4]) == "LYRI"
}

// id3 returns the length of the ID3 tag that begins b; 0: none.
func id3(b []byte) int {
	if len(b) < 10 || string(b[:3]) != "ID3" || b[3] == 0xff || b[4] == 0xff || (b[6]|b[7]|b[8]|b[9])&0x80 != 0 {
		return 0
	}
	size := 10 + (int(b[6])<<21 | int(b[7])<<14 | int(b[8])<<7 | int(b[9]))
	if b[5]&0x10 != 0 { // a footer
		size += 10
	}
	return size
}

// cut is which samples of a stream are not of the recording.
type cut struct{ begin, from, to int64 }

// decoderDelay is the number of samples by which every decoder is late.
const decoderDelay = 528 + 1

// tag reads what an encoder says in a first frame of silence, as Xing's, LAME's and VBRI's tags do;
// false if the frame is of sound.
func tag(h header, frame []byte) (c cut, ok bool) {
	if at := headBytes + 32; len(frame) >= at+4 && string(frame[at:at+4]) == "VBRI" {
		return c, true
	}
	b := frame[headBytes+h.sideBytes:]
	if len(b) < 8 || string(b[:4]) != "Xing" && string(b[:4]) != "Info" {
		return c, false
	}
	flags := binary.BigEndian.Uint32(b[4:])
	b = b[8:]
	total := int64(-1)
	if flags&1 != 0 && len(b) >= 4 {
		total = int64(binary.BigEndian.Uint32(b))
	}
	skip := 0
	for bit, size := range []int{4, 4, 100, 4} {
		if flags>>bit&1 != 0 {
			skip += size
		}
	}
	const pads = 21 // from the encoder's name to the numbers of added samples
	if len(b) < skip+pads+3 {
		return c, true
	}
	if b = b[skip:]; string(b[:4]) != "LAME" && string(b[:4]) != "Lavf" && string(b[:4]) != "Lavc" {
		return c, true
	}
	delay, padding := int64(b[pads])<<4|int64(b[pads+1])>>4, int64(b[pads+1]&15)<<8|int64(b[pads+2])
	c.begin = delay + decoderDelay
	if total >= 0 {
		c.to = total * int64(h.samples())
		c.from = min(c.to, c.to-padding+decoderDelay)
	}
	return c, true
}

// Read decodes a file. begin gets its rate and the number of its channels, and add each sample, the
// mean of the channels.
func Read(in *bufio.Reader, begin func(rate, channels int) error, add func(x float64) error) error {
	f := &frames{in: in}
	d := newDecoder()
	var c cut
	at := int64(0) // samples before
	for first := true; ; first = false {
		h, frame, err := f.next()
		if err == io.EOF {
			if first {
				return errors.New("no frame")
			}
			return nil
		} else if err != nil {
			return err
		}
		if first {
			if err := begin(h.rate, h.channels); err != nil {
				return err
			}
			var tagged bool
			if c, tagged = tag(h, frame); tagged {
				continue
			}
		}
		for _, x := range d.decode(h, frame) {
			if at >= c.begin && (at < c.from || at >= c.to) {
				if err := add(x); err != nil {
					return err
				}
			}
			at++
		}
	}
}
