// JPEG: from coefficients to pixels, in libjpeg's integers.

package vision

// The constants of Loeffler, Ligtenberg and Moschytz's transform ("Practical fast 1-D DCT
// algorithms with 11 multiplications", 1989), times 2^13.
const (
	fix0298 = 2446  // 0.298631336
	fix0390 = 3196  // 0.390180644
	fix0541 = 4433  // 0.541196100
	fix0765 = 6270  // 0.765366865
	fix0899 = 7373  // 0.899976223
	fix1175 = 9633  // 1.175875602
	fix1501 = 12299 // 1.501321110
	fix1847 = 15137 // 1.847759065
	fix1961 = 16069 // 1.961570560
	fix2053 = 16819 // 2.053119869
	fix2562 = 20995 // 2.562915447
	fix3072 = 25172 // 3.072711026
)

// transform is the inverse transform of 8 values that are stride apart: first of columns, which
// keeps 2 bits after the point, then of rows, which removes them. Its values and some of its sums
// have 16 bits, as in libjpeg-turbo's vector code, and wrap or are limited where a broken file has
// too large coefficients.
func transform(x []int32, stride int, shift uint) {
	at := func(i int) *int32 { return &x[i*stride] }
	// The even part.
	z := (*at(2) + *at(6)) * fix0541
	t2, t3 := z-*at(6)*fix1847, z+*at(2)*fix0765
	t0, t1 := int32(int16(*at(0)+*at(4)))<<13, int32(int16(*at(0)-*at(4)))<<13
	e := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}
	// The odd part.
	o := [4]int32{*at(7), *at(5), *at(3), *at(1)}
	z1, z2, z3, z4 := o[0]+o[3], o[1]+o[2], int32(int16(o[0]+o[2])), int32(int16(o[1]+o[3]))
	z5 := (z3 + z4) * fix1175
	z1, z2 = -z1*fix0899, -z2*fix2562
	z3, z4 = z5-z3*fix1961, z5-z4*fix0390
	o = [4]int32{o[0]*fix0298 + z1 + z3, o[1]*fix2053 + z2 + z4, o[2]*fix3072 + z2 + z3, o[3]*fix1501 + z1 + z4}
	half := int32(1) << (shift - 1)
	for i := range 4 {
		*at(i) = clip16((e[i] + o[3-i] + half) >> shift)
		*at(7 - i) = clip16((e[i] - o[3-i] + half) >> shift)
	}
}

func clip16(v int32) int32 { return min(max(v, -1<<15), 1<<15-1) }

// plane returns the samples of a component, [h8*8, w*8].
func (j *jpegFile) plane(c *component) []uint8 {
	quant, stride, smooth := &j.quants[c.quant], c.w*8, j.smooth()
	out := make([]uint8, stride*c.h8*8)
	var x [64]int32
	for b := range c.w * c.h8 {
		for i, v := range c.coefficients[b*64 : b*64+64] {
			x[i] = int32(v)
		}
		if smooth {
			j.estimate(c, b, &x)
		}
		for i, q := range quant {
			x[i] = int32(int16(x[i] * q))
		}
		for i := range 8 {
			transform(x[i:], 8, 13-2)
		}
		for i := range 8 {
			transform(x[i*8:i*8+8], 1, 13+2+3)
		}
		at := b/c.w*8*stride + b%c.w*8
		for i, v := range x {
			out[at+i/8*stride+i%8] = clip8(v + 128)
		}
	}
	c.coefficients = nil
	return out
}

// pixels makes the image from the components.
func (j *jpegFile) pixels() (*RGB, error) {
	first := j.components[0]
	luma, stride := j.plane(first), first.w*8
	out := newRGB(j.w, j.h)
	if len(j.components) == 1 {
		for i := range j.w * j.h {
			v := luma[i/j.w*stride+i%j.w]
			out.Pix[3*i], out.Pix[3*i+1], out.Pix[3*i+2] = v, v, v
		}
		return out, nil
	}
	if first.h != j.hMax || first.v != j.vMax {
		return nil, jpegError("sampling of the first component is not supported")
	}
	colour, planes := j.colour(), make([]coarse, 0, 3)
	for _, c := range j.components[1:] {
		p, err := j.coarse(c)
		if err != nil {
			return nil, err
		}
		planes = append(planes, p)
	}
	for y := range j.h {
		for _, p := range planes {
			upsampleRow(p.row, p.samples, p.stride, p.w, p.h, y, p.across, p.down)
		}
		for x := range j.w {
			p := out.Pix[(y*j.w+x)*3:]
			p[0], p[1], p[2] = colour(int32(luma[y*stride+x]), planes[0].row[x], planes[1].row[x])
			if len(planes) == 3 { // all four are stored as 255 minus the ink
				k := uint8(255 - planes[2].row[x])
				p[0], p[1], p[2] = inked(255-p[0], k), inked(255-p[1], k), inked(255-p[2], k)
			}
		}
	}
	return out, nil
}

// coarse has the samples of a component that may have fewer samples than the image has pixels.
type coarse struct {
	samples      []uint8 // [.., stride]
	stride, w, h int
	across, down int     // pixels per sample
	row          []int32 // of the image
}

// coarse returns a component's samples.
func (j *jpegFile) coarse(c *component) (coarse, error) {
	p := coarse{stride: c.w * 8, across: j.hMax / c.h, down: j.vMax / c.v}
	if p.across*c.h != j.hMax || p.down*c.v != j.vMax || p.across > 2 || p.down > 2 {
		return p, jpegError("sampling of %d x %d where the most is %d x %d is not supported", c.h, c.v, j.hMax, j.vMax)
	}
	p.samples, p.w, p.h = j.plane(c), ceilDiv(j.w, p.across), ceilDiv(j.h, p.down)
	p.row = make([]int32, p.w*p.across)
	return p, nil
}

// colour converts three samples of a pixel to red, green and blue, or to 255 minus each of three
// inks. As in libjpeg, JFIF's marker says more about three components than Adobe's, and Adobe's
// more than their names.
func (j *jpegFile) colour() func(first, second, third int32) (r, g, b uint8) {
	c := j.components
	plain := j.adobe == 0 || j.adobe < 0 && c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
	switch {
	case len(c) == 4 && j.adobe <= 0, len(c) == 3 && plain && !j.jfif:
		return func(first, second, third int32) (r, g, b uint8) { return uint8(first), uint8(second), uint8(third) }
	case len(c) == 4:
		return func(y, cb, cr int32) (r, g, b uint8) {
			r, g, b = jfif(y, cb-128, cr-128)
			return 255 - r, 255 - g, 255 - b
		}
	}
	return func(y, cb, cr int32) (r, g, b uint8) { return jfif(y, cb-128, cr-128) }
}

// upsampleRow sets dst to row y of a chroma plane of cw by ch samples: three parts of the nearest
// sample and one part of the next, in each direction that is coarser.
func upsampleRow(dst []int32, plane []uint8, stride, cw, ch, y, across, down int) {
	near := plane[y/down*stride:]
	if across == 2 && cw <= 2 { // libjpeg repeats samples if there are so few
		for x := range 2 * cw {
			dst[x] = int32(near[x/2])
		}
		return
	}
	far := near
	next := y/down - 1 // for the upper of two rows; the edge is repeated
	if y%2 == 1 {
		next += 2
	}
	if down == 2 {
		far = plane[min(max(next, 0), ch-1)*stride:]
	}
	if across == 1 {
		for x := range cw {
			dst[x] = int32(near[x])
			if down == 2 {
				dst[x] = (3*dst[x] + int32(far[x]) + 1 + int32(y%2)) >> 2
			}
		}
		return
	}
	column := func(x int) int32 { return int32(near[x]) }
	shift, left, right := 2, int32(1), int32(2)
	if down == 2 {
		column = func(x int) int32 { return 3*int32(near[x]) + int32(far[x]) }
		shift, left, right = 4, 8, 7
	}
	for x := range cw {
		c := column(x)
		before, after := column(max(x-1, 0)), column(min(x+1, cw-1))
		dst[2*x] = (3*c + before + left) >> shift
		dst[2*x+1] = (3*c + after + right) >> shift
	}
}

// jfif is JFIF's conversion in 16-bit fixed point.
func jfif(y, cb, cr int32) (r, g, b uint8) {
	const half = 1 << 15
	return clip8(y + (91881*cr+half)>>16), clip8(y + (-22554*cb-46802*cr+half)>>16), clip8(y + (116130*cb+half)>>16)
}
