//go:build goexperiment.simd

package gopeer

import (
	"runtime"
	"simd/archsimd"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// experimental returns the libraries that need GOEXPERIMENT=simd.
func experimental() []workload.Contestant {
	return []workload.Contestant{library{"archsimd", runtime.Version(), 1, intrinsics}}
}

// intrinsics uses the compiler's own vector types: a product with tiles of 4x16 on packed B, the
// tile that its register allocation handles best. It does not have row kernels.
func intrinsics(d *workload.Data, out []float32) func() {
	if d.Op != workload.GemmNN || d.Dims[0]%4 != 0 || d.Dims[1]%16 != 0 {
		return nil
	}
	m, n, k := d.Dims[0], d.Dims[1], d.Dims[2]
	const kc = 256
	packed := make([]float32, kc*n)
	return func() {
		clear(out)
		for p := 0; p < k; p += kc {
			depth := min(kc, k-p)
			for j := 0; j < n; j += 16 {
				for q := range depth {
					copy(packed[j*depth+q*16:][:16], d.In[1][(p+q)*n+j:])
				}
			}
			for i := 0; i < m; i += 4 {
				for j := 0; j < n; j += 16 {
					tile(depth, d.In[0][i*k+p:], k, packed[j*depth:], out[i*n+j:], n)
				}
			}
		}
	}
}

// tile adds A[4,depth]·B[depth,16] to C. B's rows are contiguous.
func tile(depth int, a []float32, lda int, b []float32, c []float32, ldc int) {
	a0, a1, a2, a3 := a[:depth], a[lda:][:depth], a[2*lda:][:depth], a[3*lda:][:depth]
	c00, c01 := archsimd.LoadFloat32x8Slice(c), archsimd.LoadFloat32x8Slice(c[8:])
	c10, c11 := archsimd.LoadFloat32x8Slice(c[ldc:]), archsimd.LoadFloat32x8Slice(c[ldc+8:])
	c20, c21 := archsimd.LoadFloat32x8Slice(c[2*ldc:]), archsimd.LoadFloat32x8Slice(c[2*ldc+8:])
	c30, c31 := archsimd.LoadFloat32x8Slice(c[3*ldc:]), archsimd.LoadFloat32x8Slice(c[3*ldc+8:])
	for p := range depth {
		b0, b1 := archsimd.LoadFloat32x8Slice(b[p*16:]), archsimd.LoadFloat32x8Slice(b[p*16+8:])
		x := archsimd.BroadcastFloat32x8(a0[p])
		c00, c01 = x.MulAdd(b0, c00), x.MulAdd(b1, c01)
		x = archsimd.BroadcastFloat32x8(a1[p])
		c10, c11 = x.MulAdd(b0, c10), x.MulAdd(b1, c11)
		x = archsimd.BroadcastFloat32x8(a2[p])
		c20, c21 = x.MulAdd(b0, c20), x.MulAdd(b1, c21)
		x = archsimd.BroadcastFloat32x8(a3[p])
		c30, c31 = x.MulAdd(b0, c30), x.MulAdd(b1, c31)
	}
	c00.StoreSlice(c)
	c01.StoreSlice(c[8:])
	c10.StoreSlice(c[ldc:])
	c11.StoreSlice(c[ldc+8:])
	c20.StoreSlice(c[2*ldc:])
	c21.StoreSlice(c[2*ldc+8:])
	c30.StoreSlice(c[3*ldc:])
	c31.StoreSlice(c[3*ldc+8:])
}
