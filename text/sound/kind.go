package sound

// What a file is, by its first bytes.

import (
	"bufio"
	"bytes"
	"io"

	"github.com/avoformer/avoformer/text/sound/internal/mp3"
)

type kind string

const (
	riff kind = "WAV"
	mpeg kind = "MP3"
	flac kind = "FLAC"
	ogg  kind = "Ogg"
	webm kind = "WebM"
)

// convert is the advice for a file of a kind that is not decoded here.
const convert = "convert it to WAV, FLAC, MP3, Vorbis or Opus: ffmpeg -i IN OUT.flac"

// others are kinds that are told by name: the bytes at a place of the file.
var others = []struct {
	at   int
	text string
	name string
}{
	{4, "ftyp", "MP4 or M4A, of AAC or ALAC"}, {0, "FORM", "AIFF"}, {0, "caff", "Core Audio"}, {0, "#!AMR", "AMR"},
	{0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11", "Windows Media Audio"}, {0, ".snd", "Sun audio"}, {0, "ADIF", "AAC"}, {0, "RIFX", "WAV with the highest byte first"},
	{0, "wvpk", "WavPack"}, {0, "MAC ", "Monkey's Audio"},
}

// lookAhead is the number of bytes of a file from which its kind is known. Only MP3 may begin later
// than at the first.
const lookAhead = 1 << 16

// kindOf returns the kind of a file that begins with head. Any other kind is an error.
func kindOf(head []byte) (kind, error) {
	begins := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	switch {
	case begins("RIFF") || begins("RF64") || begins("BW64"):
		return riff, nil
	case begins("fLaC"):
		return flac, nil
	case begins("OggS"):
		return ogg, nil
	case begins("\x1a\x45\xdf\xa3"):
		return webm, nil
	case len(head) == 0:
		return "", errorf("the file is empty")
	}
	for _, o := range others {
		if len(head) >= o.at && bytes.HasPrefix(head[o.at:], []byte(o.text)) {
			return "", errorf("%s is not decoded here; %s", o.name, convert)
		}
	}
	layer := -1 // bits of the first frame of MPEG audio
	if len(head) >= 2 && head[0] == 0xff && head[1]&0xe0 == 0xe0 {
		layer = int(head[1] >> 1 & 3)
	}
	switch {
	case layer == 0:
		return "", errorf("AAC is not decoded here; %s", convert)
	case mp3.Begins(head): // perhaps after zeros or other bytes
		return mpeg, nil
	case mp3.FreeFormat(head):
		return "", errorf("MP3 of free format is not decoded here; %s", convert)
	case layer >= 2:
		return "", errorf("MPEG audio of layer 1 or 2 is not decoded here; %s", convert)
	}
	return "", errorf("no sound file of a kind that is known, such as WAV, MP3, FLAC, Ogg or WebM")
}

// skipTags skips ID3 tags.
func skipTags(in *bufio.Reader) error {
	for {
		head, err := in.Peek(10)
		if err == io.EOF || err == nil && string(head[:3]) != "ID3" {
			return nil
		} else if err != nil {
			return err
		}
		size := 0 // in bytes of seven bits
		for _, b := range head[6:] {
			size = size<<7 | int(b&0x7f)
		}
		if _, err := in.Discard(10 + size); err != nil {
			return errorf("the file ends in its tags")
		}
	}
}
