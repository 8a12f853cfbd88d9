package sound

// MP3 and FLAC, also FLAC in Ogg.

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	goflac "github.com/mewkiz/flac"

	"github.com/avoformer/avoformer/text/sound/internal/mp3"
)

func readMP3(in *bufio.Reader, s *sink) error {
	return mp3.Read(in, s.begin, s.add)
}

func readFLAC(in *bufio.Reader, s *sink) error {
	stream, err := goflac.New(in)
	if err != nil {
		return err
	}
	if err := s.begin(int(stream.Info.SampleRate), int(stream.Info.NChannels)); err != nil {
		return err
	}
	for left := stream.Info.NSamples; ; {
		if stream.Info.NSamples > 0 && left == 0 { // tags may follow
			return nil
		}
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
		left -= min(left, uint64(len(f.Subframes[0].Samples)))
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

// oggFLAC is a stream of FLAC in Ogg: its packets without the first bytes of the first one are a
// FLAC file, which another goroutine reads.
type oggFLAC struct {
	to   *io.PipeWriter
	done chan error
	over bool
}

func beginOggFLAC(s *sink, head []byte) (oggStream, error) {
	const before = 9 // the name, the version and the number of headers
	if len(head) < before+4 || !bytes.HasPrefix(head[before:], []byte("fLaC")) {
		return nil, errorf("the head of a FLAC stream is damaged")
	}
	from, to := io.Pipe()
	f := &oggFLAC{to: to, done: make(chan error, 1)}
	go func() {
		var err error
		defer func() {
			if v := recover(); v != nil {
				err = errorf("the file is damaged: %v", v)
			}
			from.CloseWithError(errOver)
			f.done <- err
		}()
		err = readFLAC(bufio.NewReader(from), s)
	}()
	return f, f.write(head[before:])
}

// errOver is that the reader of a pipe has ended.
var errOver = errors.New("the FLAC stream is over")

func (f *oggFLAC) write(b []byte) error {
	if _, err := f.to.Write(b); err != nil {
		return f.end()
	}
	return nil
}

func (f *oggFLAC) page(p oggPage) error {
	for _, b := range p.packets {
		if f.over {
			break
		}
		if err := f.write(b); err != nil {
			return err
		}
	}
	return nil
}

// end waits for the reader.
func (f *oggFLAC) end() error {
	if f.over {
		return nil
	}
	f.over = true
	f.to.Close()
	return <-f.done
}
