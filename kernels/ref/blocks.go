package ref

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Weights in blocks of GGUF, and products with them. As with int8, integers are exact, and what is
// rounded to float32 is rounded in the order given here.

// BlockWeights is a row of weights, element p being Scale[p/Group]*Q[p] - Min[p/Group]. Scales and
// minima are exact.
type BlockWeights struct {
	Q          []int
	Group      int
	Scale, Min []float32 // Min is nil where all are 0
}

// Blocks reads a row of blocks: of "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k",
// "mxfp4", "iq4_nl", "iq4_xs" or "q3_k". Source: ggml-common.h.
func Blocks(format string, b []byte) (w BlockWeights) {
	switch format {
	case "q8_0":
		w.Group = 32
		for ; len(b) > 0; b = b[34:] {
			w.Scale = append(w.Scale, float16(b))
			for _, q := range b[2:34] {
				w.Q = append(w.Q, int(int8(q)))
			}
		}
	case "q4_0":
		w.Group = 32
		for ; len(b) > 0; b = b[18:] {
			w.Scale = append(w.Scale, float16(b))
			for p := range 32 {
				w.Q = append(w.Q, bits(b[2:], 8*(p%16)+p/16*4, 4)-8)
			}
		}
	case "q4_1":
		w.Group = 32
		for ; len(b) > 0; b = b[20:] {
			w.Scale, w.Min = append(w.Scale, float16(b)), append(w.Min, -float16(b[2:]))
			for p := range 32 {
				w.Q = append(w.Q, bits(b[4:], 8*(p%16)+p/16*4, 4))
			}
		}
	case "q5_0":
		w.Group = 32
		for ; len(b) > 0; b = b[22:] {
			w.Scale = append(w.Scale, float16(b))
			for p := range 32 {
				w.Q = append(w.Q, (bits(b[6:], 8*(p%16)+p/16*4, 4)|bits(b[2:], p, 1)<<4)-16)
			}
		}
	case "q5_1":
		w.Group = 32
		for ; len(b) > 0; b = b[24:] {
			w.Scale, w.Min = append(w.Scale, float16(b)), append(w.Min, -float16(b[2:]))
			for p := range 32 {
				w.Q = append(w.Q, bits(b[8:], 8*(p%16)+p/16*4, 4)|bits(b[4:], p, 1)<<4)
			}
		}
	case "mxfp4":
		w.Group = 32
		for ; len(b) > 0; b = b[17:] {
			w.Scale = append(w.Scale, float32(math.Ldexp(1, int(b[0])-128)))
			for p := range 32 {
				code := bits(b[1:], 8*(p%16)+p/16*4, 4)
				w.Q = append(w.Q, []int{0, 1, 2, 3, 4, 6, 8, 12}[code%8]*(1-code/8*2))
			}
		}
	case "iq4_nl":
		w.Group = 32
		for ; len(b) > 0; b = b[18:] {
			w.Scale = append(w.Scale, float16(b))
			for p := range 32 {
				w.Q = append(w.Q, nonlinear[bits(b[2:], 8*(p%16)+p/16*4, 4)])
			}
		}
	case "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs":
		w = superblocks(format, b)
	default:
		panic(fmt.Sprintf("ref.Blocks: unknown format %q", format))
	}
	return w
}

// superblocks is Blocks for formats of blocks of 256, whose groups have scales of their own.
func superblocks(format string, b []byte) (w BlockWeights) {
	switch format {
	case "iq4_xs":
		w.Group = 32
		for ; len(b) > 0; b = b[136:] {
			for g := range 8 {
				scale := bits(b[4:], 4*g, 4) | bits(b[2:], 2*g, 2)<<4
				w.Scale = append(w.Scale, float16(b)*float32(scale-32))
				for p := range 32 {
					w.Q = append(w.Q, nonlinear[bits(b[8+16*g:], 8*(p%16)+p/16*4, 4)])
				}
			}
		}
	case "q3_k":
		w.Group = 16
		for ; len(b) > 0; b = b[110:] {
			for g := range 16 {
				scale := bits(b[96:], 8*(g%8)+g/8*4, 4) | bits(b[104:], 8*(g%4)+g/4*2, 2)<<4
				w.Scale = append(w.Scale, float16(b[108:])*float32(scale-32))
			}
			for p := range 256 {
				low := bits(b[32+p/128*32:], 8*(p%32)+p%128/32*2, 2)
				w.Q = append(w.Q, (low|bits(b, 8*(p%32)+p/32, 1)<<2)-4)
			}
		}
	case "q4_k", "q5_k":
		w.Group = 32
		size, low := 144, 16
		if format == "q5_k" {
			size, low = 176, 48
		}
		for ; len(b) > 0; b = b[size:] {
			six := b[4:]
			for g := range 8 {
				scale, least := bits(six, 8*g, 6), bits(six, 8*(g+4), 6)
				if g >= 4 { // 4 bits, and the 2 above the scale and the minimum of group g-4
					scale = bits(six, 8*(g+4), 4) | bits(six, 8*(g-4)+6, 2)<<4
					least = bits(six, 8*(g+4)+4, 4) | bits(six, 8*g+6, 2)<<4
				}
				w.Scale = append(w.Scale, float16(b)*float32(scale))
				w.Min = append(w.Min, float16(b[2:])*float32(least))
				for p := range 32 {
					q := bits(b[low+g/2*32:], 8*p+g%2*4, 4)
					if format == "q5_k" {
						q |= bits(b[16:], 8*p+g, 1) << 4
					}
					w.Q = append(w.Q, q)
				}
			}
		}
	case "q6_k":
		w.Group = 16
		for ; len(b) > 0; b = b[210:] {
			for g := range 16 {
				w.Scale = append(w.Scale, float16(b[208:])*float32(int8(b[192+g])))
			}
			for p := range 256 {
				low := bits(b[p/128*64:], 8*(p%64)+p%128/64*4, 4)
				high := bits(b[128+p/128*32:], 8*(p%32)+p%128/32*2, 2)
				w.Q = append(w.Q, (low|high<<4)-32)
			}
		}
	}
	return w
}

// nonlinear is the numbers of the codes of "iq4_nl" and "iq4_xs".
var nonlinear = [16]int{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// bits is n bits of b from bit at on, within a byte.
func bits(b []byte, at, n int) int { return int(b[at/8]) >> (at % 8) & (1<<n - 1) }

// float16 returns the binary16 number at the beginning of b.
func float16(b []byte) float32 {
	h := binary.LittleEndian.Uint16(b)
	exponent, fraction := int(h>>10&31), float64(h&1023)
	v := math.Ldexp(1024+fraction, exponent-25)
	switch {
	case exponent == 0:
		v = math.Ldexp(fraction, -24)
	case exponent == 31 && fraction == 0:
		v = math.Inf(1)
	case exponent == 31:
		v = math.NaN()
	}
	if h>>15 != 0 {
		v = -v
	}
	return float32(v)
}

// Float32 returns the weights.
func (w BlockWeights) Float32() []float32 {
	y := make([]float32, len(w.Q))
	for p, q := range w.Q {
		y[p] = float32(w.Scale[p/w.Group] * float32(q))
		if w.Min != nil {
			y[p] -= w.Min[p/w.Group]
		}
	}
	return y
}

// GemmBlocks is C = act(alpha*A*B + beta*C + bias) + residual, where the columns of B are weights,
// and each row of A is quantized in blocks as long as their groups. The groups are added up one
// after the other, the product first, and then what the minimum makes of the sum of A's integers.
// bias and residual may be nil.
func GemmBlocks(m int, alpha float32, a []float32, lda int, b []BlockWeights, beta float32, c []float32, ldc int, bias []float32, relu bool, residual []float32, ldr int) {
	for i := range m {
		for j, w := range b {
			var s float32
			for g, wScale := range w.Scale {
				from, to := g*w.Group, (g+1)*w.Group
				x, scale := QuantizeInt8(a[i*lda+from : i*lda+to])
				dot, sum := 0, 0
				for p, v := range x {
					dot += v * w.Q[from+p]
					sum += v
				}
				s += float32(float32(float32(dot)*scale) * wScale)
				if w.Min != nil {
					s += float32(float32(float32(-sum)*scale) * w.Min[g])
				}
			}
			c[i*ldc+j] = finishInt8(s, alpha, beta, c[i*ldc+j], at(bias, j), relu, at(residual, i*ldr+j), bias != nil || relu || residual != nil)
		}
	}
}
