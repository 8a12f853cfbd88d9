package audio_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"math"

	"github.com/avoformer/avoformer/text/audio"
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A WAV file of 8 kHz becomes samples of 16 kHz, as transcribers take them.
func ExampleReadWAV() {
	var file bytes.Buffer
	file.WriteString("RIFF\x00\x00\x00\x00WAVEfmt ")
	for _, v := range []any{uint32(16), uint16(1), uint16(1), uint32(8000), uint32(16000), uint16(2), uint16(16)} {
		must(binary.Write(&file, binary.LittleEndian, v))
	}
	file.WriteString("data")
	must(binary.Write(&file, binary.LittleEndian, uint32(2*800)))
	for i := range 800 {
		must(binary.Write(&file, binary.LittleEndian, int16(10000*math.Sin(float64(i)/10))))
	}
	samples, err := audio.ReadWAV(&file)
	must(err)
	slower, err := audio.Resample(samples, 16000, 8000)
	must(err)
	fmt.Println(len(samples), len(slower))
	// Output: 1600 800
}
