// Package ours wraps the tiers of this library as contestants of its own benchmark.
package ours

import (
	"runtime"
	"time"

	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
)

// Tier is this library on one instruction set, with a number of threads.
type Tier struct {
	ISA     kernels.ISA
	Threads int
	// Float32 is set for a contestant with weights in float32 that takes part only in the cases with
	// weights in int8.
	Float32 bool
}

// Name implements [workload.Contestant].
func (t Tier) Name() string {
	if t.Float32 {
		return "float32/" + t.ISA.String()
	}
	return "avoformer/" + t.ISA.String()
}

// format returns the format of the weights of a case.
func (t Tier) format(c workload.Case) kernels.Format {
	if c.Int8 && !t.Float32 {
		return kernels.FormatInt8
	}
	return kernels.FormatF32
}

// Version implements [workload.Contestant].
func (t Tier) Version() string { return runtime.Version() }

// Variants implements [workload.Contestant].
func (t Tier) Variants(workload.Case) []string { return []string{""} }

// Open implements [workload.Contestant].
func (t Tier) Open(d *workload.Data, _ string) (workload.Job, error) {
	if t.Float32 && !d.Int8 {
		return nil, workload.ErrUnsupported
	}
	defer machine.Use(t.ISA)()
	out, run := t.prepare(d)
	if run == nil {
		var err error
		if run, err = t.layer(d, out); err != nil {
			return nil, err
		}
	}
	if run == nil {
		return nil, workload.ErrUnsupported
	}
	return &job{t.ISA, workload.Func{Out: out, Run: run}}, nil
}

// A job selects its tier before every turn, and the previous tier after it.
type job struct {
	isa kernels.ISA
	workload.Func
}

// Output implements [workload.Job].
func (j *job) Output() ([]float32, error) {
	defer machine.Use(j.isa)()
	return j.Func.Output()
}

// Time implements [workload.Job].
func (j *job) Time(reps int) (time.Duration, error) {
	defer machine.Use(j.isa)()
	return j.Func.Time(reps)
}

// prepare returns the slice for the result and the call that fills it, or a nil call if the library
// has no such call.
func (t Tier) prepare(d *workload.Data) (out []float32, run func()) {
	th := kernels.Threads(t.Threads)
	s, in := d.Dims, d.In
	out = make([]float32, d.OutputLen())
	switch d.Op {
	case workload.GemmNN:
		m, n, k := s[0], s[1], s[2]
		return out, func() {
			th.Gemm(kernels.NoTrans, kernels.NoTrans, m, n, k, 1, in[0], k, in[1], n, 0, out, n)
		}
	case workload.GemmNT:
		m, n, k := s[0], s[1], s[2]
		return out, func() {
			th.Gemm(kernels.NoTrans, kernels.Trans, m, n, k, 1, in[0], k, in[1], k, 0, out, n)
		}
	case workload.GemmPacked, workload.LinearBiasGELU:
		m, n, k := s[0], s[1], s[2]
		b := kernels.PackBRows(t.format(d.Case), n, k, func(j int, dst []float32) {
			for p := range dst {
				dst[p] = in[1][p*n+j]
			}
		})
		var ep kernels.Epilogue
		if d.Op == workload.LinearBiasGELU {
			ep = kernels.Epilogue{Bias: in[2], Activation: kernels.ActGELU}
		}
		return out, func() { th.GemmPacked(m, 1, in[0], k, b, 0, out, n, ep) }
	case workload.BatchGemmNN, workload.BatchGemmNT:
		h, m, n, k := s[0], s[1], s[2], s[3]
		trans, ldb := kernels.NoTrans, n
		if d.Op == workload.BatchGemmNT {
			trans, ldb = kernels.Trans, k
		}
		p := kernels.GemmBatchedParams{TransB: trans, Batch: h, M: m, N: n, K: k, Alpha: 1,
			A: in[0], LdA: k, StrideA: m * k, B: in[1], LdB: ldb, StrideB: k * n, C: out, LdC: n, StrideC: m * n}
		return out, func() { th.GemmBatched(p) }
	case workload.Softmax:
		return out, func() { th.Softmax(out, in[0], s[0], s[1]) }
	case workload.LayerNorm:
		return out, func() { th.LayerNorm(out, in[0], s[0], s[1], in[1], in[2], 1e-5) }
	case workload.SDPA, workload.SDPADecode:
		return out, t.attention(d, out)
	case workload.LogSoftmax:
		return out, func() { th.LogSoftmax(out, in[0], s[0], s[1]) }
	case workload.RMSNorm:
		return out, func() { th.RMSNorm(out, in[0], s[0], s[1], in[1], 1e-5) }
	case workload.AddLayerNorm:
		return out, func() { th.AddLayerNorm(out, nil, in[0], in[3], s[0], s[1], in[1], in[2], 1e-5) }
	case workload.Add:
		return out, func() { th.Add(out, in[0], in[1]) }
	case workload.Mul:
		return out, func() { th.Mul(out, in[0], in[1]) }
	}
	if f := elementwise[d.Op]; f != nil {
		return out, func() { f(th, out, in[0]) }
	}
	return out, nil
}

var elementwise = map[workload.Op]func(t kernels.Threads, dst, x []float32){
	workload.Exp: kernels.Threads.Exp, workload.GELU: kernels.Threads.GELU, workload.GELUTanh: kernels.Threads.GELUTanh, workload.SiLU: kernels.Threads.SiLU,
	workload.ReLU: kernels.Threads.ReLU, workload.Tanh: kernels.Threads.Tanh, workload.Sigmoid: kernels.Threads.Sigmoid, workload.Erf: kernels.Threads.Erf,
}
