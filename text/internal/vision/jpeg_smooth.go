// JPEG: estimates of coefficients that a progressive file does not have.
//
// A file may end before all its scans. libjpeg then estimates the first coefficients of a block
// from the mean brightness of the blocks around it, so that their borders are not seen.
//
// Source: the numbers are those of libjpeg-turbo's jdcoefct.c; the method is that of ITU-T T.81,
// K.8, with more neighbours.

package vision

// smooth reports whether libjpeg estimates coefficients: all components have a mean, and one lacks
// other bits.
func (j *jpegFile) smooth() bool {
	lacking := false
	for _, c := range j.components {
		if c.known[0] < 0 {
			return false
		}
		for i, low := range c.known {
			if j.quants[c.quant][zigzag[i]] == 0 {
				return false
			}
			lacking = lacking || i > 0 && low != 0
		}
	}
	return lacking && j.progressive
}

// weights has, for the first coefficients in the order of the file, the weights of the means of 5 x
// 5 blocks, times 256.
type weights [10][25]int16

// near is for blocks that have some coefficients, far for those that have the mean alone, which is
// then smoothed as well.
var near = weights{
	1: {10: -7, 50, 0, -50, 7},
	2: {2: -7, 7: 50, 17: -50, 22: 7},
	3: {2: -1, 7: 13, 12: -24, 17: 13, 22: -1},
	4: {0, -1, 0, 1, 0, -1, 10, 0, -10, 1, 15: 1, -10, 0, 10, -1, 0, 1, 0, -1, 0},
	5: {10: -1, 13, -24, 13, -1},
}

var far = weights{
	0: {-2, -6, -8, -6, -2, -6, 6, 42, 6, -6, -8, 42, 152, 42, -8, -6, 6, 42, 6, -6, -2, -6, -8, -6, -2},
	1: {-1, -1, 0, 1, 1, -3, 13, 0, -13, 3, -3, 38, 0, -38, 3, -3, 13, 0, -13, 3, -1, -1, 0, 1, 1},
	2: {-1, -3, -3, -3, -1, -1, 13, 38, 13, -1, 15: 1, -13, -38, -13, 1, 1, 3, 3, 3, 1},
	3: {2: 1, 6: 2, 7, 2, 11: -5, -14, -5, 16: 2, 7, 2, 22: 1},
	4: {0: -1, 4: 1, 6: 9, 0, -9, 16: -9, 0, 9, 20: 1, 24: -1},
	5: {6: 2, -5, 2, 0, 1, 7, -14, 7, 1, 0, 2, -5, 2},
	6: {6: 1, 0, -1, 11: 2, 0, -2, 16: 1, 0, -1},
	7: {6: 1, -3, 1, 16: -1, 3, -1},
	8: {6: 1, 0, -1, 11: -3, 0, 3, 16: 1, 0, -1},
	9: {6: 1, 2, 1, 16: -1, -2, -1},
}

// estimate sets coefficients of block b that are 0 and not fully known.
func (j *jpegFile) estimate(c *component, b int, x *[64]int32) {
	column, row := b%c.w, b/c.w
	if column >= c.blocksW || row >= c.blocksH {
		return
	}
	unit := row / c.v
	known := c.known
	if unit > j.lastRow { // the last scan has no data here
		if known = c.before; j.scans == 1 {
			known = nothingKnown
		}
	}
	w := &far
	for _, low := range known[1:] {
		if low != -1 {
			w = &near
		}
	}
	means := c.means(column, row, unit)
	quant := &j.quants[c.quant]
	for i := range known {
		at, low := zigzag[i], known[i]
		if i > 0 && (low == 0 || x[at] != 0) || w == &near && (i == 0 || i > 5) {
			continue
		}
		sum := int64(0)
		for k, weight := range w[i] {
			sum += int64(weight) * means[k]
		}
		sum *= int64(quant[0])
		q := int64(quant[at])
		v := (q<<7 + max(sum, -sum)) / (q << 8)
		if i > 0 && low > 0 {
			v = min(v, 1<<low-1)
		}
		if sum < 0 {
			v = -v
		}
		x[at] = int32(int16(v))
	}
}

// means returns the means of the 5 x 5 blocks around one; those beyond a border are those at it. In
// the last row of units, libjpeg counts only the rows of blocks that it has.
func (c *component) means(column, row, unit int) (means [25]int64) {
	units, inUnit := c.h8/c.v, c.v
	if rest := c.blocksH % c.v; unit == units-1 && rest > 0 {
		inUnit = rest
	}
	at, rows := unit*inUnit+row%c.v, [5]int{row, row, row, row, row}
	if at > 0 {
		rows[0], rows[1] = row-1, row-1
	}
	if at > 1 {
		rows[0] = row - 2
	}
	if last := units*inUnit - 1; at < last {
		rows[3], rows[4] = row+1, row+1
		if at < last-1 {
			rows[4] = row + 2
		}
	}
	for i := range means {
		x := min(max(column+i%5-2, 0), c.blocksW-1)
		means[i] = int64(c.coefficients[(rows[i/5]*c.w+x)*64])
	}
	return means
}
