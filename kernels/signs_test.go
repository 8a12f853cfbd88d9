package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

// TestSignDots compares with dot products of 1 and -1, number by number.
func TestSignDots(t *testing.T) {
	sizes := []struct{ m, n, dim int }{{1, 16, 1}, {2, 32, 31}, {3, 16, 32}, {8, 48, 33}, {9, 16, 384}, {17, 64, 1000}, {2, 16, 31 * 32}, {1, 16, 1025}, {0, 16, 5}, {3, 0, 5}}
	if !testenv.Emulated() {
		sizes = append(sizes, struct{ m, n, dim int }{70, 1536, 384}, struct{ m, n, dim int }{3, 32, 1 << 16})
	}
	eachConfiguration(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 1))
		for _, s := range sizes {
			words := (s.dim + 31) / 32
			p := SignDotsParams{M: s.m, N: s.n, Dim: s.dim, A: make([]int32, words*(s.m+2)), LdA: s.m + 2, B: make([]int32, words*s.n), C: make([]float32, s.m*(s.n+3)), LdC: s.n + 3}
			a, b := make([][]float32, s.m), make([][]float32, s.n)
			set := func(v [][]float32, word func(i, w int) *int32) {
				for i := range v {
					v[i] = make([]float32, s.dim)
					for j := range v[i] {
						if v[i][j] = -1; r.IntN(3) == i%2 {
							v[i][j] = 1
							*word(i, j/32) |= int32(1) << (j % 32)
						}
					}
				}
			}
			set(a, func(i, w int) *int32 { return &p.A[w*p.LdA+i] })
			set(b, func(j, w int) *int32 { return &p.B[(j/SignPanel*words+w)*SignPanel+j%SignPanel] })
			for _, threads := range []Threads{1, 3} {
				for i := range p.C {
					p.C[i] = 99
				}
				threads.SignDots(p)
				for i := range a {
					for j := range p.LdC {
						want := float32(99)
						if j < s.n {
							want = 0
							for l, x := range a[i] {
								want += x * b[j][l]
							}
						}
						if got := p.C[i*p.LdC+j]; got != want {
							t.Fatalf("%+v, %d threads: vectors %d and %d: %g, want %g", s, threads, i, j, got, want)
						}
					}
				}
			}
		}
	})
}

func signsAPI(threads Threads, size apiSize, data func(n int) []float32) (calls []call) {
	const dim, words = 70, 3
	m, n := size.m, 2*SignPanel
	right := SignDotsParams{M: m, N: n, Dim: dim, A: make([]int32, words*m), LdA: m, B: make([]int32, words*n), C: data(m * n), LdC: n}
	bad := cat(sized("M", "N"), []badArg{
		{"N", n - 1, fmt.Sprintf("N = %d, want a multiple of %d", n-1, SignPanel)},
		{"Dim", 0, "Dim = 0, want 1 to"},
		{"Dim", maxSigns + 1, "want 1 to"},
		{"A", right.A[1:], "len(A)"},
		{"LdA", m - 1, fmt.Sprintf("LdA = %d, want at least %d", m-1, m)},
		{"B", right.B[1:], fmt.Sprintf("len(B) = %d, want %d (N*words)", len(right.B)-1, len(right.B))},
		{"C", zeros(m*n - 1), "len(C)"},
		{"LdC", n - 1, fmt.Sprintf("LdC = %d, want at least %d", n-1, n)},
	})
	return append(calls, call{fn: SignDots, name: "SignDots", args: []any{right}, params: "p", bad: fields(right, bad)}.onThreads(threads))
}
