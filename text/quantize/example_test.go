package quantize_test

import (
	"fmt"
	"log"

	"github.com/avoformer/avoformer/text/quantize"
)

// Vectors as the codes that databases take: a byte or a bit for each number.
func ExampleRangesOf() {
	vectors := [][]float32{{-1, 0.5}, {1, -0.5}, {0, 0.25}}
	ranges, err := quantize.RangesOf(vectors)
	if err != nil {
		log.Fatal(err)
	}
	codes, err := ranges.Uint8(vectors)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(codes, quantize.UBinary(vectors), quantize.Binary(vectors))
	// Output: [[0 254] [254 0] [127 191]] [[64] [128] [64]] [[-64] [0] [-64]]
}
