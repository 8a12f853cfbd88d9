package attend

import (
	"unsafe"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/simd"
)

// This file has the queue of the memory that is fetched during a product.

// fetchRun is memory to fetch: count pieces, pace bytes apart.
type fetchRun struct {
	at          uintptr
	pace, count int
}

// fetchQueue has the runs that the next products fetch, one run in each call of simd.AttnPanels.
type fetchQueue struct {
	runs [16]fetchRun
	n    int
}

// rows adds n rows of a matrix.
func (f *fetchQueue) rows(x []float32, n, dim, ld int) {
	at, bytes := uintptr(unsafe.Pointer(unsafe.SliceData(x))), dim*mem.Element
	if ld == dim {
		f.add(fetchRun{at, simd.FetchedPiece, (n*bytes + simd.FetchedPiece - 1) / simd.FetchedPiece})
		return
	}
	for ; bytes > 0; bytes -= simd.FetchedPiece {
		f.add(fetchRun{at, ld * mem.Element, n})
		at += simd.FetchedPiece
	}
}

func (f *fetchQueue) add(r fetchRun) {
	if f.n < len(f.runs) && r.count > 0 {
		f.runs[f.n] = r
		f.n++
	}
}

// take removes a run and returns it relative to b, in the form for simd.AttnPanels.
func (f *fetchQueue) take(b []float32) (next, pace, count int) {
	if f.n == 0 {
		return 0, 0, 0
	}
	f.n--
	r := f.runs[f.n]
	return (int(r.at) - int(uintptr(unsafe.Pointer(unsafe.SliceData(b))))) / mem.Element, r.pace, r.count
}
