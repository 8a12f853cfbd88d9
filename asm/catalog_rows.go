package asm

import "github.com/avoformer/avoformer/asm/kernel"

// rowSizes has the sizes of contiguous rows.
var rowSizes = []Param{rowsBetween("rows"), lengths("cols", 1, "rowLengths")}

// stream says whether results are written past the caches.
var stream = hint("stream", "0", "1")

// softmaxKernels normalise and sum exponentials.
var softmaxKernels = []Kernel{
	{
		File: "softmax", Source: "softmax.go", Name: "softmaxRows",
		Doc: []string{
			"computes dst[r,c] = exp(x[r,c]-max_r) / sum_c exp(x[r,c]-max_r). If stream is not 0, dst is written past the caches, and the kernel",
			"needs tmp.",
		},
		Params: append([]Param{out("dst", "rows", "cols", "").or("x"), in("x", "rows", "cols", ""),
			Operand{Name: "tmp", Elem: Float32, Rows: "1", Cols: "cols+32", Access: Scratch, MayBeEmpty: true}}, append(rowSizes, stream)...),
		Close: Closeness{Exact: true},
		Body:  kernel.SoftmaxRows,
	},
	{
		File: "softmax", Source: "softmax.go", Name: "expSumRows",
		Doc: []string{
			"computes for each row max[r] = the maximum of x[r,:], but at least the least finite number,",
			"dst[r,c] = s*exp(x[r,c]-max[r]) and sum[r], which they add up to; s is a constant within",
			"2^-23 of 1.",
		},
		Params: append([]Param{out("dst", "rows", "cols", "").or("x"), in("x", "rows", "cols", ""),
			out("max", "1", "rows", ""), out("sum", "1", "rows", "")}, rowSizes...),
		Close: Closeness{Exact: true},
		Body:  kernel.ExpSumRows,
	},
	{
		File: "softmax", Source: "softmax.go", Name: "maxVec",
		Doc:    []string{"returns the maximum of x, or -Inf if x is empty. It may miss a NaN."},
		Params: []Param{in("x", "1", "n", "")}, Sizes: []Size{lengths("n", 0, "vectorLengths")}, Result: "float32",
		Close: Closeness{Exact: true},
		Body:  kernel.MaxVec,
	},
	{
		File: "softmax", Source: "softmax.go", Name: "sumExpVec",
		Doc:    []string{"returns the sum of exp(x[i]-max) over x, of which no element is above max."},
		Params: []Param{in("x", "1", "n", ""), scalar("max", 3)}, Sizes: []Size{lengths("n", 0, "vectorLengths")}, Result: "float32",
		Close: Closeness{Exact: true},
		Body:  kernel.SumExpVec,
	},
}

// eps is the number that norms add to the variance.
var eps = scalar("eps", 1e-5)

// farRows is the part of the contract of norms that says where they stop.
var farRows = [2]string{
	"It stops at a row whose variance plus eps is at most 2^-100 or not finite, and returns the number",
	"of rows that are left, including that one.",
}

// normKernels normalise rows.
var normKernels = []Kernel{
	{
		File: "layernorm", Source: "layernorm.go", Name: "layerNormRows",
		Doc: []string{"computes dst[r,c] = (x[r,c]-mean_r)/sqrt(var_r+eps)*weight[c] + bias[c].", farRows[0], farRows[1],
			"If stream is not 0, dst is written past the caches."},
		Params: append([]Param{out("dst", "rows", "cols", "").or("x"), in("x", "rows", "cols", ""),
			in("weight", "1", "cols", ""), in("bias", "1", "cols", "")}, append(rowSizes, eps, stream)...),
		Result: "int",
		Close:  Closeness{Exact: true},
		Body:   kernel.LayerNormRows,
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "addLayerNormRows",
		Doc: []string{"computes sum[r,c] = x[r,c] + residual[r,c], then layerNormRows of sum to dst.",
			"If it stops, the sum of the first of the rows that are left has been stored."},
		Params: append([]Param{out("dst", "rows", "cols", "").or("x", "residual", "sum"), out("sum", "rows", "cols", "").or("x", "residual"),
			in("x", "rows", "cols", ""), in("residual", "rows", "cols", ""),
			in("weight", "1", "cols", ""), in("bias", "1", "cols", "")}, append(rowSizes, eps)...),
		Result: "int",
		Close:  Closeness{Exact: true},
		Body:   kernel.AddLayerNormRows,
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "rmsNormRows",
		Doc: []string{"computes dst[r,c] = x[r,c]/sqrt(mean_c(x[r,c]^2)+eps)*weight[c].", farRows[0], farRows[1]},
		Params: append([]Param{out("dst", "rows", "cols", "").or("x"), in("x", "rows", "cols", ""),
			in("weight", "1", "cols", "")}, append(rowSizes, eps)...),
		Result: "int",
		Close:  Closeness{Exact: true},
		Body:   kernel.RMSNormRows,
	},
	{
		File: "layernorm", Source: "layernorm.go", Name: "addRMSNormRows",
		Doc: []string{"computes sum[r,c] = x[r,c] + residual[r,c], then rmsNormRows of sum to dst.",
			"If it stops, the sum of the first of the rows that are left has been stored."},
		Params: append([]Param{out("dst", "rows", "cols", "").or("x", "residual", "sum"), out("sum", "rows", "cols", "").or("x", "residual"),
			in("x", "rows", "cols", ""), in("residual", "rows", "cols", ""),
			in("weight", "1", "cols", "")}, append(rowSizes, eps)...),
		Result: "int",
		Close:  Closeness{Exact: true},
		Body:   kernel.AddRMSNormRows,
	},
}
