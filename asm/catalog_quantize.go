package asm

import "github.com/avoformer/avoformer/asm/kernel"

// quantizeKernels are the kernels with which quantizers of weights search.
var quantizeKernels = []Kernel{
	{
		File: "rounded_sums", Source: "rounded_sums.go", Name: "roundedSums",
		Doc: []string{
			"rounds numbers with several scales, and computes the sums that least squares need, by column:",
			"",
			"\tq[p] := min(max(x[p]*scale[c] + offset[c], low), high), rounded to the nearest integer, ties to even",
			"\tsums[c] = sum_p w[p]*q[p]",
			"\tsums[cols+c] = sum_p w[p]*q[p]*x[p]",
			"\tsums[2*cols+c] = sum_p w[p]*q[p]*q[p]",
			"",
			"where sums are in the order of the numbers, and each operation rounds. All numbers are finite, and low and high are",
			"integers of at most 2^22.",
		},
		Sizes: []Size{lengths("cols", 1, "vectorLengths"), turn("n", 0, "0", "1", "2", "16", "32")},
		Params: []Param{
			out("sums", "3", "cols", ""), in("scale", "1", "cols", ""), in("offset", "1", "cols", ""), in("x", "1", "n", ""), in("w", "1", "n", ""),
			scalar("low", -4, 0, -128), scalar("high", 3, 15, 127),
		},
		Close: Closeness{Exact: true},
		Body:  kernel.RoundedSums,
	},
}
