package workload

import (
	"encoding/binary"
	"math"
)

// Encode returns x as little-endian bytes, the form of files and models.
func Encode(x []float32) []byte {
	b := make([]byte, 4*len(x))
	for i, v := range x {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}

// Decode returns the numbers that Encode has encoded.
func Decode(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}
