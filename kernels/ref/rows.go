package ref

import "math"

// row is row r of a contiguous matrix with cols columns.
func row(x []float64, r, cols int) []float64 { return x[r*cols : (r+1)*cols] }

// maxOf returns the largest element, NaN if there is one, -Inf if x is empty.
func maxOf(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, v)
	}
	return m
}

// Softmax sets each row of dst to exp(x-max)/sum(exp(x-max)). A row with a NaN, with +Inf, or with
// -Inf only becomes NaN.
func Softmax(dst, x []float64, rows, cols int) {
	for r := range rows {
		d, s := row(dst, r, cols), row(x, r, cols)
		m, sum := maxOf(s), 0.0
		for i, v := range s {
			d[i] = math.Exp(v - m)
			sum += d[i]
		}
		for i := range d {
			d[i] /= sum
		}
	}
}

// LogSoftmax sets each row of dst to (x-max) - log(sum(exp(x-max))).
func LogSoftmax(dst, x []float64, rows, cols int) {
	for r := range rows {
		d, s := row(dst, r, cols), row(x, r, cols)
		m, sum := maxOf(s), 0.0
		for _, v := range s {
			sum += math.Exp(v - m)
		}
		lse := math.Log(sum)
		for i, v := range s {
			d[i] = (v - m) - lse
		}
	}
}

// MaskedSoftmax sets each row of dst to the softmax of scale*x + bias over the columns that visible
// admits, and to 0 elsewhere. A row that sees nothing is
// 0. bias is rows x cols, or nil; a nil visible admits every column.
func MaskedSoftmax(dst, x []float64, rows, cols int, scale float64, bias []float64, visible func(r, c int) bool) {
	for r := range rows {
		d, s := row(dst, r, cols), row(x, r, cols)
		var at []int
		var t []float64
		for c := range cols {
			if visible != nil && !visible(r, c) {
				continue
			}
			v := scale * s[c]
			if bias != nil {
				v += bias[r*cols+c]
			}
			at, t = append(at, c), append(t, v)
		}
		clear(d)
		if maxOf(t) == math.Inf(-1) {
			continue
		}
		Softmax(t, t, 1, len(t))
		for i, c := range at {
			d[c] = t[i]
		}
	}
}

// LayerNorm sets each row of dst to (x-mean)/sqrt(var+eps)*weight + bias with the biased variance.
// weight and bias have cols elements, or are nil for 1 and 0.
func LayerNorm(dst, x []float64, rows, cols int, weight, bias []float64, eps float64) {
	for r := range rows {
		d, s := row(dst, r, cols), row(x, r, cols)
		mean := 0.0
		for _, v := range s {
			mean += v
		}
		mean /= float64(cols)
		variance := 0.0
		for _, v := range s {
			variance += (v - mean) * (v - mean)
		}
		variance /= float64(cols)
		sd := math.Sqrt(variance + eps)
		for i, v := range s {
			d[i] = (v - mean) / sd
		}
		affine(d, weight, bias)
	}
}

// AddLayerNorm sets sum to x + residual and dst to the LayerNorm of sum.
func AddLayerNorm(dst, sum, x, residual []float64, rows, cols int, weight, bias []float64, eps float64) {
	for i := range rows * cols {
		sum[i] = x[i] + residual[i]
	}
	LayerNorm(dst, sum, rows, cols, weight, bias, eps)
}

// RMSNorm sets each row of dst to x/sqrt(mean(x^2)+eps)*weight. weight has cols elements, or is nil
// for 1.
func RMSNorm(dst, x []float64, rows, cols int, weight []float64, eps float64) {
	for r := range rows {
		d, s := row(dst, r, cols), row(x, r, cols)
		square := 0.0
		for _, v := range s {
			square += v * v
		}
		rms := math.Sqrt(square/float64(cols) + eps)
		for i, v := range s {
			d[i] = v / rms
		}
		affine(d, weight, nil)
	}
}

// AddRMSNorm sets sum to x + residual and dst to the RMSNorm of sum.
func AddRMSNorm(dst, sum, x, residual []float64, rows, cols int, weight []float64, eps float64) {
	for i := range rows * cols {
		sum[i] = x[i] + residual[i]
	}
	RMSNorm(dst, sum, rows, cols, weight, eps)
}

func affine(d, weight, bias []float64) {
	for i := range d {
		if weight != nil {
			d[i] *= weight[i]
		}
		if bias != nil {
			d[i] += bias[i]
		}
	}
}

// RotaryHalves rotates, in each row of width 2*half, the pairs (i, i+half) by the angle whose
// cosine and sine are cos[r*half+i] and sin[r*half+i] (the pairing of GPT-NeoX and LLaMA
// checkpoints).
func RotaryHalves(dst, x []float64, rows, half int, cos, sin []float64) {
	for r := range rows {
		d, s := row(dst, r, 2*half), row(x, r, 2*half)
		for i := range half {
			c, n := cos[r*half+i], sin[r*half+i]
			a, b := s[i], s[i+half]
			d[i], d[i+half] = a*c-b*n, b*c+a*n
		}
	}
}

// RotaryPairs rotates the neighbours (2i, 2i+1) (the pairing of the RoFormer paper and of GPT-J).
func RotaryPairs(dst, x []float64, rows, half int, cos, sin []float64) {
	for r := range rows {
		d, s := row(dst, r, 2*half), row(x, r, 2*half)
		for i := range half {
			c, n := cos[r*half+i], sin[r*half+i]
			a, b := s[2*i], s[2*i+1]
			d[2*i], d[2*i+1] = a*c-b*n, b*c+a*n
		}
	}
}
