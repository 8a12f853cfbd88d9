// Package ours makes the tiers of this library contestants of its own benchmark.
package ours

import (
	"runtime"
	"time"

	"github.com/avoformer/avoformer/bench/internal/work"
	"github.com/avoformer/avoformer/kernels"
)

// Tier is this library on one instruction set, with a number of threads.
type Tier struct {
	ISA     kernels.ISA
	Threads int
	// Float32 takes part in the cases with weights of int8 alone, with weights of float32.
	Float32 bool
}

// Name implements [work.Contestant].
func (t Tier) Name() string {
	if t.Float32 {
		return "float32/" + t.ISA.String()
	}
	return "avoformer/" + t.ISA.String()
}

// format is that of the weights of a case.
func (t Tier) format(c work.Case) kernels.Format {
	if c.Int8 && !t.Float32 {
		return kernels.FormatInt8
	}
	return kernels.FormatF32
}

// Version implements [work.Contestant].
func (t Tier) Version() string { return runtime.Version() }

// Variants implements [work.Contestant].
func (t Tier) Variants(work.Case) []string { return []string{""} }

// Open implements [work.Contestant].
func (t Tier) Open(d *work.Data, _ string) (work.Job, error) {
	if t.Float32 && !d.Int8 {
		return nil, work.ErrUnsupported
	}
	defer kernels.Use(t.ISA)()
	out, run := t.prepare(d)
	if run == nil {
		var err error
		if run, err = t.layer(d, out); err != nil {
			return nil, err
		}
	}
	if run == nil {
		return nil, work.ErrUnsupported
	}
	return &job{t.ISA, work.Func{Out: out, Run: run}}, nil
}

// A job selects its tier around every turn.
type job struct {
	isa kernels.ISA
	work.Func
}

// Output implements [work.Job].
func (j *job) Output() ([]float32, error) {
	defer kernels.Use(j.isa)()
	return j.Func.Output()
}

// Time implements [work.Job].
func (j *job) Time(reps int) (time.Duration, error) {
	defer kernels.Use(j.isa)()
	return j.Func.Time(reps)
}

// prepare returns the result's place and the call that fills it, or a nil call where there is none.
func (t Tier) prepare(d *work.Data) (out []float32, run func()) {
	th := kernels.Threads(t.Threads)
	s, in := d.Dims, d.In
	out = make([]float32, d.OutputLen())
	switch d.Op {
	case work.GemmNN:
		m, n, k := s[0], s[1], s[2]
		return out, func() {
			th.Gemm(kernels.NoTrans, kernels.NoTrans, m, n, k, 1, in[0], k, in[1], n, 0, out, n)
		}
	case work.GemmNT:
		m, n, k := s[0], s[1], s[2]
		return out, func() {
			th.Gemm(kernels.NoTrans, kernels.Trans, m, n, k, 1, in[0], k, in[1], k, 0, out, n)
		}
	case work.GemmPacked, work.LinearBiasGELU:
		m, n, k := s[0], s[1], s[2]
		b := kernels.PackBRows(t.format(d.Case), n, k, func(j int, dst []float32) {
			for p := range dst {
				dst[p] = in[1][p*n+j]
			}
		})
		var ep kernels.Epilogue
		if d.Op == work.LinearBiasGELU {
			ep = kernels.Epilogue{Bias: in[2], Activation: kernels.ActGELU}
		}
		return out, func() { th.GemmPacked(m, 1, in[0], k, b, 0, out, n, ep) }
	case work.BatchGemmNN, work.BatchGemmNT:
		h, m, n, k := s[0], s[1], s[2], s[3]
		trans, ldb := kernels.NoTrans, n
		if d.Op == work.BatchGemmNT {
			trans, ldb = kernels.Trans, k
		}
		return out, func() {
			th.GemmBatched(kernels.NoTrans, trans, h, m, n, k, 1, in[0], k, m*k, in[1], ldb, k*n, 0, out, n, m*n)
		}
	case work.Softmax:
		return out, func() { th.Softmax(out, in[0], s[0], s[1]) }
	case work.LayerNorm:
		return out, func() { th.LayerNorm(out, in[0], s[0], s[1], in[1], in[2], 1e-5) }
	case work.SDPA, work.SDPADecode:
		return out, t.attention(d, out)
	case work.LogSoftmax:
		return out, func() { th.LogSoftmax(out, in[0], s[0], s[1]) }
	case work.RMSNorm:
		return out, func() { th.RMSNorm(out, in[0], s[0], s[1], in[1], 1e-5) }
	case work.AddLayerNorm:
		return out, func() { th.AddLayerNorm(out, nil, in[0], in[3], s[0], s[1], in[1], in[2], 1e-5) }
	case work.Add:
		return out, func() { th.Add(out, in[0], in[1]) }
	case work.Mul:
		return out, func() { th.Mul(out, in[0], in[1]) }
	}
	if f := elementwise[d.Op]; f != nil {
		return out, func() { f(th, out, in[0]) }
	}
	return out, nil
}

var elementwise = map[work.Op]func(t kernels.Threads, dst, x []float32){
	work.Exp: kernels.Threads.Exp, work.GELU: kernels.Threads.GELU, work.GELUTanh: kernels.Threads.GELUTanh, work.SiLU: kernels.Threads.SiLU,
	work.ReLU: kernels.Threads.ReLU, work.Tanh: kernels.Threads.Tanh, work.Sigmoid: kernels.Threads.Sigmoid, work.Erf: kernels.Threads.Erf,
}
