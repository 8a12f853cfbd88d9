package sound_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/avoformer/avoformer/text/sound"
)

// A tone of 0.4 s in an MP3 file.
func ExampleRead() {
	f, err := os.Open("testdata/tone.mp3")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	samples, err := sound.Read(context.Background(), f, sound.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f s\n", float64(len(samples))/sound.Rate)
	// Output: 0.4 s
}
