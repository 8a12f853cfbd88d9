package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/avoformer/avoformer/internal/half"
)

// Dequantize writes the values of the elements in src, which are in format t, to dst.
// F32, F16 and BF16 are exact; F64 and products of scales are rounded to float32, one
// operation after the other, as ggml does, so that the results have its bits.
//
// It gives an error that matches [ErrType] for another format, and one that matches
// [ErrFormat] unless src is exactly what len(dst) elements take.
//
// Source: the block formats of ggml-common.h.
func Dequantize(t Type, dst []float32, src []byte) error {
	f := dequantizers[t]
	if f == nil {
		return fmt.Errorf("%w: %v, want one that can be converted to float32", ErrType, t)
	}
	l := layouts[t]
	if len(dst)%l.block != 0 || len(src) != t.Bytes(len(dst)) {
		return fmt.Errorf("%w: %d bytes for %d elements of %v, which has %d bytes for each %d", ErrFormat, len(src), len(dst), t, l.bytes, l.block)
	}
	for len(dst) > 0 {
		f(dst[:l.block], src[:l.bytes])
		dst, src = dst[l.block:], src[l.bytes:]
	}
	return nil
}

// dequantizers convert one block.
var dequantizers = map[Type]func(y []float32, b []byte){
	F32:  func(y []float32, b []byte) { y[0] = math.Float32frombits(binary.LittleEndian.Uint32(b)) },
	F16:  func(y []float32, b []byte) { y[0] = float16(b) },
	BF16: func(y []float32, b []byte) { y[0] = half.BFloat16(binary.LittleEndian.Uint16(b)) },
	F64:  func(y []float32, b []byte) { y[0] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b))) },
	Q8_0: dequantizeQ8_0,
	Q4_0: dequantizeQ4_0, Q4_1: dequantizeQ4_1, Q5_0: dequantizeQ5_0, Q5_1: dequantizeQ5_1,
	Q4_K: dequantizeQ4_K, Q5_K: dequantizeQ5_K, Q6_K: dequantizeQ6_K,
}

func float16(b []byte) float32 { return half.Float16(binary.LittleEndian.Uint16(b)) }

// In what follows float32(x*y) keeps a product from being fused with an addition.

// dequantizeQ8_0: y = scale*q.
func dequantizeQ8_0(y []float32, b []byte) {
	scale := float16(b)
	for i, q := range b[2:] {
		y[i] = scale * float32(int8(q))
	}
}

// dequantizeQ4_0: y = scale*(q-8). The low halves of the bytes are the first 16
// elements, here and in the other formats of 32.
func dequantizeQ4_0(y []float32, b []byte) {
	scale := float16(b)
	for i, q := range b[2:] {
		y[i] = scale * float32(int(q&15)-8)
		y[i+16] = scale * float32(int(q>>4)-8)
	}
}

// dequantizeQ4_1: y = scale*q + min.
func dequantizeQ4_1(y []float32, b []byte) {
	scale, least := float16(b), float16(b[2:])
	for i, q := range b[4:] {
		y[i] = float32(scale*float32(q&15)) + least
		y[i+16] = float32(scale*float32(q>>4)) + least
	}
}

// fifth is bit i of high, as the fifth bit of a number.
func fifth(high uint32, i int) byte { return byte(high>>i&1) << 4 }

// dequantizeQ5_0: y = scale*(q-16); bit i of the word behind the scale is the fifth of
// element i.
func dequantizeQ5_0(y []float32, b []byte) {
	scale, high := float16(b), binary.LittleEndian.Uint32(b[2:])
	for i, q := range b[6:] {
		y[i] = scale * float32(int(q&15|fifth(high, i))-16)
		y[i+16] = scale * float32(int(q>>4|fifth(high, i+16))-16)
	}
}

// WidenQ5_0 sets dst to the blocks of type Q8_0 that hold exactly the numbers of the
// blocks of type Q5_0 in src: 34 bytes for every 22. It panics unless the lengths are so.
func WidenQ5_0(dst, src []byte) {
	if n := len(src) / 22; len(src) != n*22 || len(dst) != n*34 {
		panic(fmt.Sprintf("gguf: WidenQ5_0: %d bytes of dst for %d of src, want 34 for each 22", len(dst), len(src)))
	}
	for ; len(src) > 0; dst, src = dst[34:], src[22:] {
		copy(dst, src[:2])
		high := binary.LittleEndian.Uint32(src[2:])
		for i, q := range src[6:22] {
			dst[2+i] = (q&15 | fifth(high, i)) - 16
			dst[18+i] = (q>>4 | fifth(high, i+16)) - 16
		}
	}
}

// dequantizeQ5_1: y = scale*q + min.
func dequantizeQ5_1(y []float32, b []byte) {
	scale, least, high := float16(b), float16(b[2:]), binary.LittleEndian.Uint32(b[4:])
	for i, q := range b[8:] {
		y[i] = float32(scale*float32(q&15|fifth(high, i))) + least
		y[i+16] = float32(scale*float32(q>>4|fifth(high, i+16))) + least
	}
}

// scaleMin is the 6-bit scale and minimum of group i, 0 to 7, in the 12 bytes of a
// Q4_K or Q5_K block: the first four groups' in bytes of their own, whose upper two
// bits complete those of the last four.
func scaleMin(b []byte, i int) (scale, least byte) {
	if i < 4 {
		return b[i] & 63, b[i+4] & 63
	}
	return b[i+4]&15 | b[i-4]>>6<<4, b[i+4]>>4 | b[i]>>6<<4
}

// dequantizeQ4_K: y = (d*scale)*q - (dmin*min); each 32 bytes are two groups, the
// first in the low halves.
func dequantizeQ4_K(y []float32, b []byte) {
	d, dmin := float16(b), float16(b[2:])
	for group := range 8 {
		s, m := scaleMin(b[4:16], group)
		scale, least := d*float32(s), float32(dmin*float32(m))
		for i, q := range b[16+group/2*32:][:32] {
			q = q >> (group % 2 * 4) & 15
			y[group*32+i] = float32(scale*float32(q)) - least
		}
	}
}

// dequantizeQ5_K is dequantizeQ4_K with a fifth bit, that of group g being bit g of
// the 32 bytes before.
func dequantizeQ5_K(y []float32, b []byte) {
	d, dmin, high := float16(b), float16(b[2:]), b[16:48]
	for group := range 8 {
		s, m := scaleMin(b[4:16], group)
		scale, least := d*float32(s), float32(dmin*float32(m))
		for i, q := range b[48+group/2*32:][:32] {
			q = q>>(group%2*4)&15 | high[i]>>group&1<<4
			y[group*32+i] = float32(scale*float32(q)) - least
		}
	}
}

// dequantizeQ6_K: y = (d*scale)*(q-32), with 128 bytes of low halves, 64 of upper two
// bits, and 16 signed scales. Each 64 low bytes and 32 upper ones are 128 elements.
func dequantizeQ6_K(y []float32, b []byte) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], float16(b[208:])
	for i := range y {
		part, at := i/128, i%128
		q := low[part*64+at%64] >> (at / 64 * 4) & 15
		q |= high[part*32+at%32] >> (at / 32 * 2) & 3 << 4
		scale := d * float32(int8(scales[i/16]))
		y[i] = scale * float32(int(q)-32)
	}
}
