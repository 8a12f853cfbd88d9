package sound

// MP3 and FLAC.

import (
	"bufio"
	"encoding/binary"
	"io"

	gomp3 "github.com/hajimehoshi/go-mp3"
	goflac "github.com/mewkiz/flac"
)

func readMP3(in *bufio.Reader, s *sink) error {
	d, err := gomp3.NewDecoder(struct{ io.Reader }{in}) // one that can seek would be read twice
	if err != nil {
		return err
	}
	if err := s.begin(d.SampleRate(), 2); err != nil {
		return err
	}
	frame := make([]byte, 4) // two channels of 16 bits, whatever the file has
	out := bufio.NewReaderSize(d, 1<<14)
	for {
		switch _, err := io.ReadFull(out, frame); err {
		case nil:
		case io.EOF, io.ErrUnexpectedEOF:
			return nil
		default:
			return err
		}
		left, right := int16(binary.LittleEndian.Uint16(frame)), int16(binary.LittleEndian.Uint16(frame[2:]))
		if err := s.add((float64(left) + float64(right)) / (2 << 15)); err != nil {
			return err
		}
	}
}

func readFLAC(in *bufio.Reader, s *sink) error {
	stream, err := goflac.New(in)
	if err != nil {
		return err
	}
	if err := s.begin(int(stream.Info.SampleRate), int(stream.Info.NChannels)); err != nil {
		return err
	}
	for {
		f, err := stream.ParseNext()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		bits := f.BitsPerSample
		if bits == 0 {
			bits = stream.Info.BitsPerSample
		}
		if bits < 4 || bits > 32 || len(f.Subframes) == 0 {
			return errorf("a frame of %d channels with %d bits", len(f.Subframes), bits)
		}
		scale := float64(len(f.Subframes)) * float64(uint64(1)<<(bits-1))
		for i := range f.Subframes[0].Samples {
			sum := 0.0
			for _, channel := range f.Subframes {
				sum += float64(channel.Samples[i])
			}
			if err := s.add(sum / scale); err != nil {
				return err
			}
		}
	}
}
