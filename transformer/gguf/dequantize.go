package gguf

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/half"
)

// Dequantize writes the values of the elements in src, which are in format t, to dst. F32, F16 and
// BF16 are exact; F64 and products of scales are rounded to float32, one operation after the other,
// as ggml does, so that the results have its bits.
//
// It gives an error that matches [fault.ErrType] for another format, and one that matches
// [fault.ErrFormat] unless src is exactly what len(dst) elements take.
//
// Source: the block formats of ggml-common.h.
func Dequantize(t Type, dst []float32, src []byte) error {
	f := dequantizers[t]
	if f == nil {
		return fmt.Errorf("%w: %v, want one that can be converted to float32", fault.ErrType, t)
	}
	l := layouts[t]
	if len(dst)%l.block != 0 || len(src) != t.Bytes(len(dst)) {
		return fmt.Errorf("%w: %d bytes for %d elements of %v, which has %d bytes for each %d", fault.ErrFormat, len(src), len(dst), t, l.bytes, l.block)
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
	Q2_K: dequantizeQ2_K, Q3_K: dequantizeQ3_K,
	Q4_K: dequantizeQ4_K, Q5_K: dequantizeQ5_K, Q6_K: dequantizeQ6_K,
	IQ4_NL: dequantizeIQ4_NL, IQ4_XS: dequantizeIQ4_XS, MXFP4: dequantizeMXFP4,
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

// dequantizeQ4_0: y = scale*(q-8). The low halves of the bytes are the first 16 elements, here and
// in the other formats of 32.
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

// dequantizeQ5_0: y = scale*(q-16); bit i of the word after the scale is the fifth of element i.
func dequantizeQ5_0(y []float32, b []byte) {
	scale, high := float16(b), binary.LittleEndian.Uint32(b[2:])
	for i, q := range b[6:] {
		y[i] = scale * float32(int(q&15|fifth(high, i))-16)
		y[i+16] = scale * float32(int(q>>4|fifth(high, i+16))-16)
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

// scaleMin returns the 6-bit scale and minimum of group i, 0 to 7, in the 12 bytes of a Q4_K or
// Q5_K block: the first four groups' in bytes of their own, whose upper two bits complete those of
// the last four.
func scaleMin(b []byte, i int) (scale, least byte) {
	if i < 4 {
		return b[i] & 63, b[i+4] & 63
	}
	return b[i+4]&15 | b[i-4]>>6<<4, b[i+4]>>4 | b[i]>>6<<4
}

// dequantizeQ4_K: y = (d*scale)*q - (dmin*min); each 32 bytes are two groups, the first in the low
// halves.
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

// dequantizeQ5_K is dequantizeQ4_K with a fifth bit, that of group g being bit g of the 32 bytes
// before.
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

// dequantizeQ6_K: y = (d*scale)*(q-32), with 128 bytes of low halves, 64 of upper two bits, and 16
// signed scales. Each 64 low bytes and 32 upper ones are 128 elements.
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

// twoBits is element i of 256 whose 2 bits each lie in 64 bytes: of 128, the first 32 in the lowest
// bits of 32 bytes.
func twoBits(b []byte, i int) int { return int(b[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3) }

// dequantizeQ2_K: y = (d*scale)*q - dmin*min, with 16 bytes of scales and, above them, minima, 64
// of elements, d and dmin.
func dequantizeQ2_K(y []float32, b []byte) {
	d, dmin := float16(b[80:]), float16(b[82:])
	for i := range y {
		six := b[i/16]
		scale, least := d*float32(six&15), float32(dmin*float32(six>>4))
		y[i] = float32(scale*float32(twoBits(b[16:80], i))) - least
	}
}

// dequantizeQ3_K: y = (d*scale)*(q-4), with 32 bytes of third bits, 64 of the others, 12 of scales
// of 6 bits, and d. The lower 4 bits of the scales are in 8 bytes, the upper 2 in 4.
func dequantizeQ3_K(y []float32, b []byte) {
	high, low, scales, d := b[:32], b[32:96], b[96:108], float16(b[108:])
	for i := range y {
		g := i / 16
		scale := int(scales[g%8]>>(g/8*4)&15|scales[8+g%4]>>(g/4*2)&3<<4) - 32
		q := twoBits(low, i) | int(high[i%32]>>(i/32)&1)<<2
		y[i] = d * float32(scale) * float32(q-4)
	}
}

// numbersIQ4 are the numbers of the codes of IQ4_NL and IQ4_XS.
var numbersIQ4 = [16]float32{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// dequantizeCodes: y = scale*number, the first 16 in the low halves of the bytes.
func dequantizeCodes(y []float32, b []byte, scale float32, numbers *[16]float32) {
	for i, q := range b {
		y[i], y[i+16] = scale*numbers[q&15], scale*numbers[q>>4]
	}
}

func dequantizeIQ4_NL(y []float32, b []byte) { dequantizeCodes(y, b[2:], float16(b), &numbersIQ4) }

// dequantizeIQ4_XS: the scale of group g is d times a number of 6 bits less 32, of which the upper
// 2 are in a word and the lower 4 in 4 bytes.
func dequantizeIQ4_XS(y []float32, b []byte) {
	d, high := float16(b), binary.LittleEndian.Uint16(b[2:])
	for g := range 8 {
		scale := int(b[4+g/2]>>(g%2*4)&15) | int(high>>(2*g)&3)<<4
		dequantizeCodes(y[32*g:][:32], b[8+16*g:][:16], d*float32(scale-32), &numbersIQ4)
	}
}

// numbersE2M1 are the numbers of the codes of MXFP4, doubled.
var numbersE2M1 = [16]float32{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// dequantizeMXFP4: the scale is 2 to the power of a byte less 127, and half of that for numbers
// that are doubled.
func dequantizeMXFP4(y []float32, b []byte) {
	dequantizeCodes(y, b[1:], float32(math.Ldexp(1, int(b[0])-128)), &numbersE2M1)
}
