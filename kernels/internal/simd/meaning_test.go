package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// This file tests the results of single kernels, in addition to the comparison with their twins.

// TestAttnSoftmaxLowest has a row with only the lowest finite float32, which is more than the -Inf
// that a maximum begins with.
func TestAttnSoftmaxLowest(t *testing.T) {
	for _, im := range catalog() {
		if im.kernel != KernelAttnSoftmax || !im.runs() {
			continue
		}
		f := im.fn.(func(s []float32, rows, cols, ld int, max, sum, factor []float32))
		for _, cols := range []int{1, 3, 4, 15, 16, 33} {
			s := make([]float32, cols)
			for i := range s {
				s[i] = -math.MaxFloat32
			}
			top, sum, factor := []float32{-inf32}, []float32{0}, []float32{nan32}
			f(s, 1, cols, cols, top, sum, factor)
			if top[0] != -math.MaxFloat32 || !(math.Abs(float64(sum[0])-float64(cols)) <= 1e-4) || factor[0] != 0 {
				t.Errorf("%v, %d columns: maximum %v, sum %v, factor %v, want %v, %d, 0", im.Name, cols, top[0], sum[0], factor[0], -math.MaxFloat32, cols)
			}
		}
	}
}

// TestAttnSoftmax adds tile after tile, so that some tiles change the maxima and others do not,
// with rows of whole vectors and with tails, and compares with float64.
func TestAttnSoftmax(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, im := range catalog() {
		if im.kernel != KernelAttnSoftmax || !im.runs() {
			continue
		}
		f := im.fn.(func(s []float32, rows, cols, ld int, max, sum, factor []float32))
		for _, rows := range []int{1, im.Width - 1, im.Width, im.Width + 1, 2*im.Width + 3} {
			for _, cols := range []int{1, im.Width, 2*im.Width + 3} {
				t.Run(fmt.Sprintf("%v/%dx%d", im.Name, rows, cols), func(t *testing.T) {
					top, sum, factor := make([]float32, rows), make([]float32, rows), make([]float32, rows)
					wantTop, wantSum := make([]float64, rows), make([]float64, rows)
					for i := range wantTop {
						top[i], wantTop[i] = -inf32, math.Inf(-1)
					}
					near := func(what string, got float32, want float64) {
						t.Helper()
						if !(math.Abs(float64(got)-want) <= 1e-5*math.Abs(want)) {
							t.Fatalf("%s = %v, want %v", what, got, want)
						}
					}
					ld := cols + 3
					for tile := range 3 {
						s := randomSlice(r, rows*ld)
						for i := range s {
							s[i] *= 4
						}
						x := slices.Clone(s)
						f(s, rows, cols, ld, top, sum, factor)
						for i := range rows {
							before := wantTop[i]
							for _, v := range x[i*ld:][:cols] {
								wantTop[i] = max(wantTop[i], float64(v))
							}
							scale := math.Exp(before - wantTop[i])
							wantSum[i] *= scale
							for j, v := range x[i*ld:][:cols] {
								e := math.Exp(float64(v) - wantTop[i])
								wantSum[i] += e
								near(fmt.Sprintf("tile %d: s[%d,%d]", tile, i, j), s[i*ld+j], e)
							}
							near(fmt.Sprintf("tile %d: max[%d]", tile, i), top[i], wantTop[i])
							near(fmt.Sprintf("tile %d: sum[%d]", tile, i), sum[i], wantSum[i])
							near(fmt.Sprintf("tile %d: factor[%d]", tile, i), factor[i], scale)
						}
					}
				})
			}
		}
	}
}

// TestFinish compares the epilogues with the elementwise functions of the same tier: they are one
// source, and the elementwise functions are held to tight bounds.
func TestFinish(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	elementwise := map[Kernel]Kernel{KernelFinishReLU: KernelReLUVec, KernelFinishGELU: KernelGELUVec,
		KernelFinishGELUTanh: KernelGELUTanhVec, KernelFinishSiLU: KernelSiLUVec}
	for _, im := range catalog() {
		unary, ok := elementwise[im.kernel]
		if !ok || !im.runs() {
			continue
		}
		f := im.fn.(func(dst, x, bias, residual []float32, rows, cols, lddst, ldresidual int))
		i := slices.IndexFunc(catalog(), func(other tested) bool { return other.kernel == unary && other.Name == im.Name })
		vec := catalog()[i].fn.(func(dst, x []float32))
		t.Run(fmt.Sprintf("%s/%v", im.kernel, im.Name), func(t *testing.T) {
			cols := im.NR // it is for whole panels
			for rows := range 100 {
				x, bias := make([]float32, rows*cols), make([]float32, cols)
				for i := range x { // of all magnitudes that affect the functions
					x[i] = float32(math.Copysign(math.Exp(r.Float64()*18-12), r.Float64()-0.5))
				}
				got, want := make([]float32, rows*cols), make([]float32, rows*cols)
				f(got, slices.Clone(x), bias, make([]float32, cols), rows, cols, cols, 0)
				vec(want, x)
				for i := range want {
					if got[i] != want[i] { // -0 + 0 is 0
						t.Fatalf("%d rows: f(%v) = %v, elementwise %v", rows, x[i], got[i], want[i])
					}
				}
			}
		})
	}
}
