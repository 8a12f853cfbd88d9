// JPEG: from coefficients to pixels, in libjpeg's integers.

package vision

// The constants of Loeffler, Ligtenberg and Moschytz's transform ("Practical
// fast 1-D DCT algorithms with 11 multiplications", 1989), times 2^13.
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

// transform is the inverse transform of 8 values that are stride apart: first
// of columns, which keeps 2 bits behind the point, then of rows, which takes
// them away.
func transform(x []int32, stride int, shift uint) {
	at := func(i int) *int32 { return &x[i*stride] }
	// The even part.
	z := (*at(2) + *at(6)) * fix0541
	t2, t3 := z-*at(6)*fix1847, z+*at(2)*fix0765
	t0, t1 := (*at(0)+*at(4))<<13, (*at(0)-*at(4))<<13
	e := [4]int32{t0 + t3, t1 + t2, t1 - t2, t0 - t3}
	// The odd part.
	o := [4]int32{*at(7), *at(5), *at(3), *at(1)}
	z1, z2, z3, z4 := o[0]+o[3], o[1]+o[2], o[0]+o[2], o[1]+o[3]
	z5 := (z3 + z4) * fix1175
	z1, z2 = -z1*fix0899, -z2*fix2562
	z3, z4 = z5-z3*fix1961, z5-z4*fix0390
	o = [4]int32{o[0]*fix0298 + z1 + z3, o[1]*fix2053 + z2 + z4, o[2]*fix3072 + z2 + z3, o[3]*fix1501 + z1 + z4}
	half := int32(1) << (shift - 1)
	for i := range 4 {
		*at(i) = (e[i] + o[3-i] + half) >> shift
		*at(7 - i) = (e[i] - o[3-i] + half) >> shift
	}
}

// plane is the samples of a component, [h8*8, w*8].
func (c *component) plane(quant *[64]int32) []uint8 {
	stride := c.w * 8
	out := make([]uint8, stride*c.h8*8)
	var x [64]int32
	for b := range c.w * c.h8 {
		for i, v := range c.coefficients[b*64 : b*64+64] {
			x[i] = v * quant[i]
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

// pixels makes the image of the components.
func (j *jpegFile) pixels() (*RGB, error) {
	first := j.components[0]
	luma, stride := first.plane(&j.quants[first.quant]), first.w*8
	out := newRGB(j.w, j.h)
	if len(j.components) == 1 {
		for i := range j.w * j.h {
			v := luma[i/j.w*stride+i%j.w]
			out.Pix[3*i], out.Pix[3*i+1], out.Pix[3*i+2] = v, v, v
		}
		return out, nil
	}
	cb, cr := j.components[1], j.components[2]
	across, down := j.hMax/cb.h, j.vMax/cb.v
	if first.h != j.hMax || first.v != j.vMax || cb.h != cr.h || cb.v != cr.v || across*cb.h != j.hMax || down*cb.v != j.vMax || across > 2 || down > 2 {
		return nil, jpegError("sampling of chroma is not supported")
	}
	rgb := j.adobe == 0 || j.adobe < 0 && first.id == 'R' && cb.id == 'G' && cr.id == 'B'
	blue, red := cb.plane(&j.quants[cb.quant]), cr.plane(&j.quants[cr.quant])
	cw, ch := ceilDiv(j.w, across), ceilDiv(j.h, down)
	u, v := make([]int32, cw*across), make([]int32, cw*across)
	for y := range j.h {
		upsampleRow(u, blue, cb.w*8, cw, ch, y, across, down)
		upsampleRow(v, red, cr.w*8, cw, ch, y, across, down)
		for x := range j.w {
			p := out.Pix[(y*j.w+x)*3:]
			if l := luma[y*stride+x]; rgb {
				p[0], p[1], p[2] = l, uint8(u[x]), uint8(v[x])
			} else {
				p[0], p[1], p[2] = toRGB(int32(l), u[x]-128, v[x]-128)
			}
		}
	}
	return out, nil
}
