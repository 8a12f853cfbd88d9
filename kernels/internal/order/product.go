package order

// Stretch is the number of steps of k that one chain adds up; see [StretchOf]. It is a variable
// only so that tests can have many stretches in small products.
var Stretch = 1024

// DotStretch is the same for dot products.
var DotStretch = 1 << 16

// The elements of a product with B^T in place are [Dots] for up to FewRows rows of A, and for up to
// mostRows rows if k is long and A has at most mostElements elements. See [IsDots].
const (
	FewRows      = 12
	mostRows     = 64
	mostElements = 1 << 16
)

// IsDots reports whether the elements of a product of m rows with B^T in place are [Dots] rather
// than a [Chain]. Few rows, and up to an eighth of k rows, have Dots: adding up the lanes takes the
// same time for any k (doc/measurements/products.md#ways).
func IsDots(m, k int) bool {
	return m <= FewRows || m <= mostRows && m <= k/8 && m*k <= mostElements
}

// StretchOf returns the length of the stretches of a product of k steps. The stretches of one
// product have nearly the same length, and all but the last have a multiple of eight steps.
func StretchOf(k int) int {
	return Evenly(k, Stretch, 8)
}

// Evenly returns a size of at most limit that cuts n into pieces of nearly the same size. The size
// is a multiple of unit if there are several pieces.
func Evenly(n, limit, unit int) int {
	if n <= limit {
		return max(n, 1)
	}
	units, most := (n+unit-1)/unit, max(limit/unit, 1)
	pieces := (units + most - 1) / most
	return (units + pieces - 1) / pieces * unit
}

// Chain returns an element of alpha*A*B + beta*C: x is a row of A, y a column of B with elements
// ldy apart, and c the element of C. The products of each stretch are one chain of fused
// multiply-adds that begins with 0, in the order of k. The sum of a stretch is multiplied by alpha
// and added to the result so far.
func Chain(alpha float32, x, y []float32, ldy int, beta, c float32) float32 {
	length := StretchOf(len(x))
	for p := 0; p < len(x); p += length {
		sum := float32(0)
		for q := p; q < min(p+length, len(x)); q++ {
			sum = FMA(x[q], y[q*ldy], sum)
		}
		c, beta = Accumulate(sum, alpha, beta, c), 1
	}
	return c
}

// Accumulate returns alpha*sum + beta*c. alpha*sum is rounded first. If beta is 0, c is ignored.
func Accumulate(sum, alpha, beta, c float32) float32 {
	sum *= alpha
	if beta == 0 {
		return sum
	}
	return FMA(beta, c, sum)
}

// DotLanes is the number of lanes in which a dot product of rows of two matrices is summed.
const DotLanes = 16

// DotOf returns the dot product of a row of A and a row of B^T, neither of them packed: element i
// goes to lane i modulo DotLanes. Lanes i and i + DotLanes/2 are added, then neighbours, twice, and
// then the two halves.
func DotOf(x, y []float32) float32 {
	var s [DotLanes]float32
	whole := len(x) / DotLanes * DotLanes
	for i := 0; i < DotLanes; i += 4 {
		s[i], s[i+1], s[i+2], s[i+3] = fourLanes(x[:whole], y[:whole], i)
	}
	for i, v := range x[whole:] {
		s[i] = FMA(v, y[whole+i], s[i])
	}
	return total(&s)
}

// total adds up the lanes of a dot product.
func total(s *[DotLanes]float32) float32 {
	for i := range DotLanes / 2 {
		s[i] += s[i+DotLanes/2]
	}
	return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
}

// fourLanes returns four lanes of DotOf. They stay in registers, which halves the time of pure Go.
func fourLanes(x, y []float32, first int) (s0, s1, s2, s3 float32) {
	for p := first; p < len(x); p += DotLanes {
		a, b := x[p:][:4], y[p:][:4]
		t0 := float64(a[0])*float64(b[0]) + float64(s0)
		t1 := float64(a[1])*float64(b[1]) + float64(s1)
		t2 := float64(a[2])*float64(b[2]) + float64(s2)
		t3 := float64(a[3])*float64(b[3]) + float64(s3)
		if roundsTwice(t0) || roundsTwice(t1) || roundsTwice(t2) || roundsTwice(t3) {
			s0, s1, s2, s3 = FMA(a[0], b[0], s0), FMA(a[1], b[1], s1), FMA(a[2], b[2], s2), FMA(a[3], b[3], s3)
		} else {
			s0, s1, s2, s3 = float32(t0), float32(t1), float32(t2), float32(t3)
		}
	}
	return s0, s1, s2, s3
}

// Dots returns an element of alpha*A*B + beta*C, computed by dot products: x is a row of A, y a row
// of B^T, and c the element of C. The sum of each stretch times alpha plus 0, rounded once, is
// added to beta*c or to the sums before it. Each of these steps is rounded. Adding 0 turns a sum
// that is -0 into +0: the signs of zero lanes differ if some of them add zeros at the end.
func Dots(alpha float32, x, y []float32, beta, c float32) float32 {
	length := Evenly(len(x), DotStretch, 8)
	for p := 0; p < len(x); p += length {
		end := min(p+length, len(x))
		sum := FMA(alpha, DotOf(x[p:end], y[p:end]), 0)
		if beta != 0 {
			sum += float32(beta * c)
		}
		c, beta = sum, 1
	}
	return c
}

// AddProducts adds x*y[j] to sums[j] for every j of sums, with the rounding of FMA.
func AddProducts(sums []float32, x float32, y []float32) {
	y = y[:len(sums)]
	v := float64(x)
	for j, w := range y {
		if s := v*float64(w) + float64(sums[j]); roundsTwice(s) {
			sums[j] = FMA(x, w, sums[j])
		} else {
			sums[j] = float32(s)
		}
	}
}
