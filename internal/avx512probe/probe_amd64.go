//go:build !purego

package avx512probe

// addShort is meant to be dst[i] = a[i] + b[i] for i < n <= 16, but its mask is one lane short, so
// that dst[n-1] is never written. It is wrong on purpose: see TestCanary.
//
//go:noescape
func addShort(dst, a, b *float32, n int)

// maskedLoad reads src[i] into dst[i] for each i that is set in mask, through VMOVUPS.Z with a
// memory operand. It sets the other elements of the 16 to 0.
//
//go:noescape
func maskedLoad(dst, src *float32, mask uint16)

// maskedAdd does the same as maskedLoad, with src as the memory operand of an arithmetic
// instruction.
//
//go:noescape
func maskedAdd(dst, src *float32, mask uint16)

// maskedStore writes src[i] to dst[i] for the i set in mask. All 16 elements of src are read.
//
//go:noescape
func maskedStore(dst, src *float32, mask uint16)
