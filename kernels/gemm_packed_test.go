package kernels

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPackBRows wants the same packed form from the rows of B^T as from B in either
// layout, and every column of it back.
func TestPackBRows(t *testing.T) {
	eachISA(t, func(t *testing.T) {
		for _, s := range [][2]int{{1, 1}, {3, 5}, {64, 30}, {67, 300}, {100, 1}, {0, 4}, {4, 0}, {33, 1000}} {
			n, k := s[0], s[1]
			t.Run(fmt.Sprintf("%dx%d", n, k), func(t *testing.T) {
				rows := randomSlice(rand.New(rand.NewPCG(6, uint64(n))), n*k)
				columns := make([]float32, k*n)
				for j := range n {
					for p := range k {
						columns[p*n+j] = rows[j*k+p]
					}
				}
				next := 0
				got := PackBRows(FormatF32, n, k, func(j int, dst []float32) {
					if j != next || len(dst) != k {
						t.Fatalf("row %d with %d elements, want %d with %d", j, len(dst), next, k)
					}
					next++
					copy(dst, rows[j*k:])
				})
				if next != n || got.K() != k || got.N() != n {
					t.Errorf("%d rows were asked for, K = %d, N = %d, want %d, %d, %d", next, got.K(), got.N(), n, k, n)
				}
				for name, want := range map[string]*PackedB{
					"Trans": PackB(Trans, k, n, rows, max(k, 1)), "NoTrans": PackB(NoTrans, k, n, columns, max(n, 1))} {
					if !bytes.Equal(got.data, want.data) || got.Bytes() != want.Bytes() {
						t.Errorf("not what PackB makes of B, %s", name)
					}
				}
				for j := range n {
					column := make([]float32, k)
					if got.Column(column, j); !slices.Equal(column, rows[j*k:][:k]) {
						t.Fatalf("column %d is %v, want %v", j, column, rows[j*k:][:k])
					}
				}
			})
		}
	})
}
