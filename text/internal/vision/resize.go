// Resizing with Pillow's filters, in Pillow's fixed point.

package vision

import (
	"fmt"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/elementary"
)

// Filter chooses the weights of pixels in resizing, numbered as Pillow's resample.
type Filter int

const (
	Nearest Filter = iota
	Lanczos
	Bilinear
	Bicubic
	Box
	Hamming
)

// kernels are the filters' supports and weights.
var kernels = map[Filter]struct {
	support float64
	weight  func(x float64) float64
}{
	Lanczos:  {3, func(x float64) float64 { return sinc(x) * sinc(x/3) }},
	Bilinear: {1, func(x float64) float64 { return 1 - x }},
	Bicubic:  {2, bicubic},
	Box:      {0.5, func(float64) float64 { return 1 }},
	Hamming:  {1, func(x float64) float64 { return sinc(x) * (0.54 + float64(0.46*elementary.Cos(math.Pi*x))) }},
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return elementary.Sin(math.Pi*x) / (math.Pi * x)
}

// bicubic is Keys' cubic convolution with a = -1/2, for x >= 0.
func bicubic(x float64) float64 {
	const a = -0.5
	if x < 1 {
		return float64((float64((a+2)*x)-(a+3))*x*x) + 1
	}
	return (float64((float64((x-5)*x)+8)*x) - 4) * a
}

const fraction = 22 // bits of a weight after the point

// window has the pixels that contribute to a pixel, with weights in fixed point or as fractions.
type window[T int32 | float64] struct {
	first   int
	weights []T
}

// fractions returns the windows of out pixels from in pixels. The weights of each add up to 1.
func fractions(f Filter, in, out int) []window[float64] {
	k := kernels[f]
	scale := float64(in) / float64(out)
	stretch := max(scale, 1) // shrinking widens the filter
	all := make([]window[float64], out)
	for i := range all {
		center, reach := float64((float64(i)+0.5)*scale), float64(k.support*stretch)
		first := max(int(center-reach+0.5), 0)
		end := min(int(center+reach+0.5), in)
		weights, sum := make([]float64, max(end-first, 0)), 0.0
		for j := range weights {
			if x := math.Abs(float64(first+j)-center+0.5) / stretch; x < k.support || f == Box && x <= k.support {
				weights[j] = k.weight(x)
			}
			sum += weights[j]
		}
		for j := range weights {
			weights[j] /= sum
		}
		all[i] = window[float64]{first, weights}
	}
	return all
}

// fixed has windows whose weights have a number of bits after the point.
type fixed struct {
	windows []window[int32]
	bits    int
}

// fixedOf returns fractions in Pillow's fixed point or, if short, in PyTorch's, whose weights have
// 16 bits.
func fixedOf(f Filter, in, out int, short bool) fixed {
	exact := fractions(f, in, out)
	all := fixed{make([]window[int32], out), fraction}
	if short {
		most := 0.0
		for _, w := range exact {
			most = max(most, slices.Max(append(w.weights, 0)))
		}
		for all.bits = 0; all.bits < fraction && int(0.5+float64(most*float64(int(2)<<all.bits))) < 1<<15; all.bits++ {
		}
	}
	for i, w := range exact {
		all.windows[i] = window[int32]{w.first, make([]int32, len(w.weights))}
		for j, x := range w.weights {
			all.windows[i].weights[j] = int32(math.Round(x * float64(int(1)<<all.bits)))
		}
	}
	return all
}

// maxResized is the largest number of pixels of a resized image.
const maxResized = 1 << 27

// Resize returns m with w by h pixels.
func (m *RGB) Resize(w, h int, f Filter) (*RGB, error) {
	if w < 1 || h < 1 || w > maxResized/h {
		return nil, fmt.Errorf("%w: resizing to %d x %d pixels", fault.ErrImage, w, h)
	}
	if f == Nearest {
		return m.nearest(w, h), nil
	}
	if _, ok := kernels[f]; !ok {
		return nil, fmt.Errorf("%w: filter %d is unknown", fault.ErrImage, f)
	}
	// One direction, then the other, with 8 bits in between. Columns come first if they lose more
	// than twice as many pixels as rows do, as in Pillow 13; the order changes some pixels by a few
	// grey levels.
	if h < m.H && m.H-h > 2*(m.W-w) {
		return m.down(h, f, false).across(w, f, false), nil
	}
	return m.across(w, f, false).down(h, f, false), nil
}

// resizeShort returns m with w by h pixels as PyTorch resizes images of bytes with antialias: rows
// first.
func (m *RGB) resizeShort(w, h int, f Filter) (*RGB, error) {
	if w < 1 || h < 1 || w > maxResized/h || m.H > maxResized/w {
		return nil, fmt.Errorf("%w: resizing to %d x %d pixels", fault.ErrImage, w, h)
	}
	return m.across(w, f, true).down(h, f, true), nil
}

// across resizes rows, with weights of 16 bits if short.
func (m *RGB) across(w int, f Filter, short bool) *RGB {
	if w == m.W {
		return m
	}
	out := newRGB(w, m.H)
	at := fixedOf(f, m.W, w, short)
	for x, win := range at.windows {
		for y := range m.H {
			mix(out.Pix[(y*w+x)*3:], m.Pix[(y*m.W+win.first)*3:], 3, win.weights, at.bits)
		}
	}
	return out
}

// down resizes columns, with weights of 16 bits if short.
func (m *RGB) down(h int, f Filter, short bool) *RGB {
	if h == m.H {
		return m
	}
	out := newRGB(m.W, h)
	at := fixedOf(f, m.H, h, short)
	for y, win := range at.windows {
		for x := range m.W {
			mix(out.Pix[(y*m.W+x)*3:], m.Pix[(win.first*m.W+x)*3:], m.W*3, win.weights, at.bits)
		}
	}
	return out
}

// mix sets the pixel dst to the weighted sum of pixels of src that are stride samples apart. The
// weights have bits after the point.
func mix(dst, src []uint8, stride int, weights []int32, bits int) {
	half := int32(1) << (bits - 1)
	r, g, b := half, half, half
	for i, w := range weights {
		p := src[i*stride : i*stride+3]
		r += w * int32(p[0])
		g += w * int32(p[1])
		b += w * int32(p[2])
	}
	dst[0], dst[1], dst[2] = clip8(r>>bits), clip8(g>>bits), clip8(b>>bits)
}

func (m *RGB) nearest(w, h int) *RGB {
	out := newRGB(w, h)
	rows, columns := places(m.H, h), places(m.W, w)
	for y := range h {
		for x := range w {
			copy(out.Pix[(y*w+x)*3:][:3], m.Pix[(rows[y]*m.W+columns[x])*3:])
		}
	}
	return out
}

// places returns the nearest of in pixels for each of out pixels. It sums in float64, because the
// rounding of the sums decides between two pixels that are equally near.
func places(in, out int) []int {
	step := float64(in) / float64(out)
	all, at := make([]int, out), step*0.5
	for i := range all {
		all[i] = min(int(at), in-1)
		at += step
	}
	return all
}

// CenterCrop returns the w by h pixels in the middle of m; pixels outside m are black.
func (m *RGB) CenterCrop(w, h int) (*RGB, error) {
	if w < 1 || h < 1 || w > maxResized/h {
		return nil, fmt.Errorf("%w: cropping to %d x %d pixels", fault.ErrImage, w, h)
	}
	out := newRGB(w, h)
	cropCenter(out.Pix, w, h, m.Pix, m.W, m.H)
	return out, nil
}

// cropCenter sets dst, [h, w, 3], to the middle of src, [fromH, fromW, 3]. Elements outside src
// stay as they are.
func cropCenter[T any](dst []T, w, h int, src []T, fromW, fromH int) {
	top, left := floorHalf(fromH-h), floorHalf(fromW-w)
	for y := max(0, -top); y < min(h, fromH-top); y++ {
		x := max(0, -left)
		n := min(w, fromW-left) - x
		copy(dst[(y*w+x)*3:][:n*3], src[((y+top)*fromW+x+left)*3:])
	}
}

// samples has the samples of an image between 0 and 255, [H, W, 3], not rounded.
type samples struct {
	w, h int
	x    []float64
}

// resizeUnrounded returns m with w by h pixels as PyTorch resizes images of floating-point numbers:
// rows first, without rounding. It adds each resized row to the rows of the result before it
// resizes the next one, so that the height of m takes no memory.
func (m *RGB) resizeUnrounded(w, h int, f Filter) (samples, error) {
	if w < 1 || h < 1 || w > maxResized/h || m.H > maxResized/w {
		return samples{}, fmt.Errorf("%w: resizing to %d x %d pixels", fault.ErrImage, w, h)
	}
	out := samples{w, h, make([]float64, h*w*3)}
	across, down := fractions(f, m.W, w), fractions(f, m.H, h)
	row, first := make([]float64, w*3), 0
	for y := range m.H {
		m.unroundedRow(row, y, across)
		for first < h && down[first].first+len(down[first].weights) <= y {
			first++
		}
		for to := first; to < h && down[to].first <= y; to++ {
			weight, sums := down[to].weights[y-down[to].first], out.x[to*w*3:][:w*3]
			for i, v := range row {
				sums[i] += float64(weight * v)
			}
		}
	}
	return out, nil
}

// unroundedRow sets dst, [w, 3], to row y of m with a pixel for each of w windows.
func (m *RGB) unroundedRow(dst []float64, y int, windows []window[float64]) {
	for x, win := range windows {
		for c := range 3 {
			sum := 0.0
			for j, weight := range win.weights {
				sum += float64(weight * float64(m.Pix[(y*m.W+win.first+j)*3+c]))
			}
			dst[x*3+c] = sum
		}
	}
}

// floorHalf returns n/2 rounded down, also for negative n.
func floorHalf(n int) int { return n >> 1 }
