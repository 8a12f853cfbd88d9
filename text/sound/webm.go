package sound

// Opus in WebM (RFC 8794 and RFC 9559), as browsers record it.

import (
	"bufio"
	"io"
	"math"

	"github.com/avoformer/avoformer/text/internal/wav"
)

// The elements that count. All others are skipped.
const (
	ebmlSegment    = 0x18538067
	ebmlTracks     = 0x1654ae6b
	ebmlTrack      = 0xae
	ebmlNumber     = 0xd7
	ebmlCodec      = 0x86
	ebmlPrivate    = 0x63a2
	ebmlCluster    = 0x1f43b675
	ebmlGroup      = 0xa0
	ebmlBlock      = 0xa1
	ebmlSimple     = 0xa3
	ebmlDiscard    = 0x75a2
	ebmlDelay      = 0x56aa
	mostBlock      = 1 << 20 // bytes
	unknownLength  = math.MaxUint64
	opusCodec      = "A_OPUS"
	blockIsLaced   = 0x06
	blockHeadBytes = 3
)

// webmTrack has the fields of a track.
type webmTrack struct {
	number uint64
	codec  string
	head   []byte
	delay  int // samples at the beginning that are not heard; -1: not said
}

// webmReader reads the elements of a file one after another: those that hold others are entered.
type webmReader struct {
	in     *bufio.Reader
	s      *sink
	track  webmTrack // of which is being read
	tracks []webmTrack
	number uint64 // of the track that is heard
	opus   *opusStream
	held   []byte // the block of a group, which is decoded when the group's end is known
	cut    int64  // nanoseconds at its end, or if negative at its beginning, that are not heard
}

func readWebM(in *bufio.Reader, s *sink) error {
	w := &webmReader{in: in, s: s}
	for {
		id, _, err := w.variable(4, true)
		if err == io.EOF {
			break
		}
		var size uint64
		if err == nil {
			size, _, err = w.variable(8, false)
		}
		if err == nil {
			err = w.element(id, size)
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF { // a recording that was broken off
			break
		} else if err != nil {
			return err
		}
	}
	if err := w.release(); err != nil {
		return err
	}
	if w.opus == nil {
		return w.choose()
	}
	return nil
}

// release decodes the block that is held.
func (w *webmReader) release() error {
	held, cut := w.held, w.cut
	w.held, w.cut = nil, 0
	if held == nil {
		return nil
	}
	return w.block(held, cut)
}

// variable reads a number of up to most bytes, whose first bits say how many they are. An id keeps
// these.
func (w *webmReader) variable(most int, id bool) (v uint64, n int, err error) {
	first, err := w.in.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	for n = 1; n <= most && first>>(8-n) == 0; n++ {
	}
	if n > most {
		return 0, 0, errorf("the WebM file has no element where one should begin")
	}
	v = uint64(first)
	ones := first&(1<<(8-n)-1) == 1<<(8-n)-1
	if !id {
		v &= 1<<(8-n) - 1
	}
	for range n - 1 {
		b, err := w.in.ReadByte()
		if err != nil {
			return 0, 0, io.ErrUnexpectedEOF
		}
		v = v<<8 | uint64(b)
		ones = ones && b == 0xff
	}
	if !id && ones {
		v = unknownLength
	}
	return v, n, nil
}

// element enters, reads or skips an element.
func (w *webmReader) element(id, size uint64) error {
	switch id {
	case ebmlSegment, ebmlTracks, ebmlCluster, ebmlGroup, ebmlSimple:
		if err := w.release(); err != nil || id != ebmlSimple {
			return err
		}
	case ebmlTrack:
		w.tracks, w.track = append(w.tracks, w.track), webmTrack{delay: -1}
		if len(w.tracks) > wav.MostChannels {
			return errorf("more than %d tracks", wav.MostChannels)
		}
		return nil
	case ebmlNumber, ebmlCodec, ebmlPrivate, ebmlBlock, ebmlDiscard, ebmlDelay:
	default:
		if size > math.MaxInt64 {
			return errorf("a WebM element of no length")
		}
		_, err := io.CopyN(io.Discard, w.in, int64(size))
		return err
	}
	if size > mostBlock {
		return errorf("a WebM element of %d bytes, at most %d are possible", size, mostBlock)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(w.in, data); err != nil {
		return err
	}
	switch id {
	case ebmlNumber:
		w.track.number = 0
		for _, b := range data {
			w.track.number = w.track.number<<8 | uint64(b)
		}
	case ebmlCodec:
		w.track.codec = string(data)
	case ebmlPrivate:
		w.track.head = data
	case ebmlDelay:
		w.track.delay = samplesOf(integer(data))
	case ebmlDiscard:
		w.cut = integer(data)
	case ebmlBlock:
		if err := w.release(); err != nil {
			return err
		}
		w.held = data
	default:
		return w.block(data, 0)
	}
	return nil
}

// integer returns a signed number of up to eight bytes.
func integer(data []byte) (v int64) {
	for i, b := range data {
		if i == 0 {
			v = int64(int8(b))
			continue
		}
		v = v<<8 | int64(b)
	}
	return v
}

// samplesOf returns the samples of so many nanoseconds, as the nearest number.
func samplesOf(nanoseconds int64) int {
	return int(math.Round(float64(nanoseconds) * opusRate / 1e9))
}

// choose takes the first track of Opus.
func (w *webmReader) choose() error {
	codecs := ""
	for _, t := range append(w.tracks, w.track) {
		if t.codec == opusCodec {
			w.number, w.opus = t.number, &opusStream{s: w.s}
			if err := w.opus.head(t.head); err != nil {
				return err
			}
			if t.delay >= 0 { // which muxers and players go by
				w.opus.skip = t.delay
			}
			return nil
		}
		codecs += " " + t.codec
	}
	return errorf("a WebM or Matroska file without Opus, with%.100q; %s", codecs, convert)
}

// block decodes a block of the track that is heard, without what is cut off.
func (w *webmReader) block(data []byte, cut int64) error {
	if w.opus == nil {
		if err := w.choose(); err != nil {
			return err
		}
	}
	n := 1
	for ; len(data) > 0 && n <= 8 && data[0]>>(8-n) == 0; n++ {
	}
	if len(data) < n+blockHeadBytes || n > 8 {
		return errorf("a WebM block of %d bytes", len(data))
	}
	number := uint64(data[0]) & (1<<(8-n) - 1)
	for _, b := range data[1:n] {
		number = number<<8 | uint64(b)
	}
	if number != w.number {
		return nil
	}
	if data[n+2]&blockIsLaced != 0 {
		return errorf("WebM blocks with lacing are not decoded here; %s", convert)
	}
	samples, err := w.opus.decode(data[n+blockHeadBytes:])
	if err != nil {
		return err
	}
	if cut < 0 {
		w.opus.skip = max(w.opus.skip, samplesOf(-cut))
	}
	return w.opus.keep(samples - samplesOf(max(cut, 0)))
}
