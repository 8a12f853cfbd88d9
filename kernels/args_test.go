package kernels

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// call is one function of the API with arguments that are right, in order.
type call struct {
	fn   any
	name string // of the function, as messages have it
	args []any
	// params are the parameters' names as messages have them.
	params string
	// bad lists wrong arguments: which parameter, what it is instead, and what
	// the message must contain after the function's name.
	bad []badArg
}

type badArg struct {
	param string
	value any
	want  string
}

const huge = maxInt/2 + 1 // twice it overflows

// zeros is an operand of n elements.
func zeros(n int) []float32 { return make([]float32, n) }

// sized are the wrong values of a size: negative, and one whose product with
// any other size overflows.
func sized(names ...string) (bad []badArg) {
	for _, n := range names {
		bad = append(bad, badArg{n, -1, n + " = -1, want at least 0"})
	}
	return bad
}

// lengths are the wrong lengths of slices that must have n elements.
func lengths(n int, names ...string) (bad []badArg) {
	for _, name := range names {
		for _, l := range []int{n - 1, n + 1, 0} {
			bad = append(bad, badArg{name, zeros(l), fmt.Sprintf("len(%s) = %d, want %d", name, l, n)})
		}
	}
	return bad
}

// matrixArg are the wrong values of a rows x cols matrix with its leading dimension.
func matrixArg(name string, rows, cols, ld int) []badArg {
	n := (rows-1)*ld + cols
	return []badArg{
		{name, zeros(n - 1), fmt.Sprintf("len(%s) = %d, want at least (%d-1)*%d+%d", name, n-1, rows, ld, cols)},
		{name, []float32(nil), fmt.Sprintf("len(%s) = 0, want at least (%d-1)*%d+%d", name, rows, ld, cols)},
		{"ld" + name, cols - 1, fmt.Sprintf("ld%s = %d, want at least %d", name, cols-1, cols)},
		{"ld" + name, -1, fmt.Sprintf("ld%s = -1, want at least %d", name, cols)},
		{"ld" + name, maxInt, fmt.Sprintf("len(%s) = %d, want at least (%d-1)*%d+%d", name, n, rows, maxInt, cols)},
	}
}

func cat(lists ...[]badArg) (all []badArg) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// rowAPI is the row kernels and the elementwise functions, on n elements or
// rows x cols: the functions of the package, or the methods of threads.
func rowAPI(threads Threads, n, rows, cols int) (calls []call) {
	add := func(fn any, name, params string, bad []badArg, args ...any) {
		if threads > 1 {
			fn = reflect.ValueOf(threads).MethodByName(name).Interface()
		}
		calls = append(calls, call{fn, name, args, params, bad})
	}
	differ := func(name string, got, want int, of string) string {
		return fmt.Sprintf("len(%s) = %d, want %d (%s)", name, got, want, of)
	}
	pairs := []badArg{{"dst", zeros(n - 1), differ("dst", n-1, n, "len(a)")}, {"b", zeros(n + 1), differ("b", n+1, n, "len(a)")},
		{"a", zeros(n - 1), differ("b", n, n-1, "len(a)")}}
	add(Add, "Add", "dst a b", pairs, zeros(n), zeros(n), zeros(n))
	add(Mul, "Mul", "dst a b", pairs, zeros(n), zeros(n), zeros(n))
	add(Scale, "Scale", "dst x alpha", lengths(n, "dst"), zeros(n), zeros(n), float32(2))
	add(AXPY, "AXPY", "alpha x y", lengths(n, "y"), float32(2), zeros(n), zeros(n))
	for name, f := range map[string]func(dst, x []float32){"Exp": Exp, "ReLU": ReLU, "GELU": GELU, "GELUTanh": GELUTanh,
		"SiLU": SiLU, "Sigmoid": Sigmoid, "Tanh": Tanh, "Erf": Erf} {
		add(f, name, "dst x", lengths(n, "dst"), zeros(n), zeros(n))
	}

	all := rows * cols
	sizes := func(data ...string) []badArg {
		return cat(sized("rows", "cols"), []badArg{
			{"rows", huge, fmt.Sprintf("rows*cols = %d*%d overflows int", huge, cols)},
			{"cols", huge, fmt.Sprintf("rows*cols = %d*%d overflows int", rows, huge)},
			{"rows", rows + 1, differ("dst", all, all+cols, "rows*cols")},
			{"cols", cols - 1, differ("dst", all, all-rows, "rows*cols")},
		}, lengths(all, data...))
	}
	add(Softmax, "Softmax", "dst x rows cols", sizes("dst", "x"), zeros(all), zeros(all), rows, cols)
	add(LogSoftmax, "LogSoftmax", "dst x rows cols", sizes("dst", "x"), zeros(all), zeros(all), rows, cols)
	add(MaskedSoftmax, "MaskedSoftmax", "dst x rows cols mask", cat(sizes("dst", "x"), []badArg{
		{"mask", SoftmaxMask{Bias: zeros(all - 1)}, differ("Bias", all-1, all, "rows*cols")},
		{"mask", SoftmaxMask{Visible: make([]bool, all+1)}, differ("Visible", all+1, all, "rows*cols")},
		{"mask", SoftmaxMask{ValidLens: make([]int, rows+1)}, differ("ValidLens", rows+1, rows, "rows")},
	}), zeros(all), zeros(all), rows, cols, SoftmaxMask{Scale: 1})
	add(LayerNorm, "LayerNorm", "dst x rows cols weight bias eps", cat(sizes("dst", "x"), lengths(cols, "weight", "bias")),
		zeros(all), zeros(all), rows, cols, zeros(cols), zeros(cols), float32(1e-5))
	add(RMSNorm, "RMSNorm", "dst x rows cols weight eps", cat(sizes("dst", "x"), lengths(cols, "weight")),
		zeros(all), zeros(all), rows, cols, zeros(cols), float32(1e-5))
	add(AddLayerNorm, "AddLayerNorm", "dst sum x residual rows cols weight bias eps",
		cat(sizes("dst", "sum", "x", "residual"), lengths(cols, "weight", "bias")),
		zeros(all), zeros(all), zeros(all), zeros(all), rows, cols, zeros(cols), zeros(cols), float32(1e-5))
	return calls
}

func apiCalls() []call {
	// The methods need enough elements to use several threads.
	calls := append(rowAPI(1, 5, 3, 4), rowAPI(2, 3*threadElements, 301, 128)...)

	// Gemm: op(A) is 3 x 2, op(B) is 2 x 5.
	const m, n, k = 3, 5, 2
	for _, t := range []struct {
		a, b               Transpose
		rowsA, colsA, rowB int
	}{{NoTrans, NoTrans, m, k, k}, {Trans, Trans, k, m, n}} {
		colsB := n + k - t.rowB
		c := call{Gemm, "Gemm",
			[]any{t.a, t.b, m, n, k, float32(1), zeros((t.rowsA-1)*7 + t.colsA), 7, zeros((t.rowB-1)*8 + colsB), 8, float32(0), zeros((m-1)*9 + n), 9},
			"transA transB m n k alpha a lda b ldb beta c ldc",
			cat(sized("m", "n", "k"), matrixArg("a", t.rowsA, t.colsA, 7), matrixArg("b", t.rowB, colsB, 8), matrixArg("c", m, n, 9),
				[]badArg{
					{"m", huge, "a"}, // too short, or its rows too close: either way a is named
					{"n", huge, "b"},
					{"k", huge, "a"},
				})}
		calls = append(calls, c)
		threads := c
		threads.fn = Threads(2).Gemm
		calls = append(calls, threads)

		calls = append(calls, call{PackB, "PackB", []any{t.b, k, n, zeros((t.rowB-1)*8 + colsB), 8}, "transB k n b ldb",
			cat(sized("k", "n"), matrixArg("b", t.rowB, colsB, 8), []badArg{{"n", huge, "b"}, {"k", huge, "b"}})})
	}

	b := PackB(NoTrans, k, n, zeros(k*n), n)
	packed := call{GemmPacked, "GemmPacked",
		[]any{m, float32(1), zeros((m-1)*7 + k), 7, b, float32(0), zeros((m-1)*9 + n), 9, Epilogue{}},
		"m alpha a lda b beta c ldc ep",
		cat(sized("m"), matrixArg("a", m, k, 7), matrixArg("c", m, n, 9), []badArg{
			{"m", huge, "len(a)"},
			{"b", (*PackedB)(nil), "b is nil"},
			{"ep", Epilogue{Bias: zeros(n - 1)}, "len(ep.Bias) = 4, want 5 (n)"},
			{"ep", Epilogue{Activation: ActSiLU + 1}, fmt.Sprintf("ep.Activation = %d", ActSiLU+1)},
			{"ep", Epilogue{Residual: zeros(2*6 + n - 1), LdResidual: 6}, "len(ep.Residual) = 16, want at least (3-1)*6+5"},
			{"ep", Epilogue{Residual: zeros(15), LdResidual: n - 1}, "ldep.Residual = 4, want at least 5"},
		})}
	threads := packed
	threads.fn = Threads(2).GemmPacked
	return append(calls, packed, threads)
}

// attentionBad are the wrong fields of the parameters of right.
func attentionBad() (right AttentionParams, bad []struct {
	change func(p *AttentionParams)
	want   string
}) {
	right = AttentionParams{Batch: 2, Heads: 4, LenQ: 3, LenK: 5, HeadDim: 8,
		Dst: zeros(2 * 4 * 3 * 8), Q: zeros(2 * 4 * 3 * 8), K: zeros(2 * 4 * 5 * 8), V: zeros(2 * 4 * 5 * 8)}
	add := func(want string, change func(p *AttentionParams)) {
		bad = append(bad, struct {
			change func(p *AttentionParams)
			want   string
		}{change, want})
	}
	for _, f := range []string{"Batch", "Heads", "KVHeads", "LenQ", "LenK", "HeadDim", "ValueDim", "Past"} {
		for _, v := range []int{-1, maxInt} {
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
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: maxInt, Head: 1, Row: 1} })
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: 96, Head: maxInt, Row: 1} })
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: 96, Head: 24, Row: maxInt} })
		add("len("+f+")", func(p *AttentionParams) { *strides(p) = Strides{Batch: 96, Head: 24, Row: -8} })
	}
	add("KVHeads = 3, want a divisor of Heads = 4", func(p *AttentionParams) { p.KVHeads = 3 })
	add("Empty = 3, want EmptyZero", func(p *AttentionParams) { p.Empty = EmptyUniform + 1 })
	add("len(HeadMask) = 3, want 4 (Heads)", func(p *AttentionParams) { p.HeadMask = zeros(3) })
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
	return right, bad
}

// panicOf is the text of the panic in which f ends, "" if it returns.
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// TestArguments makes each argument of each function wrong in turn. The panic
// must name function, argument, what it is and what it should be, and come
// before anything is written.
func TestArguments(t *testing.T) {
	for _, c := range apiCalls() {
		t.Run(c.name, func(t *testing.T) {
			if p := panicOf(func() { c.with("", nil) }); p != "" {
				t.Fatalf("the right arguments: %s", p)
			}
			for _, b := range c.bad {
				text := panicOf(func() { c.with(b.param, b.value) })
				if !strings.HasPrefix(text, "kernels."+c.name+": ") || !strings.Contains(text, b.want) {
					t.Errorf("%s = %v: panic %q, want kernels.%s and %q", b.param, brief(b.value), text, c.name, b.want)
				}
			}
		})
	}
	t.Run("Attention", func(t *testing.T) {
		right, bad := attentionBad()
		for _, threads := range []Threads{1, 2} {
			p := right
			if text := panicOf(func() { threads.Attention(p) }); text != "" {
				t.Fatalf("the right parameters: %s", text)
			}
			for _, b := range bad {
				p := right
				p.Dst = full(len(right.Dst))
				all := p.Dst
				b.change(&p)
				text := panicOf(func() { threads.Attention(p) })
				if !strings.HasPrefix(text, "kernels.Attention: ") || !strings.Contains(text, b.want) {
					t.Errorf("panic %q, want kernels.Attention and %q", text, b.want)
				}
				if i := firstWritten(all); i >= 0 {
					t.Errorf("%s: wrote Dst[%d]", b.want, i)
				}
			}
		}
	})
}

// with calls the function with one argument replaced. All float32 slices hold a
// value that no function here would give; where one changed before a panic, the
// panic says so.
func (c *call) with(param string, value any) {
	names := strings.Fields(c.params)
	args := make([]reflect.Value, len(names))
	for i, name := range names {
		a := c.args[i]
		if name == param {
			a = value
		}
		if x, ok := a.([]float32); ok && x != nil {
			a = full(len(x))
		}
		args[i] = reflect.ValueOf(a)
	}
	defer func() {
		if p := recover(); p != nil {
			for i, a := range args {
				if x, ok := a.Interface().([]float32); ok && firstWritten(x) >= 0 {
					p = fmt.Sprintf("after writing to %s: %v", names[i], p)
				}
			}
			panic(p)
		}
	}()
	reflect.ValueOf(c.fn).Call(args)
}

const untouched = 0x7fc12345

func full(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(untouched)
	}
	return x
}

func firstWritten(x []float32) int {
	for i, v := range x {
		if math.Float32bits(v) != untouched {
			return i
		}
	}
	return -1
}

func brief(v any) string {
	if x, ok := v.([]float32); ok {
		return fmt.Sprintf("%d elements", len(x))
	}
	return fmt.Sprint(v)
}

// TestArgumentsCoverAPI fails for an exported function that takes slices and is
// not in the table.
func TestArgumentsCoverAPI(t *testing.T) {
	covered := map[string]bool{"Attention": true}
	for _, c := range apiCalls() {
		covered[c.name] = true
		// Every argument that can be wrong is made wrong. Inputs of functions
		// that take the length of everything from them are right by definition.
		changed := map[string]bool{}
		for _, b := range c.bad {
			changed[b.param] = true
		}
		for i, p := range strings.Fields(c.params) {
			switch c.args[i].(type) {
			case float32, Transpose:
				continue
			}
			if !changed[p] && p != "x" {
				t.Errorf("%s: no wrong value for %s", c.name, p)
			}
		}
	}
	for name, f := range exportedFunctions(t) {
		for _, field := range f.Type.Params.List {
			if s := types.ExprString(field.Type); s == "[]float32" && f.Recv == nil && f.Type.Results == nil && !covered[name] {
				t.Errorf("%s is not in the table", name)
			}
		}
	}
}

// exportedFunctions parses the package's functions and methods.
func exportedFunctions(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*ast.FuncDecl{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Name.IsExported() {
				found[d.Name.Name] = d
			}
		}
	}
	return found
}
