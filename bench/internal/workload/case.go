// Package workload defines the benchmarks: the cases, their inputs, the amount of arithmetic and
// memory traffic of each case, and the check against the float64 oracle that a result must pass
// before its time counts.
package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Op is an operation. The comment of each constant describes its shape.
type Op string

const (
	GemmNN         Op = "gemm_nn"          // MxNxK: C = A·B, row-major, nothing known ahead of the call
	GemmNT         Op = "gemm_nt"          // MxNxK: C = A·Bᵀ
	GemmPacked     Op = "gemm_packed"      // MxNxK: C = A·B, B constant and packed ahead
	LinearBiasGELU Op = "linear_bias_gelu" // MxNxK: GELU(A·B + bias), erf GELU, B constant and packed ahead
	BatchGemmNN    Op = "bgemm_nn"         // HxMxNxK: H independent products A·B
	BatchGemmNT    Op = "bgemm_nt"         // HxMxNxK: H independent products A·Bᵀ
	Softmax        Op = "softmax"          // RxC: over each row
	LayerNorm      Op = "layernorm"        // RxC: over each row, eps 1e-5, weight and bias
	GELU           Op = "gelu_erf"         // RxC: elementwise
	Exp            Op = "exp"              // RxC: elementwise, as are the following
	GELUTanh       Op = "gelu_tanh"
	SiLU           Op = "silu"
	ReLU           Op = "relu"
	Tanh           Op = "tanh"
	Sigmoid        Op = "sigmoid"
	Erf            Op = "erf"
	Add            Op = "add"            // RxC: a + b
	Mul            Op = "mul"            // RxC: a * b
	LogSoftmax     Op = "log_softmax"    // RxC: over each row
	RMSNorm        Op = "rmsnorm"        // RxC: over each row, eps 1e-5, weight
	AddLayerNorm   Op = "add_layernorm"  // RxC: LayerNorm(x + residual)
	SDPA           Op = "sdpa"           // BxHxLqxLkxD: softmax(Q·Kᵀ/√D)·V
	SDPADecode     Op = "sdpa_decode"    // the same with Lq = 1
	FeedForward    Op = "feed_forward"   // RxDxF: W2·GELU(W1·x + b1) + b2
	SelfAttention  Op = "self_attention" // BxLxDxH: projections, H heads, output projection
	DecoderLayer   Op = "decoder_layer"  // BxLxMxDxHxF: post-norm decoder layer, causal, attending to M rows of memory
	EncoderLayer   Op = "encoder_layer"  // BxLxDxHxF: post-norm encoder layer, erf GELU, eps 1e-12
)

var dimsOf = map[Op]int{
	GemmNN: 3, GemmNT: 3, GemmPacked: 3, LinearBiasGELU: 3, BatchGemmNN: 4, BatchGemmNT: 4,
	Softmax: 2, LayerNorm: 2, GELU: 2, Exp: 2, GELUTanh: 2, SiLU: 2, ReLU: 2, Tanh: 2, Sigmoid: 2, Erf: 2,
	Add: 2, Mul: 2, LogSoftmax: 2, RMSNorm: 2, AddLayerNorm: 2, SDPA: 5, SDPADecode: 5, EncoderLayer: 5,
	FeedForward: 3, SelfAttention: 4, DecoderLayer: 6,
}

// A Case is one operation on one shape.
type Case struct {
	Op   Op
	Dims []int
	// Int8 is set if the weights are in int8. The call then converts activations to int8:
	// "gemm_packed_int8".
	Int8 bool
}

// int8Suffix follows the operation's name.
const int8Suffix = "_int8"

// int8Ops are the operations that also exist with weights in int8.
var int8Ops = map[Op]bool{GemmPacked: true, EncoderLayer: true}

// Parse parses a case such as "gemm_nn 128x768x768".
func Parse(s string) (Case, error) {
	fields := strings.Fields(s)
	if len(fields) != 2 {
		return Case{}, fmt.Errorf("case %q: want an operation and a shape", s)
	}
	var c Case
	if op, ok := strings.CutSuffix(fields[0], int8Suffix); ok && int8Ops[Op(op)] {
		c.Op, c.Int8 = Op(op), true
	} else {
		c.Op = Op(fields[0])
	}
	want, ok := dimsOf[c.Op]
	if !ok {
		return Case{}, fmt.Errorf("case %q: no operation %s", s, c.Op)
	}
	for f := range strings.SplitSeq(fields[1], "x") {
		d, err := strconv.Atoi(f)
		if err != nil || d <= 0 {
			return Case{}, fmt.Errorf("case %q: dimension %q is not a positive number", s, f)
		}
		c.Dims = append(c.Dims, d)
	}
	if len(c.Dims) != want {
		return Case{}, fmt.Errorf("case %q: %d dimensions, want %d for %s", s, len(c.Dims), want, c.Op)
	}
	return c, nil
}

// MustParse does the same as Parse, for the tables of this module.
func MustParse(s string) Case {
	c, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return c
}

// Shape returns a text such as "128x768x768".
func (c Case) Shape() string {
	var s []string
	for _, d := range c.Dims {
		s = append(s, strconv.Itoa(d))
	}
	return strings.Join(s, "x")
}

// Name returns the operation's name, with a suffix if weights are int8.
func (c Case) Name() string {
	if c.Int8 {
		return string(c.Op) + int8Suffix
	}
	return string(c.Op)
}

func (c Case) String() string { return c.Name() + " " + c.Shape() }

// Metric is the unit of a case's speed.
type Metric int

const (
	FLOPs Metric = iota // GFLOP/s by the textbook count, against the FMA peak
	Copy                // GB/s read once and written once, against copy bandwidth
	Read                // GB/s read once, against read bandwidth
)

// Unit returns "GFLOP/s" or "GB/s".
func (m Metric) Unit() string {
	if m == FLOPs {
		return "GFLOP/s"
	}
	return "GB/s"
}

// Metric returns the metric that bounds the case on an ordinary machine.
func (c Case) Metric() Metric {
	switch {
	case dimsOf[c.Op] == 2:
		return Copy
	case c.Op == SDPADecode:
		return Read
	}
	return FLOPs
}

// perElement holds a nominal number of operations for kernels that are not products. It only
// determines their place on a roofline.
var perElement = map[Op]float64{
	Exp: 20, Softmax: 24, LogSoftmax: 24, GELU: 30, GELUTanh: 30, SiLU: 25, Tanh: 25, Sigmoid: 24, Erf: 28,
	ReLU: 1, Add: 1, Mul: 1, LayerNorm: 8, RMSNorm: 5, AddLayerNorm: 9,
}

// FLOPs returns the arithmetic operations of one call: products and sums by the textbook, and a
// nominal number per element for other operations.
func (c Case) FLOPs() float64 {
	p := 1.0
	for _, d := range c.Dims {
		p *= float64(d)
	}
	if n, ok := perElement[c.Op]; ok {
		return n * p
	}
	switch c.Op {
	case SDPA, SDPADecode:
		return 4 * p
	case FeedForward:
		return 4 * p
	case SelfAttention:
		b, l, d := float64(c.Dims[0]), float64(c.Dims[1]), float64(c.Dims[2])
		return b * l * (8*d*d + 4*l*d)
	case DecoderLayer: // only the causal half of self-attention counts
		b, l, m, d, f := float64(c.Dims[0]), float64(c.Dims[1]), float64(c.Dims[2]), float64(c.Dims[3]), float64(c.Dims[5])
		return b * (l*(8*d*d+2*l*d) + l*(4*d*d+4*m*d) + 4*m*d*d + 4*l*d*f)
	case EncoderLayer:
		b, l, d, f := float64(c.Dims[0]), float64(c.Dims[1]), float64(c.Dims[2]), float64(c.Dims[4])
		return b * l * (8*d*d + 4*l*d + 4*d*f)
	}
	return 2 * p
}

// Bytes returns the smallest traffic of one call: every input is read once, and the output is
// written once.
func (c Case) Bytes() float64 {
	n := c.OutputLen()
	for _, l := range c.inputLens() {
		n += l
	}
	return 4 * float64(n)
}

// moved returns the bytes for the GB/s of operations bound by bandwidth: without layernorm's
// vectors, and for decoding only K and V.
func (c Case) moved() float64 {
	d := c.Dims
	if c.Op == SDPADecode {
		return 8 * float64(d[0]*d[1]*d[3]) * float64(d[4])
	}
	n := float64(d[0]) * float64(d[1])
	switch c.Op {
	case Add, Mul, AddLayerNorm:
		return 12 * n
	}
	return 8 * n
}

// Rate converts seconds per call to GFLOP/s or GB/s.
func (c Case) Rate(seconds float64) float64 {
	if c.Metric() == FLOPs {
		return c.FLOPs() / seconds * 1e-9
	}
	return c.moved() / seconds * 1e-9
}

// WorkingSet returns the bytes of memory that one call accesses. They determine the cache level in
// which the operands stay when the call is repeated.
func (c Case) WorkingSet() int {
	if c.Metric() != FLOPs {
		return int(c.moved())
	}
	return int(c.Bytes())
}

// OutputLen returns the number of values in the result.
func (c Case) OutputLen() int {
	d := c.Dims
	switch c.Op {
	case BatchGemmNN, BatchGemmNT:
		return d[0] * d[1] * d[2]
	case SDPA, SDPADecode:
		return d[0] * d[1] * d[2] * d[4]
	case EncoderLayer, SelfAttention:
		return d[0] * d[1] * d[2]
	case DecoderLayer:
		return d[0] * d[1] * d[3]
	}
	return d[0] * d[1]
}

func (c Case) inputLens() []int {
	d := c.Dims
	switch c.Op {
	case GemmNN, GemmNT, GemmPacked:
		return []int{d[0] * d[2], d[1] * d[2]}
	case LinearBiasGELU:
		return []int{d[0] * d[2], d[1] * d[2], d[1]}
	case BatchGemmNN, BatchGemmNT:
		return []int{d[0] * d[1] * d[3], d[0] * d[2] * d[3]}
	case LayerNorm:
		return []int{d[0] * d[1], d[1], d[1]}
	case RMSNorm:
		return []int{d[0] * d[1], d[1]}
	case AddLayerNorm:
		return []int{d[0] * d[1], d[1], d[1], d[0] * d[1]}
	case Add, Mul:
		return []int{d[0] * d[1], d[0] * d[1]}
	case SDPA, SDPADecode:
		h := d[0] * d[1] * d[4]
		return []int{h * d[2], h * d[3], h * d[3]}
	case FeedForward:
		n, f := d[1], d[2]
		return []int{d[0] * n, n * f, f, f * n, n}
	case SelfAttention:
		n := d[2]
		return []int{d[0] * d[1] * n, n * 3 * n, 3 * n, n * n, n}
	case EncoderLayer:
		n, f := d[2], d[4]
		return []int{d[0] * d[1] * n, n * 3 * n, 3 * n, n * n, n, n, n, n * f, f, f * n, n, n, n}
	case DecoderLayer:
		n, f := d[3], d[5]
		return []int{d[0] * d[1] * n, n * 3 * n, 3 * n, n * n, n, n, n, n * f, f, f * n, n, n, n,
			d[0] * d[2] * n, n * 3 * n, 3 * n, n * n, n, n, n}
	}
	return []int{d[0] * d[1]}
}

// Select returns the cases of list whose names contain one of the comma-separated patterns. A
// pattern that is a complete case is selected even if the list lacks it. An empty pattern selects
// all.
func Select(list []Case, patterns string) ([]Case, error) {
	if strings.TrimSpace(patterns) == "" {
		return list, nil
	}
	var out []Case
	add := func(c Case) {
		if !slices.ContainsFunc(out, func(o Case) bool { return o.String() == c.String() }) {
			out = append(out, c)
		}
	}
	for p := range strings.SplitSeq(patterns, ",") {
		p = strings.TrimSpace(p)
		if c, err := Parse(p); err == nil {
			add(c)
			continue
		}
		found := Matching(list, p)
		if len(found) == 0 {
			return nil, fmt.Errorf("no case matches %q", p)
		}
		for _, c := range found {
			add(c)
		}
	}
	return out, nil
}

// Matching returns the cases of list whose names contain one of the comma-separated patterns.
func Matching(list []Case, patterns string) []Case {
	var out []Case
	for _, c := range list {
		for p := range strings.SplitSeq(patterns, ",") {
			if strings.Contains(c.String(), strings.TrimSpace(p)) {
				out = append(out, c)
				break
			}
		}
	}
	return out
}
