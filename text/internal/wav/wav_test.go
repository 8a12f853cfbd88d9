package wav

// Every form of WAV.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// readAll is all samples of a file.
func readAll(r io.Reader) (samples []float32, err error) {
	err = Read(r, func(int, int) error { return nil }, func(x float64) error {
		samples = append(samples, float32(x))
		return nil
	})
	return samples, err
}

// wavFile is a WAV file of a form: what a test changes of it is a field.
type wavFile struct {
	magic              string
	riff, length       uint32
	format, bits       uint16
	channels           uint16
	rate               uint32
	align              uint16 // 0: right
	extensible         bool
	guid               string
	before, ds64, data []byte
}

func (f wavFile) bytes() []byte {
	le := binary.LittleEndian
	if f.align == 0 {
		f.align = f.channels * f.bits / 8
	}
	format := f.format
	if f.extensible {
		format = wavExtensible
	}
	head := le.AppendUint16(nil, format)
	head = le.AppendUint16(head, f.channels)
	head = le.AppendUint32(head, f.rate)
	head = le.AppendUint32(head, f.rate*uint32(f.align))
	head = le.AppendUint16(head, f.align)
	head = le.AppendUint16(head, f.bits)
	if f.extensible {
		head = append(le.AppendUint16(head, 22), 0, 0, 0, 0, 0, 0)
		head = append(le.AppendUint16(head, f.format), f.guid...)
	}
	b := append(le.AppendUint32([]byte(f.magic), f.riff), "WAVE"...)
	chunk := func(name string, size uint32, data []byte) {
		b = append(le.AppendUint32(append(b, name...), size), data...)
		if len(data)%2 == 1 {
			b = append(b, 0)
		}
	}
	if f.ds64 != nil {
		chunk("ds64", uint32(len(f.ds64)), f.ds64)
	}
	chunk("LIST", uint32(len(f.before)), f.before)
	chunk("fmt ", uint32(len(head)), head)
	chunk("data", f.length, f.data)
	return b
}

// encodeSample appends x as a sample of a format, as its definition has it.
func encodeSample(b []byte, format, bits uint16, x float64) []byte {
	le := binary.LittleEndian
	nearest := func(decode func(byte) float64) byte {
		best := 0
		for c := range 256 {
			if math.Abs(decode(byte(c))-x*32768) < math.Abs(decode(byte(best))-x*32768) {
				best = c
			}
		}
		return byte(best)
	}
	switch {
	case format == wavALaw:
		return append(b, nearest(aLaw))
	case format == wavMuLaw:
		return append(b, nearest(muLaw))
	case format == wavFloat && bits == 32:
		return le.AppendUint32(b, math.Float32bits(float32(x)))
	case format == wavFloat:
		return le.AppendUint64(b, math.Float64bits(x))
	case bits == 8:
		return append(b, byte(math.Round(x*127)+128))
	}
	v := uint32(int32(x * (1<<31 - 1)))
	all := le.AppendUint32(nil, v)
	return append(b, all[4-bits/8:]...)
}

// tone returns a second channel's half of a tone and the other half, whose mean is the tone.
func tone(i int) (left, right, mean float64) {
	mean = 0.4 * math.Sin(float64(i)/9)
	return mean + 0.1, mean - 0.1, mean
}

// TestWAVForms: a tone in two channels comes out of every form as it went in, as exactly as the
// form is.
func TestWAVForms(t *testing.T) {
	const n = 1000
	ds64 := func(riff, data uint64) []byte {
		b := binary.LittleEndian.AppendUint64(nil, riff)
		b = binary.LittleEndian.AppendUint64(b, data)
		return binary.LittleEndian.AppendUint64(b, n)
	}
	for _, x := range []struct {
		name         string
		format, bits uint16
		bound        float64
	}{
		{"8 bits", wavPCM, 8, 0.01}, {"16 bits", wavPCM, 16, 5e-5}, {"24 bits", wavPCM, 24, 5e-7}, {"32 bits", wavPCM, 32, 1e-7},
		{"float32", wavFloat, 32, 1e-7}, {"float64", wavFloat, 64, 1e-7}, {"A-law", wavALaw, 8, 0.02}, {"mu-law", wavMuLaw, 8, 0.02},
	} {
		plain := wavFile{magic: "RIFF", format: x.format, bits: x.bits, channels: 2, rate: 16000, before: []byte("odd"), guid: extensible}
		for i := range n {
			left, right, _ := tone(i)
			plain.data = encodeSample(encodeSample(plain.data, x.format, x.bits, left), x.format, x.bits, right)
		}
		plain.length = uint32(len(plain.data))
		plain.riff = uint32(len(plain.bytes()) - 8)
		variants := map[string]wavFile{"": plain}
		change := func(name string, f func(w *wavFile)) {
			w := plain
			f(&w)
			variants[name] = w
		}
		change("extensible", func(w *wavFile) { w.extensible = true })
		change("from a pipe, 0", func(w *wavFile) { w.riff, w.length = 0, 0 })
		change("from a pipe, the header's length", func(w *wavFile) { w.length, w.riff = 0, w.riff-w.length })
		change("from a pipe, -1", func(w *wavFile) { w.riff, w.length = math.MaxUint32, math.MaxUint32 })
		change("cut off", func(w *wavFile) { w.length *= 2 })
		for _, magic := range []string{"RF64", "BW64"} {
			change(magic, func(w *wavFile) {
				w.magic, w.riff, w.length, w.ds64 = magic, math.MaxUint32, math.MaxUint32, ds64(uint64(w.riff)+32, uint64(w.length))
				w.data = append(bytes.Clone(w.data), "LIST\x04\x00\x00\x00\x7f\x7f\x7f\x7f"...) // what follows is not sound
			})
		}
		for name, w := range variants {
			got, err := readAll(bytes.NewReader(w.bytes()))
			if err != nil || len(got) != n {
				t.Errorf("%s, %s: %d samples, %v", x.name, name, len(got), err)
				continue
			}
			for i := range got {
				if _, _, want := tone(i); math.Abs(float64(got[i])-want) > x.bound {
					t.Errorf("%s, %s: sample %d is %g, want %g", x.name, name, i, got[i], want)
					break
				}
			}
		}
	}
}

// TestCompanding: G.711's tables at their ends and at their first steps.
func TestCompanding(t *testing.T) {
	for b, want := range map[byte]float64{0xff: 0, 0x7f: 0, 0x80: 32124, 0x00: -32124, 0xfe: 8, 0xf0: 120, 0xef: 132} {
		if got := muLaw(b); got != want {
			t.Errorf("mu-law %#x: %g, want %g", b, got, want)
		}
	}
	for b, want := range map[byte]float64{0xd5: 8, 0x55: -8, 0xaa: 32256, 0x2a: -32256, 0xc5: 264, 0xd4: 24, 0xf5: 528} {
		if got := aLaw(b); got != want {
			t.Errorf("A-law %#x: %g, want %g", b, got, want)
		}
	}
}

// TestWAVHostile: headers that lie, and samples that are not numbers, are errors that say what is
// wrong.
func TestWAVHostile(t *testing.T) {
	plain := wavFile{magic: "RIFF", format: wavPCM, bits: 16, channels: 1, rate: 16000, length: 4, data: []byte{1, 2, 3, 4}, guid: extensible}
	for want, change := range map[string]func(w *wavFile){
		"65535 channels":              func(w *wavFile) { w.channels = 65535 },
		"0 channels":                  func(w *wavFile) { w.channels = 0 },
		"0 samples a second":          func(w *wavFile) { w.rate = 0 },
		"4294967295 samples a second": func(w *wavFile) { w.rate = math.MaxUint32 },
		"3 bytes for a sample":        func(w *wavFile) { w.align = 3 },
		"format 1 with 12 bits":       func(w *wavFile) { w.bits = 12 },
		"format 1 with 64 bits":       func(w *wavFile) { w.bits = 64 },
		"format 9 with 16 bits":       func(w *wavFile) { w.format = 9 },
		"IMA ADPCM":                   func(w *wavFile) { w.format = 0x11 },
		"MP3":                         func(w *wavFile) { w.format = 0x55 },
		"EXTENSIBLE without a format": func(w *wavFile) { w.extensible, w.guid = true, strings.Repeat("x", 14) },
		"sample 1 is NaN":             func(w *wavFile) { *w = floats(*w, 0.5, float32(math.NaN())) },
		"sample 0 is -Inf":            func(w *wavFile) { *w = floats(*w, float32(math.Inf(-1))) },
		"no samples":                  func(w *wavFile) { w.data, w.length = nil, 0 },
		"no WAV file":                 func(w *wavFile) { w.magic = "RIFX" },
	} {
		w := plain
		change(&w)
		if _, err := readAll(bytes.NewReader(w.bytes())); !errors.Is(err, fault.ErrSound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	whole := plain.bytes()
	for n := range len(whole) - 3 {
		if _, err := readAll(bytes.NewReader(whole[:n])); !errors.Is(err, fault.ErrSound) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// TestWAVClaims: hours that a header claims take no memory.
func TestWAVClaims(t *testing.T) {
	w := wavFile{magic: "RIFF", format: wavPCM, bits: 16, channels: 1, rate: 16000, length: 2 * 3600 * 16000 * 2, data: make([]byte, 64)}
	data := w.bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	samples, err := readAll(bytes.NewReader(data))
	runtime.ReadMemStats(&after)
	if err != nil || len(samples) != 32 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("%d bytes for 32 samples", taken)
	}
}

func floats(w wavFile, samples ...float32) wavFile {
	w.format, w.bits, w.data = wavFloat, 32, nil
	for _, x := range samples {
		w.data = binary.LittleEndian.AppendUint32(w.data, math.Float32bits(x))
	}
	w.length = uint32(len(w.data))
	return w
}

// FuzzRead: whatever a file holds, it is samples that are finite, or a fault.ErrSound.
func FuzzRead(f *testing.F) {
	f.Add(wavFile{magic: "RIFF", format: wavPCM, bits: 16, channels: 1, rate: 16000, length: 4, data: []byte{1, 2, 3, 4}}.bytes())
	f.Add(wavFile{magic: "RF64", format: wavMuLaw, bits: 8, channels: 2, rate: 8000, ds64: make([]byte, 28), data: make([]byte, 9)}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := readAll(bytes.NewReader(data))
		if err != nil && !errors.Is(err, fault.ErrSound) {
			t.Fatal(err)
		}
		for i, x := range samples {
			if math.IsNaN(float64(x)) {
				t.Fatalf("sample %d is NaN", i)
			}
		}
	})
}
