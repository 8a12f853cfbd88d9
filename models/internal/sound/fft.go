package sound

import (
	"math"

	"github.com/avoformer/avoformer/internal/elementary"
)

// fft is the fast Fourier transform of n values, for n of small prime factors (Cooley and Tukey,
// 1965).
type fft struct {
	n     int
	roots []complex128 // exp(-2πi*k/n)
}

func newFFT(n int) *fft {
	f := &fft{n, make([]complex128, n)}
	for k := range f.roots {
		sin, cos := elementary.Sincos(-2 * math.Pi * float64(k) / float64(n))
		f.roots[k] = complex(cos, sin)
	}
	return f
}

// transform sets dst, of f.n/stride elements, to the transform of every stride-th element of x.
func (f *fft) transform(dst, x []complex128, stride int) {
	n := len(dst)
	if n == 1 {
		dst[0] = x[0]
		return
	}
	p := 2 // the smallest prime factor
	for n%p != 0 {
		p++
	}
	m := n / p
	if m > 1 {
		for r := range p { // the transforms of the elements r, r+p, r+2p, …
			f.transform(dst[r*m:(r+1)*m], x[r*stride:], stride*p)
		}
	} else {
		for r := range p {
			dst[r] = x[r*stride]
		}
	}
	if p == 2 {
		for k := range m {
			a, b := dst[k], times(dst[m+k], f.roots[k*stride])
			dst[k], dst[m+k] = a+b, a-b
		}
		return
	}
	var part [8]complex128
	if p > len(part) {
		panic("models: fft of a size with a large prime factor")
	}
	for k := range m {
		for r := range p {
			part[r] = times(dst[r*m+k], f.roots[r*k*stride])
		}
		for q := range p {
			sum, at := part[0], 0
			for _, c := range part[1:p] { // times exp(-2πi*rq/p)
				if at += q; at >= p {
					at -= p
				}
				sum += times(c, f.roots[at*m*stride])
			}
			dst[q*m+k] = sum
		}
	}
}

// times returns a*b. Each product is rounded, since compilers fuse it with the addition on some
// processors.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}
