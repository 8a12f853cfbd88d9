//go:build !purego

package avx512probe

// addShort is meant to be dst[i] = a[i] + b[i] for i < n <= 16, but its mask is one lane short, so
// that dst[n-1] is never written. It is wrong on purpose: see TestCanary.
//
//go:noescape
func addShort(dst, a, b *float32, n int)

// maskedLoad reads src[i] into dst[i] for the i set in mask, through VMOVUPS.Z with a memory
// operand; dst[i] = 0 for the others of the 16.
//
//go:noescape
func maskedLoad(dst, src *float32, mask uint16)

// maskedAdd is maskedLoad as the operand of an arithmetic instruction.
//
//go:noescape
func maskedAdd(dst, src *float32, mask uint16)

// maskedStore writes src[i] to dst[i] for the i set in mask. All 16 elements of src are read.
//
//go:noescape
func maskedStore(dst, src *float32, mask uint16)
