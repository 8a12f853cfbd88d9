package kernels

import (
	"fmt"
)

// The functions for the mixture of experts in package transformer, with wrong values for their
// arguments.

func expertsAPI(threads Threads, size apiSize, data func(n int) []float32) (calls []call) {
	rows, cols := size.rows, size.cols
	add := func(fn any, name string, bad []badArg, right any) {
		calls = append(calls, call{fn: fn, name: name, args: []any{right}, params: "p", bad: fields(right, bad)}.onThreads(threads))
	}
	all := rows * cols
	index := make([]int32, 2*rows)
	gather := GatherParams{Rows: rows, Cols: cols, Dst: data(all), X: data(2 * cols), Index: index, Weight: data(2 * rows), Residual: data(all)}
	add(Gather, "Gather", cat(sized("Rows", "Cols"), []badArg{
		{"Rows", huge, "overflows int"},
		{"Dst", zeros(all - 1), fmt.Sprintf("len(Dst) = %d, want %d (Rows*Cols)", all-1, all)},
		{"Residual", zeros(all + 1), fmt.Sprintf("len(Residual) = %d, want %d", all+1, all)},
		{"Weight", zeros(2*rows - 1), fmt.Sprintf("len(Weight) = %d, want %d (len(Index))", 2*rows-1, 2*rows)},
		{"Index", append([]int32{2}, index[1:]...), "Index[0] = 2, want 0 to 1"},
		{"Index", append([]int32{-1}, index[1:]...), "Index[0] = -1, want 0 to 1"},
		{"Index", index[1:], "len(Weight)"},
		{"X", zeros(0), "Index[0] = 0, want 0 to -1"},
	}), gather)
	glu := GLUParams{Rows: rows, Cols: cols, Dst: data(all), X: data(2 * all), Activation: ActSiLU, Sharpness: 1.702, Limit: 0.5, Offset: 1}
	add(GLU, "GLU", cat(sized("Rows", "Cols"), []badArg{
		{"Cols", huge, "overflows int"},
		{"Dst", zeros(all - 1), fmt.Sprintf("len(Dst) = %d, want %d (Rows*Cols)", all-1, all)},
		{"X", zeros(2*all - 1), fmt.Sprintf("len(X) = %d, want %d (Rows*Cols*2)", 2*all-1, 2*all)},
		{"Activation", ActIdentity, "Activation = 0, want ActReLU to ActReLU2"},
		{"Sharpness", float32(-1), "Sharpness = -1"},
		{"Limit", nan32, "Limit = NaN"},
	}), glu)
	k, n, m := size.k, size.width, size.m
	b := PackB(NoTrans, n, k, data(k*n), n)
	grouped := GemmGroupedParams{A: data(2 * m * k), LdA: k, B: []*PackedB{b, nil, b}, Ends: []int{m, m, 2 * m}, C: data(2 * m * n), LdC: n,
		Bias: [][]float32{data(n), nil, data(n)}}
	add(GemmGrouped, "GemmGrouped", []badArg{
		{"A", zeros(2*m*k - 1), fmt.Sprintf("len(A) = %d, want at least (%d-1)*%d+%d", 2*m*k-1, 2*m, k, k)},
		{"C", zeros(2*m*n - 1), fmt.Sprintf("len(C) = %d, want at least (%d-1)*%d+%d", 2*m*n-1, 2*m, n, n)},
		{"LdA", k - 1, fmt.Sprintf("LdA = %d, want at least %d", k-1, k)},
		{"LdC", n - 1, fmt.Sprintf("LdC = %d, want at least %d", n-1, n)},
		{"B", []*PackedB{b, nil}, "len(Ends) = 3, want 2, as many as B"},
		{"B", []*PackedB{b, nil, nil}, "B[2] is nil"},
		{"B", []*PackedB{b, nil, PackB(NoTrans, n-1, k, data(k*n), n)}, fmt.Sprintf("B[2] is %dx%d, want %dx%d", k, n-1, k, n)},
		{"Ends", []int{m, m - 1, 2 * m}, fmt.Sprintf("Ends[1] = %d, want at least %d", m-1, m)},
		{"Ends", []int{m, m, mMaxRows}, "len(A)"},
		{"Bias", [][]float32{zeros(n)}, "len(Bias) = 1, want 3, as many as B"},
		{"Bias", [][]float32{zeros(n), nil, zeros(n - 1)}, fmt.Sprintf("len(Bias of a group) = %d, want %d (N)", n-1, n)},
	}, grouped)
	return calls
}
