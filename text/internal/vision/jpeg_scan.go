// JPEG: scans, sequential and progressive.

package vision

// bits reads a scan's data. After its end, or a marker, it returns zeros.
type bits struct {
	data  []byte
	acc   uint32
	n     int
	eob   int  // blocks left in a run of ends of blocks
	ended bool // zeros were read after the end
}

func (b *bits) fill() {
	c := byte(0)
	if len(b.data) > 0 && (b.data[0] != 0xff || len(b.data) > 1 && b.data[1] == 0) {
		c = b.data[0]
		if b.data = b.data[1:]; c == 0xff {
			b.data = b.data[1:]
		}
	} else {
		b.ended = true
	}
	b.acc, b.n = b.acc<<8|uint32(c), b.n+8
}

func (b *bits) read(n int) int32 {
	for b.n < n {
		b.fill()
	}
	b.n -= n
	return int32(b.acc>>b.n) & (1<<n - 1)
}

// code returns the value of the next code.
func (b *bits) code(t *huffman) (uint8, error) {
	code := int32(0)
	for length := 1; length <= 16; length++ {
		code = code<<1 | b.read(1)
		if code <= t.last[length] {
			return t.values[code+t.offset[length]], nil
		}
	}
	if b.ended {
		return 0, nil
	}
	return 0, jpegError("a code that no table has")
}

// signed returns a number of n bits: the lower half of the codes stands for negative numbers.
func (b *bits) signed(n int) int32 {
	if n == 0 {
		return 0
	}
	v := b.read(n)
	if v < 1<<(n-1) {
		v += -1<<n + 1
	}
	return v
}

// pass is the part of the coefficients that a scan codes.
type pass struct {
	first, last int
	high, low   int // the lowest bit known before the scan, 0 if none is, and the lowest known after it
}

func (j *jpegFile) scan(b []byte) error {
	if j.components == nil || len(b) < 1 || b[0] < 1 || len(b) != 4+2*int(b[0]) {
		return jpegError("scan of %d bytes", len(b))
	}
	p := pass{0, 63, 0, 0}
	if tail := b[len(b)-3:]; j.progressive {
		p = pass{int(tail[0]), int(tail[1]), int(tail[2] >> 4), int(tail[2] & 15)}
	}
	if p.first > p.last || p.last > 63 || p.low > 13 || p.high > 14 || j.progressive && p.first == 0 && p.last > 0 || p.first > 0 && b[0] > 1 {
		return jpegError("scan of coefficients %d to %d, bits %d, %d", p.first, p.last, p.high, p.low)
	}
	var in []*component
	for i := range int(b[0]) {
		id, tables := int(b[1+2*i]), b[2+2*i]
		for _, c := range j.components {
			if c.id != id {
				continue
			}
			if tables>>4 > 3 || tables&15 > 3 {
				return jpegError("scan with table %d", tables)
			}
			c.dcTable, c.acTable = j.tables[0][tables>>4], j.tables[1][tables&15]
			if p.first == 0 && p.high == 0 && c.dcTable == nil || p.last > 0 && c.acTable == nil {
				return jpegError("scan without table")
			}
			in = append(in, c)
		}
	}
	if len(in) != int(b[0]) {
		return jpegError("scan of components that the frame lacks")
	}
	j.scans++
	for _, c := range in {
		c.learn(p, j.scans == 1)
	}
	return j.units(in, p)
}

// learn notes what a scan adds.
func (c *component) learn(p pass, first bool) {
	for i := min(p.first, 1); i < len(c.known); i++ {
		if c.before[i] = c.known[i]; first {
			c.before[i] = 0
		}
	}
	for i := p.first; i <= min(p.last, len(c.known)-1); i++ {
		c.known[i] = int8(p.low)
	}
}

// units decodes the blocks of a scan: those of a single component in rows, or of several components
// interleaved by their sampling factors. As in libjpeg, the blocks after the end of the data stay
// as they were.
func (j *jpegFile) units(in []*component, p pass) error {
	across, down, high := ceilDiv(j.w, 8*j.hMax), ceilDiv(j.h, 8*j.vMax), 1
	if len(in) == 1 {
		across, down, high = in[0].blocksW, in[0].blocksH, in[0].v
	}
	r := &bits{data: j.data}
	for unit := range across * down {
		if j.restart > 0 && unit > 0 && unit%j.restart == 0 {
			r.restart()
			for _, c := range in {
				c.dc = 0
			}
		}
		if r.ended {
			continue
		}
		x, y := unit%across, unit/across
		j.lastRow = y / high
		for _, c := range in {
			w, h := c.h, c.v
			if len(in) == 1 {
				w, h = 1, 1
			}
			for i := range w * h {
				at := ((y*h+i/w)*c.w + x*w + i%w) * 64
				if err := j.block(r, c, c.coefficients[at:at+64:at+64], p); err != nil {
					return err
				}
			}
		}
	}
	for _, c := range in {
		c.dc = 0
	}
	j.data = r.data
	return nil
}

// restart continues after the next marker.
func (b *bits) restart() {
	b.acc, b.n, b.eob = 0, 0, 0
	for len(b.data) >= 2 {
		if b.data[0] == 0xff && b.data[1] >= 0xd0 && b.data[1] <= 0xd7 {
			b.data, b.ended = b.data[2:], false
			return
		}
		if b.data[0] == 0xff && b.data[1] != 0 && b.data[1] != 0xff {
			return // another marker: the scan ends
		}
		b.data = b.data[1:]
	}
}

func (j *jpegFile) block(r *bits, c *component, block []int16, p pass) error {
	if p.first == 0 {
		if p.high > 0 {
			block[0] |= int16(r.read(1) << p.low)
		} else {
			size, err := r.code(c.dcTable)
			if err != nil {
				return err
			}
			if size > 15 {
				return jpegError("a number of %d bits", size)
			}
			c.dc += r.signed(int(size))
			block[0] = int16(c.dc << p.low)
		}
	}
	switch {
	case p.last == 0:
		return nil
	case p.high > 0:
		return r.refine(c.acTable, block, p)
	}
	return r.first(c.acTable, block, p)
}

// first decodes coefficients of which no bit was known.
func (r *bits) first(t *huffman, block []int16, p pass) error {
	if r.eob > 0 {
		r.eob--
		return nil
	}
	for k := max(p.first, 1); k <= p.last; k++ {
		v, err := r.code(t)
		if err != nil {
			return err
		}
		run, size := int(v>>4), int(v&15)
		if size == 0 && run < 15 {
			r.eob = 1<<run + int(r.read(run)) - 1
			return nil
		}
		if k += run; k > p.last {
			if size == 0 {
				return nil
			}
			if !r.ended {
				return jpegError("too many coefficients")
			}
		}
		if size > 0 {
			block[zigzag[min(k, 63)]] = int16(r.signed(size) << p.low)
		}
	}
	return nil
}

// refine decodes one more bit of each coefficient.
func (r *bits) refine(t *huffman, block []int16, p pass) error {
	bit := int16(1) << p.low
	k := p.first
	for r.eob == 0 && k <= p.last {
		v, err := r.code(t)
		if err != nil {
			return err
		}
		run, size := int(v>>4), int(v&15)
		value := int16(0)
		if size > 0 {
			if value = -bit; r.read(1) == 1 {
				value = bit
			}
		} else if run < 15 {
			r.eob = 1<<run + int(r.read(run))
			break
		}
		k = r.correct(block, p, k, run)
		if value != 0 && (k <= p.last || r.ended) {
			block[zigzag[min(k, 63)]] = value
		}
		k++
	}
	if r.eob > 0 {
		r.correct(block, p, k, 64)
		r.eob--
	}
	return nil
}

// correct refines coefficients from k on that are not 0, until it has passed run coefficients that
// are 0 and reaches another one.
func (r *bits) correct(block []int16, p pass, k, run int) int {
	bit := int16(1) << p.low
	for ; k <= p.last; k++ {
		c := &block[zigzag[k]]
		if *c == 0 {
			if run == 0 {
				break
			}
			run--
			continue
		}
		if r.read(1) == 1 && *c&bit == 0 {
			if *c > 0 {
				*c += bit
			} else {
				*c -= bit
			}
		}
	}
	return k
}
