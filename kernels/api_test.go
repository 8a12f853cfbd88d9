package kernels

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"

	"github.com/avoformer/avoformer/kernels/internal/mem"
	"github.com/avoformer/avoformer/kernels/internal/weights"
)

// A call of every exported function, with wrong values for its arguments.

// call is a call of one function of the API with valid arguments, in order.
type call struct {
	fn   any
	name string // of the function, as in messages
	recv string // the type whose method it is, or ""
	args []any
	// params has the parameters' names as in messages.
	params string
	// bad lists wrong arguments: the parameter, the wrong value, and the text that the message must
	// contain after the function's name.
	bad []badArg
}

type badArg struct {
	param string
	value any
	want  string
}

const huge = mem.MaxInt/2 + 1 // overflows when doubled

// wrapped returns n plus a number that vanishes in a product with factor, a power of two: without a
// check for overflow, the product would not change.
func wrapped(n, factor int) int { return n + (mem.MaxInt/factor+1)*2 }

// zeros returns an operand of n elements.
func zeros(n int) []float32 { return make([]float32, n) }

// sized returns wrong values of a size: a negative one, and one whose product with any other size
// overflows.
func sized(names ...string) (bad []badArg) {
	for _, n := range names {
		bad = append(bad, badArg{n, -1, n + " = -1, want at least 0"})
	}
	return bad
}

// lengths returns the wrong lengths of slices that must have n elements.
func lengths(n int, names ...string) (bad []badArg) {
	for _, name := range names {
		for _, l := range []int{n - 1, n + 1, 0} {
			bad = append(bad, badArg{name, zeros(l), fmt.Sprintf("len(%s) = %d, want %d", name, l, n)})
		}
	}
	return bad
}

// matrixArg returns the wrong values of a rows x cols matrix with its leading dimension.
func matrixArg(name string, rows, cols, ld int) []badArg {
	n := (rows-1)*ld + cols
	return []badArg{
		{name, zeros(n - 1), fmt.Sprintf("len(%s) = %d, want at least (%d-1)*%d+%d", name, n-1, rows, ld, cols)},
		{name, []float32(nil), fmt.Sprintf("len(%s) = 0, want at least (%d-1)*%d+%d", name, rows, ld, cols)},
		{"ld" + name, cols - 1, fmt.Sprintf("ld%s = %d, want at least %d", name, cols-1, cols)},
		{"ld" + name, -1, fmt.Sprintf("ld%s = -1, want at least %d", name, cols)},
		{"ld" + name, mem.MaxInt, fmt.Sprintf("len(%s) = %d, want at least (%d-1)*%d+%d", name, n, rows, mem.MaxInt, cols)},
	}
}

// fields returns wrong values of the fields of a parameter struct, as wrong structs.
func fields(right any, of []badArg) (bad []badArg) {
	for _, b := range of {
		p := reflect.New(reflect.TypeOf(right)).Elem()
		p.Set(reflect.ValueOf(right))
		p.FieldByName(b.param).Set(reflect.ValueOf(b.value))
		bad = append(bad, badArg{"p", p.Interface(), b.want})
	}
	return bad
}

func cat(lists ...[]badArg) (all []badArg) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// apiSize has the sizes of the calls of the API: elementwise functions take n elements, row kernels
// rows x cols, cols a power of two, and GEMM m, k and width.
type apiSize struct{ n, rows, cols, m, width, k int }

// apiCalls returns the whole API, the functions of the package and the methods of threads, with
// right and wrong arguments.
func apiCalls() []call {
	return slices.Concat(
		rowAPI(1, smallAPI, zeros), rowAPI(2, largeAPI, zeros),
		gemmAPI(1, smallAPI, zeros), gemmAPI(2, smallAPI, zeros),
		expertsAPI(1, smallAPI, zeros), expertsAPI(2, largeAPI, zeros), feedForwardAPI(1, smallAPI, zeros), feedForwardAPI(2, largeAPI, zeros), signsAPI(1, smallAPI, zeros), signsAPI(2, largeAPI, zeros), recurrenceAPI(1, smallAPI, zeros), recurrenceAPI(2, largeAPI, zeros),
		attentionAPI(1, zeros), attentionAPI(2, zeros), pagesAPI(zeros),
	)
}

// rowAPI returns the row kernels and the elementwise functions. data makes their operands.
func rowAPI(threads Threads, size apiSize, data func(n int) []float32) (calls []call) {
	n, rows, cols := size.n, size.rows, size.cols
	add := func(fn any, name, params string, bad []badArg, args ...any) {
		calls = append(calls, call{fn: fn, name: name, args: args, params: params, bad: bad}.onThreads(threads))
	}
	differ := func(name string, got, want int, of string) string {
		return fmt.Sprintf("len(%s) = %d, want %d (%s)", name, got, want, of)
	}
	pairs := []badArg{{"dst", zeros(n - 1), differ("dst", n-1, n, "len(a)")}, {"b", zeros(n + 1), differ("b", n+1, n, "len(a)")},
		{"a", zeros(n - 1), differ("b", n, n-1, "len(a)")}}
	add(Add, "Add", "dst a b", pairs, data(n), data(n), data(n))
	add(Mul, "Mul", "dst a b", pairs, data(n), data(n), data(n))
	add(Scale, "Scale", "dst x alpha", lengths(n, "dst"), data(n), data(n), float32(2))
	add(AXPY, "AXPY", "alpha x y", lengths(n, "y"), float32(2), data(n), data(n))
	for name, f := range map[string]func(dst, x []float32){"Exp": Exp, "ReLU": ReLU, "GELU": GELU, "GELUTanh": GELUTanh,
		"SiLU": SiLU, "Sigmoid": Sigmoid, "Tanh": Tanh, "Erf": Erf, "Softplus": Softplus} {
		add(f, name, "dst x", lengths(n, "dst"), data(n), data(n))
	}

	all := rows * cols
	sizes := func(operands ...string) []badArg {
		return cat(sized("rows", "cols"), []badArg{
			{"rows", huge, fmt.Sprintf("rows*cols = %d*%d overflows int", huge, cols)},
			{"cols", huge, fmt.Sprintf("rows*cols = %d*%d overflows int", rows, huge)},
			{"rows", wrapped(rows, cols), fmt.Sprintf("rows*cols = %d*%d overflows int", wrapped(rows, cols), cols)},
			{"rows", rows + 1, differ("dst", all, all+cols, "rows*cols")},
			{"cols", cols - 1, differ("dst", all, all-rows, "rows*cols")},
		}, lengths(all, operands...))
	}
	add(Softmax, "Softmax", "dst x rows cols", sizes("dst", "x"), data(all), data(all), rows, cols)
	add(LogSoftmax, "LogSoftmax", "dst x rows cols", sizes("dst", "x"), data(all), data(all), rows, cols)
	masked := SoftmaxParams{Batch: 1, Heads: rows, LenQ: 1, LenK: cols, Dst: data(all), X: data(all)}
	add(MaskedSoftmax, "MaskedSoftmax", "p", fields(masked, cat(sized("Batch", "Heads", "LenQ", "LenK", "Past"), []badArg{
		{"Dst", zeros(all - 1), differ("Dst", all-1, all, "Batch*Heads*LenQ*LenK")},
		{"X", zeros(all + 1), differ("X", all+1, all, "Batch*Heads*LenQ*LenK")},
		{"Batch", huge, "overflows int"},
		{"LenK", huge, "overflows int"},
		{"Past", mem.MaxInt, "Past = "},
		{"Mask", []MaskTerm{BiasMask(zeros(all-1), 1, rows, 1, cols)}, differ("mask", all-1, all, "the product of its shape")},
		{"Mask", []MaskTerm{KeepMask(make([]bool, cols), 1, 1, 1, cols+1)}, "mask of shape [1 1 1 "},
		{"Mask", []MaskTerm{QueryLengthMask(make([]int, 2))}, "len(QueryLengthMask) = 2, want 1 (Batch*LenQ)"},
	})), masked)
	add(LayerNorm, "LayerNorm", "dst x rows cols weight bias eps", cat(sizes("dst", "x"), lengths(cols, "weight", "bias")),
		data(all), data(all), rows, cols, data(cols), data(cols), float32(1e-5))
	add(RMSNorm, "RMSNorm", "dst x rows cols weight eps", cat(sizes("dst", "x"), lengths(cols, "weight")),
		data(all), data(all), rows, cols, data(cols), float32(1e-5))
	add(AddLayerNorm, "AddLayerNorm", "dst sum x residual rows cols weight bias eps",
		cat(sizes("dst", "sum", "x", "residual"), lengths(cols, "weight", "bias")),
		data(all), data(all), data(all), data(all), rows, cols, data(cols), data(cols), float32(1e-5))
	add(AddRMSNorm, "AddRMSNorm", "dst sum x residual rows cols weight eps", cat(sizes("dst", "sum", "x", "residual"), lengths(cols, "weight")),
		data(all), data(all), data(all), data(all), rows, cols, data(cols), float32(1e-5))
	return calls
}

// gemmAPI returns GEMM in all its forms.
func gemmAPI(threads Threads, size apiSize, data func(n int) []float32) (calls []call) {
	m, n, k := size.m, size.width, size.k
	add := func(c call) { calls = append(calls, c.onThreads(threads)) }
	lda, ldb, ldc := ceilPower(max(m, k)), ceilPower(max(n, k)), ceilPower(n)
	for _, t := range []struct {
		a, b               Transpose
		rowsA, colsA, rowB int
	}{{NoTrans, NoTrans, m, k, k}, {Trans, Trans, k, m, n}} {
		colsB := n + k - t.rowB
		lenA, lenB, lenC := (t.rowsA-1)*lda+t.colsA, (t.rowB-1)*ldb+colsB, (m-1)*ldc+n
		tooLarge := []badArg{
			{"m", huge, "a"}, // too short, or its rows too close: the message names a in both cases
			{"n", huge, "b"},
			{"k", huge, "a"},
			{"m", wrapped(m, ldc), "a"}, // (m-1)*ld does not change
			{"n", wrapped(n, ldb), "b"},
			{"k", wrapped(k, lda), "a"},
		}
		add(call{fn: Gemm, name: "Gemm",
			args:   []any{t.a, t.b, m, n, k, float32(1), data(lenA), lda, data(lenB), ldb, float32(0), data(lenC), ldc},
			params: "transA transB m n k alpha a lda b ldb beta c ldc",
			bad: cat(sized("m", "n", "k"), matrixArg("a", t.rowsA, t.colsA, lda), matrixArg("b", t.rowB, colsB, ldb),
				matrixArg("c", m, n, ldc), tooLarge)})

		const batch = 5 // 4 strides, a power of two
		right := GemmBatchedParams{TransA: t.a, TransB: t.b, Batch: batch, M: m, N: n, K: k, Alpha: 1,
			A: data((batch-1)*lenA + lenA), LdA: lda, StrideA: lenA,
			B: data((batch-1)*(lenB+1) + lenB), LdB: ldb, StrideB: lenB + 1,
			C: data((batch-1)*lenC + lenC), LdC: ldc, StrideC: lenC}
		add(call{fn: GemmBatched, name: "GemmBatched", args: []any{right}, params: "p",
			bad: fields(right, cat(sized("Batch", "M", "N", "K", "StrideA", "StrideB", "StrideC"), []badArg{
				{"M", huge, "A"}, // too short, or its rows too close: the message names A in both cases
				{"N", huge, "B"},
				{"K", huge, "A"},
				{"M", wrapped(m, ldc), "A"}, // (M-1)*Ld does not change
				{"N", wrapped(n, ldb), "B"},
				{"K", wrapped(k, lda), "A"},
				{"LdA", t.colsA - 1, fmt.Sprintf("LdA = %d, want at least %d", t.colsA-1, t.colsA)},
				{"LdB", colsB - 1, fmt.Sprintf("LdB = %d, want at least %d", colsB-1, colsB)},
				{"LdC", -1, fmt.Sprintf("LdC = -1, want at least %d", n)},
				{"A", zeros(batch*lenA - 1), fmt.Sprintf("len(A) = %d, want at least (5-1)*%d+(%d-1)*%d+%d", batch*lenA-1, lenA, t.rowsA, lda, t.colsA)},
				{"B", zeros(lenB), fmt.Sprintf("len(B) = %d, want at least (5-1)*%d+(%d-1)*%d+%d", lenB, lenB+1, t.rowB, ldb, colsB)},
				{"B", zeros(lenB - 1), fmt.Sprintf("len(B) = %d, want at least ", lenB-1)},
				{"C", []float32(nil), "len(C) = 0, want at least "},
				{"Batch", batch + 1, "len(A) = "},
				{"Batch", mem.MaxInt, "len(A) = "},
				{"StrideA", lenA + 1, "len(A) = "},
				{"StrideA", wrapped(lenA, batch-1), "len(A) = "},
				{"StrideB", mem.MaxInt, "len(B) = "},
				{"StrideC", huge, "len(C) = "},
				{"StrideC", 0, "StrideC = 0, want one by which no element of C belongs to two products"},
				{"StrideC", n - 1, fmt.Sprintf("StrideC = %d, want one by which", n-1)},
			}))})

		if threads == 1 {
			add(call{fn: PackB, name: "PackB", args: []any{t.b, n, k, data(lenB), ldb}, params: "transB n k b ldb",
				bad: cat(sized("k", "n"), matrixArg("b", t.rowB, colsB, ldb),
					[]badArg{{"n", huge, "b"}, {"k", huge, "b"}, {"k", wrapped(k, ldb), "b"}, {"n", wrapped(n, ldb), "b"}})})
			add(call{fn: Format.PackB, name: "Format.PackB", args: []any{FormatInt8, t.b, n, k, data(lenB), ldb}, params: "f transB n k b ldb",
				bad: cat(sized("k", "n"), matrixArg("b", t.rowB, colsB, ldb), []badArg{{"f", Format(len(weights.Names)), "want a Format"},
					{"n", huge, "b"}, {"k", huge, "b"}, {"k", wrapped(k, ldb), "b"}, {"n", wrapped(n, ldb), "b"}})})
		}
	}

	if threads == 1 {
		add(call{fn: PackBRows, name: "PackBRows", args: []any{FormatF32, n, k, func(int, []float32) {}}, params: "f n k row",
			bad: cat(sized("n", "k"), []badArg{{"n", huge, "overflows"}, {"k", huge, "overflows"},
				{"f", Format(len(weights.Names)), "want a Format"}, {"row", (func(int, []float32))(nil), "row is nil"}})})
		add(call{fn: PackBBlocks, name: "PackBBlocks", args: []any{FormatQ8_0, n, k * 32, func(int, []byte) {}}, params: "f n k row",
			bad: cat(sized("n", "k"), []badArg{{"n", huge, "overflows"}, {"k", huge, "overflows"}, {"k", 33, "want a multiple of 32"},
				{"f", FormatInt8, "want a Format that files have"}, {"f", Format(len(weights.Names)), "want a Format that files have"}, {"row", (func(int, []byte))(nil), "row is nil"}})})
		unit := NewPacker(FormatF32, 3, k).Rows()
		part := func(j int, x []float32) *PackedB {
			p := NewPacker(FormatF32, 3, k)
			p.Pack(j, x)
			return p.Packed()
		}
		blocks := func(j int, x []byte) *PackedB {
			p := NewPacker(FormatQ8_0, 3, 64)
			p.PackBlocks(j, x)
			return p.Packed()
		}
		add(call{fn: NewPacker, name: "NewPacker", args: []any{FormatF32, n, k}, params: "f n k",
			bad: cat(sized("n", "k"), []badArg{{"n", huge, "overflows"}, {"k", huge, "overflows"}, {"f", Format(len(weights.Names)), "want a Format"}})})
		add(call{fn: PackedBytes, name: "PackedBytes", args: []any{FormatF32, n, k}, params: "f n k",
			bad: cat(sized("n", "k"), []badArg{{"n", huge, "overflows"}, {"k", huge, "overflows"}, {"f", Format(len(weights.Names)), "want a Format"}})})
		add(call{fn: PackedLayout, name: "PackedLayout", args: []any{FormatF32}, params: "f", bad: []badArg{{"f", Format(len(weights.Names)), "want a Format"}}})
		bytes := PackedBytes(FormatF32, n, k)
		add(call{fn: PackedIn, name: "PackedIn", args: []any{FormatF32, n, k, ownMemory(make([]byte, bytes))}, params: "f n k memory",
			bad: cat(sized("n", "k"), []badArg{{"n", huge, "overflows"}, {"k", huge, "overflows"}, {"f", Format(len(weights.Names)), "want a Format"},
				{"memory", make([]byte, bytes-1), "memory"}, {"memory", make([]byte, bytes+1), "memory"}, {"memory", ownMemory(make([]byte, bytes+8))[1:][:bytes], "modulo 8"}})})
		add(call{fn: part, name: "Packer.Pack", args: []any{0, data(3 * k)}, params: "j x",
			bad: []badArg{{"j", -1, "j = -1, want a multiple"}, {"j", 1, "j = 1, want a multiple"}, {"j", 4 * unit, "up to 3 (n)"},
				{"x", data(3*k - 1), "want rows of"}, {"x", data(2 * k), "want rows of"}, {"x", data(4 * k), "want rows of"}}})
		balance := func(x []float32) *PackedB {
			p := NewPacker(FormatInt8, n, k)
			p.Balance(x)
			return p.Packed()
		}
		add(call{fn: balance, name: "Packer.Balance", args: []any{data(2 * k)}, params: "x",
			bad: []badArg{{"x", data(2*k - 1), "want a multiple of"}}})
		add(call{fn: blocks, name: "Packer.PackBlocks", args: []any{0, make([]byte, 3*68)}, params: "j x",
			bad: []badArg{{"j", 1, "j = 1, want a multiple"}, {"x", make([]byte, 3*68-1), "want rows of 68"}, {"x", make([]byte, 2*68), "want rows of 68"}}})
		add(call{fn: PackB(NoTrans, n, k, data(k*n), n).Column, name: "PackedB.Column", args: []any{data(k), n - 1}, params: "dst j",
			bad: cat(lengths(k, "dst"), []badArg{{"j", -1, "j = -1, want 0 to"}, {"j", n, fmt.Sprintf("want 0 to %d", n-1)}})})
		add(call{fn: FormatQ8_0.Quantize, name: "Format.Quantize", args: []any{make([]byte, 2*34), data(2 * 32)}, params: "dst x",
			bad: []badArg{{"dst", make([]byte, 2*34-1), "len(dst) = 67, want 68"}, {"dst", make([]byte, 2*34+1), "len(dst) = 69, want 68"},
				{"x", data(33), "len(x) = 33, want a multiple of 32"}, {"x", data(32), "len(dst) = 68, want 34"}}})
	}

	lda = ceilPower(k)
	lenA, lenC := (m-1)*lda+k, (m-1)*ldc+n
	add(call{fn: GemmPacked, name: "GemmPacked",
		args: []any{m, float32(1), data(lenA), lda, PackB(NoTrans, n, k, data(k*n), n), float32(0), data(lenC), ldc,
			Epilogue{Bias: data(n), Activation: ActGELUTanh, Residual: data(lenC), LdResidual: ldc}},
		params: "m alpha a lda b beta c ldc ep",
		bad: cat(sized("m"), matrixArg("a", m, k, lda), matrixArg("c", m, n, ldc), []badArg{
			{"m", huge, "len(a)"},
			{"m", wrapped(m, lda), "len(a)"},
			{"b", (*PackedB)(nil), "b is nil"},
			{"ep", Epilogue{Bias: zeros(n - 1)}, fmt.Sprintf("len(ep.Bias) = %d, want %d (n)", n-1, n)},
			{"ep", Epilogue{Activation: ActReLU2 + 1}, fmt.Sprintf("ep.Activation = %d", ActReLU2+1)},
			{"ep", Epilogue{Residual: zeros(lenC - 1), LdResidual: ldc}, fmt.Sprintf("len(ep.Residual) = %d, want at least (%d-1)*%d+%d", lenC-1, m, ldc, n)},
			{"ep", Epilogue{Residual: zeros(lenC), LdResidual: n - 1}, fmt.Sprintf("ep.LdResidual = %d, want at least %d", n-1, n)},
		})})
	return calls
}

// ceilPower returns the least power of two above n.
func ceilPower(n int) int { return 1 << bits.Len(uint(n)) }

// attentionAPI returns Attention, with each field of its parameters wrong in turn.
func attentionAPI(threads Threads, data func(n int) []float32) []call {
	right := AttentionParams{Batch: 2, Heads: 4, LenQ: 3, LenK: 5, HeadDim: 8,
		Dst: data(2 * 4 * 3 * 8), Q: data(2 * 4 * 3 * 8), K: data(2 * 4 * 5 * 8), V: data(2 * 4 * 5 * 8)}
	c := call{fn: Attention, name: "Attention", args: []any{right}, params: "p"}
	add := func(want string, change func(p *AttentionParams)) {
		p := right
		change(&p)
		c.bad = append(c.bad, badArg{"p", p, want})
	}
	for _, f := range []string{"Batch", "Heads", "KVHeads", "LenQ", "LenK", "HeadDim", "ValueDim", "Past"} {
		for _, v := range []int{-1, mem.MaxInt} {
			add(fmt.Sprintf("%s = %d, want at ", f, v), func(p *AttentionParams) {
				reflect.ValueOf(p).Elem().FieldByName(f).SetInt(int64(v))
			})
		}
	}
	for _, f := range []string{"Dst", "Q", "K", "V"} {
		slice := func(p *AttentionParams) reflect.Value { return reflect.ValueOf(p).Elem().FieldByName(f) }
		add("len("+f+") = 0, too short", func(p *AttentionParams) { slice(p).SetZero() })
		n := slice(&right).Len() - 1
		add(fmt.Sprintf("len(%s) = %d, too short", f, n), func(p *AttentionParams) { slice(p).Set(slice(p).Slice(0, n)) })
		strides := func(p *AttentionParams) *Strides {
			return reflect.ValueOf(p).Elem().FieldByName(f + "Strides").Addr().Interface().(*Strides)
		}
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: mem.MaxInt, Head: 1, Row: 1} })
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: 96, Head: mem.MaxInt, Row: 1} })
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: 96, Head: 24, Row: mem.MaxInt} })
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: 96, Head: 24, Row: -8} })
	}
	add("KVHeads = 3, want a divisor of Heads = 4", func(p *AttentionParams) { p.KVHeads = 3 })
	add("Empty = 3, want EmptyZero", func(p *AttentionParams) { p.Empty = EmptyUniform + 1 })
	add("len(HeadMask) = 3, want 4 (Heads)", func(p *AttentionParams) { p.HeadMask = zeros(3) })
	add("len(Sinks) = 5, want 4 (Heads)", func(p *AttentionParams) { p.Sinks = zeros(5) })
	add("len(Weights) = 119, want 120", func(p *AttentionParams) { p.Weights = zeros(119) })
	add("len(Relative) = 8, want", func(p *AttentionParams) { p.Relative = zeros(8) })
	for _, m := range []struct {
		term MaskTerm
		want string
	}{
		{LengthMask(make([]int, 3)), "len(LengthMask) = 3, want 2 (Batch)"},
		{QueryLengthMask(make([]int, 5)), "len(QueryLengthMask) = 5, want 6 (Batch*LenQ)"},
		{ALiBiMask(zeros(3)), "len(ALiBiMask) = 3, want 4 (Heads)"},
		{KeepMask(make([]bool, 14), 1, 1, 3, 5), "len(mask) = 14, want 15"},
		{KeepMask(make([]bool, 15), 1, 1, 5, 3), "mask of shape [1 1 5 3]"},
		{BlockMask(make([]bool, 16), 1, 1, 3, 5), "len(mask) = 16, want 15"},
		{BiasMask(zeros(3), 3, 1, 1, 1), "mask of shape [3 1 1 1]"},
		{BiasMask(zeros(1), 1, 1, 1, -1), "mask of shape [1 1 1 -1]"},
	} {
		add(m.want, func(p *AttentionParams) { p.Mask = []MaskTerm{CausalMask(), m.term} })
	}
	calls := []call{c.onThreads(threads), sequencesAPI(threads, data)}

	// Other valid calls: decoding, and with all optional fields.
	decode := AttentionParams{Batch: 1, Heads: 4, KVHeads: 2, LenQ: 1, LenK: 2100, HeadDim: 16, Past: 2099,
		Dst: data(4 * 16), Q: data(4 * 16), K: data(2 * 2100 * 16), V: data(2 * 2100 * 16)}
	all := AttentionParams{Batch: 2, Heads: 2, LenQ: 40, LenK: 50, HeadDim: 8, ValueDim: 4, Past: 10,
		Dst: data(2 * 2 * 40 * 4), Q: data(2 * 2 * 40 * 8), K: data(2 * 2 * 50 * 8), V: data(2 * 2 * 50 * 4),
		HeadMask: data(2), Sinks: data(2), Weights: data(2 * 2 * 40 * 50), Relative: data((2*50 - 1) * 8), RelativeKeys: true, Empty: EmptyUniform,
		Mask: []MaskTerm{CausalMask(), WindowMask(30, 2), LengthMask([]int{50, 20}), QueryLengthMask(make([]int, 80)),
			ALiBiMask(data(2)), BiasMask(data(50), 1, 1, 1, 50), KeepMask(make([]bool, 50), 1, 1, 1, 50), BlockMask(make([]bool, 40), 1, 1, 40, 1)}}
	for _, p := range []AttentionParams{decode, all} {
		calls = append(calls, call{fn: Attention, name: "Attention", args: []any{p}, params: "p"}.onThreads(threads))
	}
	return calls
}
