// Package matrix rearranges matrices.
package matrix

// Transpose sets dst, [cols, rows], to the transpose of x, [rows, cols]. They must not overlap.
// Without columns, it does nothing.
func Transpose(dst, x []float32, cols int) {
	rows := len(x) / max(cols, 1)
	for r := range rows {
		for c, v := range x[r*cols : (r+1)*cols] {
			dst[c*rows+r] = v
		}
	}
}
