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

func ExampleScaled() {
	codes, scales, err := quantize.Scaled([][]float32{{0.5, -1, 0.25}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d times %.4f\n", codes[0], scales[0])
	// Output: [64 -127 32] times 0.0079
}

func ExampleFloat16() {
	halves, err := quantize.Float16([][]float32{{0.5, -1, 0.1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%#04x\n", halves)
	// Output: [[0x3800 0xbc00 0x2e66]]
}

func ExampleReverseBits() {
	fmt.Printf("%08b\n", quantize.ReverseBits(quantize.UBinary([][]float32{{1, -1, -1, 1, -1, -1, -1, -1}})))
	// Output: [[00001001]]
}
