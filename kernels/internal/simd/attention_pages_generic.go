package simd

import "github.com/avoformer/avoformer/kernels/internal/order"

func attnValuesGeneric(rows, n, cols int, o []float32, ldo int, p []float32, ldp int, v []float32, ldv int) {
	for r := range rows {
		for j := range n {
			order.AddProducts(o[r*ldo:][:cols], p[r*ldp+j], v[j*ldv:][:cols])
		}
	}
}

func attnValuesFloat16Generic(rows, n, cols int, o []float32, ldo int, p []float32, ldp int, v []uint16, ldv, ahead int) {
	attnWidened(func(dst []float32, j, c int) { float16VecGeneric(dst, v[j*ldv+c:], 0) }, rows, n, cols, o, ldo, p, ldp)
}

func attnValuesBFloat16Generic(rows, n, cols int, o []float32, ldo int, p []float32, ldp int, v []uint16, ldv, ahead int) {
	attnWidened(func(dst []float32, j, c int) { bfloat16VecGeneric(dst, v[j*ldv+c:], 0) }, rows, n, cols, o, ldo, p, ldp)
}

func attnValuesInt8Generic(rows, n, cols int, o []float32, ldo int, p []float32, ldp int, v []int8, ldv int, scale []float32, ahead int) {
	attnWidened(func(dst []float32, j, c int) { widenInt8Generic(dst, v[j*ldv+c:], scale[j:], 1, len(dst), 0, 0, 0) }, rows, n, cols, o, ldo, p, ldp)
}

// attnWidened does the same as attnValues for values in another format. widen converts len(dst)
// elements of row j, from column c on, to float32.
func attnWidened(widen func(dst []float32, j, c int), rows, n, cols int, o []float32, ldo int, p []float32, ldp int) {
	for c := 0; c < cols; c += widePiece {
		var piece [widePiece]float32
		some := min(widePiece, cols-c)
		for j := range n {
			widen(piece[:some], j, c)
			for r := range rows {
				order.AddProducts(o[r*ldo+c:][:some], p[r*ldp+j], piece[:some])
			}
		}
	}
}

// widePiece is the number of elements that are widened at a time: at least a row of a panel.
const widePiece = 64

func attnScoresFloat16Generic(rows, panels, nr, k int, alpha float32, a []float32, lda int, b []uint16, panel int, c []float32, ldc, ahead int) {
	attnHalfScores(float16VecGeneric, rows, panels, nr, k, alpha, a, lda, b, panel, c, ldc)
}

func attnScoresBFloat16Generic(rows, panels, nr, k int, alpha float32, a []float32, lda int, b []uint16, panel int, c []float32, ldc, ahead int) {
	attnHalfScores(bfloat16VecGeneric, rows, panels, nr, k, alpha, a, lda, b, panel, c, ldc)
}

func attnHalfScores(widen func(dst []float32, x []uint16, ahead int), rows, panels, nr, k int, alpha float32, a []float32, lda int, b []uint16, panel int, c []float32, ldc int) {
	for q := range panels {
		attnPanelScores(func(row []float32, p int) { widen(row, b[q*panel+p*nr:], 0) }, rows, nr, k, alpha, a, lda, c[q*nr:], ldc)
	}
}

func attnScoresInt8Generic(rows, panels, nr, k int, alpha float32, a []float32, lda int, b []int8, panel int, scale []float32, c []float32, ldc, ahead int) {
	for q := range panels {
		attnPanelScores(func(row []float32, p int) {
			widenInt8PanelGeneric(row, b[q*panel+p*nr:], scale[q*nr:], 1, nr, 0)
		}, rows, nr, k, alpha, a, lda, c[q*nr:], ldc)
	}
}

// attnPanelScores multiplies queries by a panel, of which widen converts row p to float32.
func attnPanelScores(widen func(row []float32, p int), rows, nr, k int, alpha float32, a []float32, lda int, c []float32, ldc int) {
	var row, zeros [widePiece]float32
	for i := range rows {
		copy(c[i*ldc:][:nr], zeros[:])
	}
	for p := range k {
		widen(row[:nr], p)
		for i := range rows {
			order.AddProducts(c[i*ldc:][:nr], a[i*lda+p], row[:nr])
		}
	}
	for i := range rows {
		scores := c[i*ldc:][:nr]
		scaleVecGeneric(scores, scores, alpha)
	}
}
