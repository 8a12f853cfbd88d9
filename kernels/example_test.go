package kernels_test

import (
	"fmt"
	"math"

	"github.com/avoformer/avoformer/kernels"
)

// C = A*B of BLAS, and with the second operand stored transposed, as torch.nn.Linear stores
// weights.
func ExampleGemm() {
	a := []float32{1, 2, 3, 4, 5, 6} // 2 x 3
	b := []float32{1, 0, 1, 1, 0, 1} // 3 x 2
	c := make([]float32, 2*2)
	kernels.Gemm(kernels.NoTrans, kernels.NoTrans, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2)
	fmt.Println(c)

	w := []float32{1, 1, 0, 0, 1, 1} // 2 x 3, B transposed
	kernels.Gemm(kernels.NoTrans, kernels.Trans, 2, 2, 3, 1, a, 3, w, 3, 0, c, 2)
	fmt.Println(c)
	// Output:
	// [3 5 9 11]
	// [3 5 9 11]
}

// Two products of one shape in one call, whose second operand is the same.
func ExampleGemmBatched() {
	a := []float32{1, 2, 3, 4}
	b := []float32{10, 1}
	c := make([]float32, 2)
	kernels.GemmBatched(kernels.GemmBatchedParams{
		Batch: 2, M: 1, N: 1, K: 2, Alpha: 1,
		A: a, LdA: 2, StrideA: 2,
		B: b, LdB: 1, StrideB: 0,
		C: c, LdC: 1, StrideC: 1,
	})
	fmt.Println(c)
	// Output: [12 34]
}

// Weights are packed once. What follows the product, a bias, an activation and the residual
// connection, is done while its result is in cache.
func ExamplePackB() {
	w := []float32{1, 0, -1, 2, 1, 1} // 2 x 3
	b := kernels.PackB(kernels.NoTrans, 3, 2, w, 3)

	x := []float32{1, 2, -1, 1} // 2 rows
	y := make([]float32, 2*3)
	kernels.GemmPacked(2, 1, x, 2, b, 0, y, 3, kernels.Epilogue{Bias: []float32{1, 0, 0}, Activation: kernels.ActReLU})
	fmt.Println(y)
	// Output: [6 2 1 2 1 2]
}

// What packed weights take is known before.
func ExamplePackedBytes() {
	packed := kernels.PackBRows(kernels.FormatQ8_0, 48, 64, func(j int, dst []float32) { dst[0] = 1 })
	fmt.Println(kernels.PackedBytes(kernels.FormatQ8_0, 48, 64) == packed.Bytes())
	// Output: true
}

// Weights in fewer bits: each row of B transposed is asked for once.
func ExamplePackBRows() {
	const k, n = 64, 2
	row := func(j int, dst []float32) {
		for i := range dst {
			dst[i] = float32(i%4+j) / 4
		}
	}
	x, y := make([]float32, k), make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	for _, name := range []string{"f32", "bf16", "int8", "q8_0", "q4_0"} {
		format, err := kernels.ParseFormat(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		b := kernels.PackBRows(format, n, k, row)
		kernels.GemmPacked(1, 1, x, k, b, 0, y, n, kernels.Epilogue{})
		fmt.Printf("%-4v %.0f\n", format, y)
	}
	// Output:
	// f32  [24 40]
	// bf16 [24 40]
	// int8 [24 40]
	// q8_0 [24 40]
	// q4_0 [24 40]
}

// Blocks as GGUF files have them are packed as they are.
func ExamplePackBBlocks() {
	const k, n = 32, 1
	x := make([]float32, k)
	for i := range x {
		x[i] = float32(i - 16)
	}
	_, size := kernels.FormatQ8_0.Block()
	blocks := make([]byte, size)
	kernels.FormatQ8_0.Quantize(blocks, x)

	b := kernels.PackBBlocks(kernels.FormatQ8_0, n, k, func(_ int, dst []byte) { copy(dst, blocks) })
	column := make([]float32, k)
	b.Column(column, 0)
	fmt.Println(len(blocks), "bytes instead of", 4*k)
	fmt.Printf("%.1f\n", column[:4])
	// Output:
	// 34 bytes instead of 128
	// [-16.0 -15.0 -14.0 -13.0]
}

// The packed elements may lie in memory of the caller, such as a file that is mapped, where the
// layout is the same.
func ExamplePackedIn() {
	w := []float32{1, 2, 3, 4, 5, 6} // 2 x 3, B transposed
	packed := kernels.PackBRows(kernels.FormatF32, 2, 3, func(j int, dst []float32) { copy(dst, w[3*j:]) })
	layout, memory := kernels.PackedLayout(packed.Format()), packed.Memory() // to be kept

	if layout == kernels.PackedLayout(kernels.FormatF32) {
		again := kernels.PackedIn(kernels.FormatF32, 2, 3, memory)
		c := make([]float32, 2)
		kernels.GemmPacked(1, 1, []float32{1, 1, 1}, 3, again, 0, c, 2, kernels.Epilogue{})
		fmt.Println(c)
	}
	// Output: [6 15]
}

// A matrix that is in memory already is packed in parts, which several goroutines may do.
func ExampleNewPacker() {
	const k, n = 3, 40
	w := make([]float32, n*k) // B transposed, as torch.nn.Linear has it
	for i := range w {
		w[i] = float32(i)
	}
	p := kernels.NewPacker(kernels.FormatF32, n, k)
	for j := 0; j < n; j += p.Rows() {
		p.Pack(j, w[j*k:min(j+p.Rows(), n)*k])
	}
	b := p.Packed()
	column := make([]float32, k)
	b.Column(column, 39)
	fmt.Println(b.K(), "x", b.N(), column)
	// Output: 3 x 40 [117 118 119]
}

// A mixture of experts: rows are gathered by their expert, all products are one call, and each
// row's results are added up with their weights.
func ExampleGemmGrouped() {
	x := []float32{1, 2, 3} // three rows of one element
	experts := []*kernels.PackedB{
		kernels.PackB(kernels.NoTrans, 1, 1, []float32{10}, 1),
		kernels.PackB(kernels.NoTrans, 1, 1, []float32{100}, 1),
	}
	rows := []int32{0, 2, 1, 2} // rows 0 and 2 go to the first expert, 1 and 2 to the second
	a, c := make([]float32, 4), make([]float32, 4)
	kernels.Gather(kernels.GatherParams{Rows: 4, Cols: 1, Dst: a, X: x, Index: rows})
	kernels.GemmGrouped(kernels.GemmGroupedParams{A: a, LdA: 1, B: experts, Ends: []int{2, 4}, C: c, LdC: 1})
	fmt.Println(c)

	y := make([]float32, 1)
	kernels.Gather(kernels.GatherParams{Rows: 1, Cols: 1, Dst: y, X: c, Index: []int32{1, 3}, Weight: []float32{0.5, 0.5}})
	fmt.Println("row 2:", y)
	// Output:
	// [10 30 200 300]
	// row 2: [165]
}

// A feed-forward network of int8: 2 features, 3 hidden ones, no gate.
func ExampleFeedForward() {
	pack := func(n, k int, rows ...float32) *kernels.PackedB {
		return kernels.PackBRows(kernels.FormatInt8, n, k, func(j int, dst []float32) { copy(dst, rows[j*k:]) })
	}
	up := pack(3, 2, // rows of Up transposed
		1, 0,
		0, 1,
		1, 1)
	down := pack(2, 3,
		1, 0, 1,
		0, 1, 1)
	x, y := []float32{1, -2, 3, 4}, make([]float32, 4) // two rows
	kernels.FeedForward(kernels.FeedForwardParams{
		Rows: 2, X: x, LdX: 2,
		Up: up, Activation: kernels.ActReLU, Down: down,
		Residual: x, LdResidual: 2,
		Dst: y, LdDst: 2,
	})
	fmt.Printf("%.0f\n%.0f\n", y[:2], y[2:])
	// Output:
	// [2 -2]
	// [13 15]
}

// SwiGLU: each row has the gate, and then the numbers that it multiplies.
func ExampleGLU() {
	dst := make([]float32, 2)
	kernels.GLU(kernels.GLUParams{Rows: 1, Cols: 2, Dst: dst, X: []float32{1, -1, 3, 3}, Activation: kernels.ActSiLU})
	fmt.Printf("%.4f\n", dst)
	// Output: [2.1932 -0.8068]
}

func ExampleSoftmax() {
	x := []float32{0, 1, 2, 5, 5, 5} // two rows
	y := make([]float32, len(x))
	kernels.Softmax(y, x, 2, 3)
	fmt.Printf("%.4f\n", y)
	kernels.LogSoftmax(y, x, 2, 3)
	fmt.Printf("%.4f\n", y)
	// Output:
	// [0.0900 0.2447 0.6652 0.3333 0.3333 0.3333]
	// [-2.4076 -1.4076 -0.4076 -1.0986 -1.0986 -1.0986]
}

// A mask is terms, all of which must admit a key; biases add up. Here are the weights of four
// queries on four keys whose scores are all 0.
func ExampleMaskedSoftmax() {
	const n = 4
	for _, c := range []struct {
		name string
		mask []kernels.MaskTerm
	}{
		{"causal", []kernels.MaskTerm{kernels.CausalMask()}},
		{"window", []kernels.MaskTerm{kernels.WindowMask(1, 0)}},
		{"length 2", []kernels.MaskTerm{kernels.LengthMask([]int{2})}},
		{"lengths", []kernels.MaskTerm{kernels.QueryLengthMask([]int{1, 2, 3, 4})}},
		{"keep", []kernels.MaskTerm{kernels.KeepMask([]bool{true, false, false, true}, 1, 1, 1, n)}},
		{"block", []kernels.MaskTerm{kernels.BlockMask([]bool{true, false, false, true}, 1, 1, 1, n)}},
		{"bias", []kernels.MaskTerm{kernels.BiasMask([]float32{0, 0, 0, float32(math.Log(3))}, 1, 1, 1, n)}},
		{"both", []kernels.MaskTerm{kernels.CausalMask(), kernels.ALiBiMask([]float32{1})}},
	} {
		y := make([]float32, n*n)
		kernels.MaskedSoftmax(kernels.SoftmaxParams{Dst: y, X: make([]float32, n*n), Batch: 1, Heads: 1, LenQ: n, LenK: n, Mask: c.mask})
		fmt.Printf("%-8s last query %.2f\n", c.name, y[3*n:])
	}
	// Output:
	// causal   last query [0.25 0.25 0.25 0.25]
	// window   last query [0.00 0.00 0.50 0.50]
	// length 2 last query [0.50 0.50 0.00 0.00]
	// lengths  last query [0.25 0.25 0.25 0.25]
	// keep     last query [0.50 0.00 0.00 0.50]
	// block    last query [0.00 0.50 0.50 0.00]
	// bias     last query [0.17 0.17 0.17 0.50]
	// both     last query [0.03 0.09 0.24 0.64]
}

// Causal attention of two heads on a fused projection: queries, keys and values lie side by side in
// the rows.
func ExampleAttention() {
	const length, heads, dim = 3, 2, 2
	qkv := make([]float32, length*3*heads*dim)
	for i := range length {
		for j := range heads * dim {
			qkv[i*3*heads*dim+2*heads*dim+j] = float32(10*i + j) // values; queries and keys are 0
		}
	}
	y := make([]float32, length*heads*dim)
	in := kernels.BLHD(length, 3*heads*dim, dim)
	kernels.Threads(2).Attention(kernels.AttentionParams{
		Batch: 1, Heads: heads, LenQ: length, LenK: length, HeadDim: dim,
		Dst: y, DstStrides: kernels.BLHD(length, heads*dim, dim),
		Q: qkv, QStrides: in, K: qkv[heads*dim:], KStrides: in, V: qkv[2*heads*dim:], VStrides: in,
		Mask: []kernels.MaskTerm{kernels.CausalMask()},
	})
	for i := range length {
		fmt.Printf("%.1f\n", y[i*heads*dim:(i+1)*heads*dim])
	}
	// Output:
	// [0.0 1.0 2.0 3.0]
	// [5.0 6.0 7.0 8.0]
	// [10.0 11.0 12.0 13.0]
}

// Decoding with keys and values in pages, which a sequence has wherever they are: the new token
// attends to three rows.
func ExampleNewPages() {
	const heads, rows, dim = 1, 2, 4
	keys, values := kernels.NewKeyPages(kernels.FormatF16, heads, rows, dim), kernels.NewPages(kernels.FormatF16, heads, rows, dim)
	keys.Grow(8)
	values.Grow(8)
	pages := []int32{5, 2} // row j is row j%2 of page pages[j/2]
	for j := range 3 {
		keys.Set(int(pages[j/rows]), j%rows, []float32{0, 0, 0, 0})
		values.Set(int(pages[j/rows]), j%rows, []float32{float32(j), 1, 2, 3})
	}
	y := make([]float32, dim)
	kernels.Attention(kernels.AttentionParams{
		Batch: 1, Heads: heads, HeadDim: dim, Dst: y, Q: make([]float32, dim),
		KPages: keys, VPages: values,
		Sequences: []kernels.AttentionSequence{{LenQ: 1, LenK: 3, Past: 2, Pages: pages}},
	})
	fmt.Printf("%.1f\n", y)
	// Output: [1.0 1.0 2.0 3.0]
}

// The activations, each on the same numbers.
func ExampleGELU() {
	x := []float32{-1, 0, 2}
	y := make([]float32, len(x))
	for _, f := range []struct {
		name string
		of   func(dst, x []float32)
	}{
		{"ReLU", kernels.ReLU}, {"GELU", kernels.GELU}, {"GELUTanh", kernels.GELUTanh}, {"SiLU", kernels.SiLU},
		{"Sigmoid", kernels.Sigmoid}, {"Tanh", kernels.Tanh}, {"Erf", kernels.Erf}, {"Exp", kernels.Exp},
		{"Softplus", kernels.Softplus},
	} {
		f.of(y, x)
		fmt.Printf("%-8s %.3f\n", f.name, y)
	}
	// Output:
	// ReLU     [0.000 0.000 2.000]
	// GELU     [-0.159 0.000 1.954]
	// GELUTanh [-0.159 0.000 1.955]
	// SiLU     [-0.269 0.000 1.762]
	// Sigmoid  [0.269 0.500 0.881]
	// Tanh     [-0.762 0.000 0.964]
	// Erf      [-0.843 0.000 0.995]
	// Exp      [0.368 1.000 7.389]
	// Softplus [0.313 0.693 2.127]
}

// Three rows pass through a state that each of them halves first. The fourth finds it where they
// left it.
func ExampleRecurrence() {
	p := kernels.RecurrenceParams{
		Rows: 3, Heads: 1, KeyHeads: 1, KeyDim: 1, ValueDim: 2,
		From: make([]float32, 2), To: make([]float32, 2),
		Q: []float32{1, 1, 2}, LdQ: 1,
		K: []float32{1, 1, 1}, LdK: 1,
		V: []float32{8, 4, 0, 0, 2, 2}, LdV: 2,
		Decay: []float32{0.5, 0.5, 0.5}, Beta: []float32{1, 1, 1},
		Dst: make([]float32, 6), LdDst: 2,
	}
	kernels.Recurrence(p)
	fmt.Println(p.Dst, p.To)

	p.Rows, p.From, p.Decay, p.Beta = 1, p.To, p.Decay[:1], p.Beta[:1]
	kernels.Recurrence(p)
	fmt.Println(p.Dst[:2], p.To)
	// Output:
	// [8 4 4 2 8 6] [4 3]
	// [10 5.5] [10 5.5]
}

// Arithmetic on whole slices.
func ExampleAdd() {
	x, y := []float32{1, 2, 3}, []float32{10, 20, 30}
	dst := make([]float32, 3)
	kernels.Add(dst, x, y)
	fmt.Println(dst)
	kernels.Mul(dst, x, y)
	fmt.Println(dst)
	kernels.Scale(dst, x, 2)
	fmt.Println(dst)
	kernels.AXPY(-1, x, y) // y -= x
	fmt.Println(y)
	// Output:
	// [11 22 33]
	// [10 40 90]
	// [2 4 6]
	// [9 18 27]
}

func ExampleLayerNorm() {
	x := []float32{1, 2, 3, 4}
	y := make([]float32, len(x))
	kernels.LayerNorm(y, x, 1, 4, nil, nil, 1e-5) // without weight and bias
	fmt.Printf("%.3f\n", y)
	kernels.RMSNorm(y, x, 1, 4, []float32{2, 2, 2, 2}, 1e-5)
	fmt.Printf("%.3f\n", y)
	// Output:
	// [-1.342 -0.447 0.447 1.342]
	// [0.730 1.461 2.191 2.921]
}

// The residual connection and the normalization after it, in one pass over memory.
func ExampleAddLayerNorm() {
	x, residual := []float32{1, 1, 1, 1}, []float32{0, 1, 2, 3}
	sum, y := make([]float32, 4), make([]float32, 4)
	kernels.AddLayerNorm(y, sum, x, residual, 1, 4, nil, nil, 1e-5)
	fmt.Printf("%.3f of %v\n", y, sum)
	kernels.AddRMSNorm(y, sum, x, residual, 1, 4, nil, 1e-5)
	fmt.Printf("%.3f of %v\n", y, sum)
	// Output:
	// [-1.342 -0.447 0.447 1.342] of [1 2 3 4]
	// [0.365 0.730 1.095 1.461] of [1 2 3 4]
}

// The tier that runs is one of those that this machine has.
func ExampleActive() {
	for _, isa := range kernels.Supported() {
		if isa == kernels.Active() {
			fmt.Println("found")
		}
	}
	isa, err := kernels.ParseISA("avx2")
	fmt.Println(isa == kernels.AVX2, err)
	// Output:
	// found
	// true <nil>
}

// Codes of embeddings, a bit for each number: two queries and a panel of 16 vectors.
func ExampleSignDots() {
	queries := []int32{0b1010, 0b0111} // a word each, of four numbers
	panel := make([]int32, kernels.SignPanel)
	panel[0], panel[1] = 0b1010, 0b1000
	c := make([]float32, 2*kernels.SignPanel)
	kernels.SignDots(kernels.SignDotsParams{M: 2, N: kernels.SignPanel, Dim: 4, A: queries, LdA: 2, B: panel, C: c, LdC: kernels.SignPanel})
	fmt.Println(c[:2], c[kernels.SignPanel:][:2])
	// Output: [4 2] [-2 -4]
}
