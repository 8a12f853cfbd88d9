package mp3

import (
	"math"
	"sync"

	"github.com/avoformer/avoformer/internal/elementary"
)

// mostBack is the most bytes before a frame that its main data begins.
const mostBack = 511

// decoder has what passes from frame to frame.
type decoder struct {
	before  []byte              // the ends of the main data so far
	overlap [2][576]float64     // of the transforms
	tail    [2][16 * 64]float64 // of the synthesis, the newest 64 first at offset
	offset  [2]int
	out     []float64
}

func newDecoder() *decoder { return &decoder{} }

// decode returns the samples of a frame, the mean of its channels, valid up to the next call. Where
// data of earlier frames is missing, as at the beginning of a part of a stream, it is silence.
func (d *decoder) decode(h header, frame []byte) []float64 {
	d.out = append(d.out[:0], make([]float64, h.samples())...)
	at := headBytes
	if h.checked {
		at += 2
	}
	if at+h.sideBytes > len(frame) {
		return d.out
	}
	back, same, all := side(h, frame[at:at+h.sideBytes])
	rest := frame[at+h.sideBytes:]
	missing := back > len(d.before)
	main := append(d.before[max(0, len(d.before)-back):len(d.before):len(d.before)], rest...)
	b := &bits{data: main}
	for g := range h.granules {
		var x [2][576]float64
		for c := range h.channels {
			r := &all[g][c]
			if missing {
				*r = granule{}
				continue
			}
			end := b.at + r.length
			var first *granule
			if g > 0 {
				first = &all[0][c]
			}
			r.readFactors(b, h, g > 0, same[c], first, c == 1)
			r.readValues(b, end)
			r.scale(h, &x[c])
		}
		if h.channels == 2 && !missing {
			stereo(h, &all[g][1], &x)
		}
		for c := range h.channels {
			r := &all[g][c]
			r.reorder(h, &x[c])
			r.smooth(&x[c])
			d.transform(c, r, &x[c])
			d.synthesize(c, &x[c], d.out[g*576:(g+1)*576], 1/float64(h.channels))
		}
	}
	all2 := append(d.before, rest...)
	d.before = append([]byte(nil), all2[max(0, len(all2)-mostBack):]...)
	return d.out
}

var pretab = [22]int{11: 1, 12: 1, 13: 1, 14: 1, 15: 2, 16: 2, 17: 3, 18: 3, 19: 3, 20: 2}

// powers are numbers to the power of 4/3.
var powers = sync.OnceValue(func() *[8207]float64 {
	p := new([8207]float64)
	for i := range p {
		p[i] = elementary.Pow(float64(i), 4.0/3)
	}
	return p
})

// bands calls f with the scale factor, the window (-1: long) and the place of each band.
func (r *granule) bands(h header, f func(factor, window, from, to int)) {
	long, short := &longBands[h.rateIndex], &shortBands[h.rateIndex]
	at, band := 0, 0
	if r.kind != 2 || r.mixed {
		most := 22
		if r.kind == 2 {
			most = 8
			if h.low > 0 {
				most = 6
			}
		}
		for ; at < most; at++ {
			f(at, -1, long[at], long[at+1])
		}
		band = 3
	}
	if r.kind != 2 {
		return
	}
	for ; band < 13; band++ {
		width := short[band+1] - short[band]
		for w := range 3 {
			from := 3*short[band] + w*width
			f(at, w, from, from+width)
			at++
		}
	}
}

// scale makes spectral lines of values.
func (r *granule) scale(h header, x *[576]float64) {
	step := 2 << r.coarse // in quarters of an octave
	powers := powers()
	r.bands(h, func(factor, window, from, to int) {
		s := 0
		if factor < len(r.factors) {
			s = r.factors[factor]
		}
		gain := r.gain - 210
		if window >= 0 {
			gain -= 8 * r.subgain[window]
		} else if r.preflag && factor < len(pretab) {
			s += pretab[factor]
		}
		if from >= r.last {
			return
		}
		by := elementary.Pow(2, float64(gain-step*s)/4)
		for i := from; i < to; i++ {
			if v := r.values[i]; v > 0 {
				x[i] = powers[v] * by
			} else if v < 0 {
				x[i] = -powers[-v] * by
			}
		}
	})
}

// stereo makes left and right of sums and differences, and of intensities.
func stereo(h header, r *granule, x *[2][576]float64) {
	type place struct{ factor, window, from, to int }
	var places []place
	if h.joint&1 != 0 {
		silent := [4]bool{true, true, true, true} // so far, from the top: long bands and three windows
		var all []place
		r.bands(h, func(factor, window, from, to int) { all = append(all, place{factor, window, from, to}) })
		for i := len(all) - 1; i >= 0; i-- {
			p := all[i]
			for _, v := range x[1][p.from:p.to] {
				silent[p.window+1] = silent[p.window+1] && v == 0
			}
			if p.window < 0 && r.kind == 2 { // long bands below short ones
				silent[0] = silent[0] && silent[1] && silent[2] && silent[3]
			}
			if silent[p.window+1] {
				places = append(places, p)
			}
		}
	}
	intense := [576]bool{}
	for _, p := range places {
		factor := p.factor
		if p.window < 0 && factor == 21 || p.window >= 0 && p.to > 3*shortBands[h.rateIndex][12] { // the last band has the place of the one before
			factor--
			if p.window >= 0 {
				factor -= 2
			}
		}
		at := r.factors[min(factor, len(r.factors)-1)]
		var left, right float64
		if h.low == 0 {
			if at >= 7 {
				continue
			}
			if at == 6 {
				left, right = 1, 0
			} else {
				sin, cos := elementary.Sincos(float64(at) * math.Pi / 12)
				left, right = sin/(cos+sin), cos/(cos+sin)
			}
		} else {
			if w := r.widths[min(factor, len(r.widths)-1)]; at == 1<<w-1 && w > 0 {
				continue
			}
			root := elementary.Pow(2, -0.25*float64(1+r.intensity))
			left, right = 1, 1
			if at&1 == 1 {
				left = elementary.Pow(root, float64((at+1)/2))
			} else {
				right = elementary.Pow(root, float64(at/2))
			}
		}
		for i := p.from; i < p.to; i++ {
			intense[i] = true
			v := x[0][i]
			x[0][i], x[1][i] = v*left, v*right
		}
	}
	if h.joint&2 != 0 {
		for i := range 576 {
			if !intense[i] {
				a, b := x[0][i], x[1][i]
				x[0][i], x[1][i] = (a+b)*math.Sqrt2/2, (a-b)*math.Sqrt2/2
			}
		}
	}
}

// reorder puts the lines of three short windows next to each other.
func (r *granule) reorder(h header, x *[576]float64) {
	if r.kind != 2 {
		return
	}
	y := *x
	r.bands(h, func(_, window, from, to int) {
		if window < 0 {
			return
		}
		width := to - from
		start := from - window*width
		for i := range width {
			x[start+3*i+window] = y[from+i]
		}
	})
}

var sines, cosines = func() (s, c [8]float64) {
	for i, v := range [8]float64{-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037} {
		c[i] = 1 / math.Sqrt(1+float64(v*v))
		s[i] = v * c[i]
	}
	return s, c
}()

// smooth takes back what the filters of neighbouring bands have in common.
func (r *granule) smooth(x *[576]float64) {
	most := 31
	if r.kind == 2 {
		most = 0
		if r.mixed {
			most = 1
		}
	}
	for band := range most {
		at := 18 * (band + 1)
		for i := range 8 {
			a, b := x[at-1-i], x[at+i]
			x[at-1-i], x[at+i] = float64(a*cosines[i])-float64(b*sines[i]), float64(b*cosines[i])+float64(a*sines[i])
		}
	}
}

// longTransform and shortTransform are the transforms' cosines, and shapes their windows by kind.
var (
	longTransform = sync.OnceValue(func() *[36][18]float64 {
		t := new([36][18]float64)
		for i := range t {
			for k := range t[i] {
				t[i][k] = elementary.Cos(math.Pi / 72 * float64((2*i+19)*(2*k+1)))
			}
		}
		return t
	})
	shortTransform = sync.OnceValue(func() *[12][6]float64 {
		t := new([12][6]float64)
		for i := range t {
			for k := range t[i] {
				t[i][k] = elementary.Cos(math.Pi/24*float64((2*i+7)*(2*k+1))) * elementary.Sin(math.Pi/12*(float64(i)+0.5))
			}
		}
		return t
	})
	shapes = sync.OnceValue(func() *[4][36]float64 {
		w := new([4][36]float64)
		for i := range 36 {
			long := elementary.Sin(math.Pi / 36 * (float64(i) + 0.5))
			w[0][i] = long
			switch {
			case i < 18:
				w[1][i] = long
			case i < 24:
				w[1][i] = 1
			case i < 30:
				w[1][i] = elementary.Sin(math.Pi / 12 * (float64(i-18) + 0.5))
			}
			w[3][35-i] = w[1][i]
		}
		for i := range 36 {
			w[3][i] = w[1][35-i]
		}
		return w
	})
)

// transform turns the lines of 32 bands into 18 samples of each.
func (d *decoder) transform(c int, r *granule, x *[576]float64) {
	longTransform, shortTransform, shapes := longTransform(), shortTransform(), shapes()
	for band := range 32 {
		in := x[18*band : 18*band+18]
		over := d.overlap[c][18*band : 18*band+18]
		var y [36]float64
		silent := true
		for _, v := range in {
			silent = silent && v == 0
		}
		kind := r.kind
		if r.mixed && band < 2 { // also beside the windows before and after short ones
			kind = 0
		}
		switch {
		case silent:
		case kind == 2:
			for w := range 3 {
				for i := range 12 {
					sum := 0.0
					for k := range 6 {
						sum += float64(in[3*k+w] * shortTransform[i][k])
					}
					y[6+6*w+i] += sum
				}
			}
		default:
			for i := range y {
				if shapes[kind][i] == 0 {
					continue
				}
				sum := 0.0
				for k, v := range in {
					sum += float64(v * longTransform[i][k])
				}
				y[i] = float64(sum * shapes[kind][i])
			}
		}
		for i := range 18 {
			in[i] = y[i] + over[i]
			over[i] = y[18+i]
			if band&1 == 1 && i&1 == 1 {
				in[i] = -in[i]
			}
		}
	}
}

// matrix is that of the synthesis, for sums and differences of lines that are as far from both
// ends.
var matrix = sync.OnceValue(func() *[64][16]float64 {
	m := new([64][16]float64)
	for i := range m {
		for k := range m[i] {
			m[i][k] = elementary.Cos(math.Pi / 64 * float64((16+i)*(2*k+1)))
		}
	}
	return m
})

var full = sync.OnceValue(func() *[512]float64 {
	w := new([512]float64)
	for i := range w {
		v := 0.0
		switch {
		case i <= 256:
			v = float64(window[i])
		case i%64 == 0:
			v = float64(window[512-i])
		default:
			v = -float64(window[512-i])
		}
		w[i] = v / 65536
	}
	return w
})

// synthesize adds the sound of 18 samples of 32 bands, times a share, to out.
func (d *decoder) synthesize(c int, x *[576]float64, out []float64, share float64) {
	v, matrix, full := &d.tail[c], matrix(), full()
	for t := range 18 {
		d.offset[c] = (d.offset[c] - 64) & 1023
		var sum, difference [16]float64
		for k := range 16 {
			a, b := x[18*k+t], x[18*(31-k)+t]
			sum[k], difference[k] = a+b, a-b
		}
		row := v[d.offset[c] : d.offset[c]+64]
		for i := range row {
			in := &sum // cos((16+i)(63-2k)π/64) is cos((16+i)(2k+1)π/64) for even i, and its opposite for odd i
			if i&1 == 1 {
				in = &difference
			}
			s := 0.0
			for k, m := range matrix[i] {
				s += float64(in[k] * m)
			}
			row[i] = s
		}
		for j := range 32 {
			s := 0.0
			for i := range 8 {
				s += float64(v[(d.offset[c]+128*i+j)&1023]*full[64*i+j]) + float64(v[(d.offset[c]+128*i+96+j)&1023]*full[64*i+32+j])
			}
			out[32*t+j] += float64(s * share)
		}
	}
}
