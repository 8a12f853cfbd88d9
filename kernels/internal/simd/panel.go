package simd

// Panel multiplies one panel, as GemmPanel does, without fetching ahead.
func Panel(isa ISA, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	GemmPanel(isa, m, n, k, alpha, a, lda, b, ldb, 0, 0, 0, 0, beta, c, ldc)
}
