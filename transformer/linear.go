package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// Linear computes x*Wᵀ + b over the last axis, as torch.nn.Linear does. It holds its weights in
// packed form only. Make it with NewLinear or as part of a model.
type Linear struct {
	In, Out int
	Bias    []float32 // [Out], or nil
	weight  *checkpoint.Matrix
}

// NewLinear returns the layer with weight, [out, in], which is packed for the kernels active now,
// and bias, [out] or nil, which the layer keeps.
func NewLinear(in, out int, weight, bias []float32) (*Linear, error) {
	if err := checkLinear(in, out, weight, bias); err != nil {
		return nil, err
	}
	return &Linear{in, out, bias, &checkpoint.Matrix{PackedB: kernels.PackB(kernels.Trans, out, in, weight, in)}}, nil
}

func checkLinear(in, out int, weight, bias []float32) error {
	if err := check.Positive("linear layer", check.Size("in", in), check.Size("out", out)); err != nil {
		return err
	}
	if len(weight)/in != out || len(weight)%in != 0 { // in*out may overflow
		return check.Errorf(fault.ErrShape, "weight has %d elements, want %d*%d (out*in)", len(weight), out, in)
	}
	if bias != nil {
		return check.Len("bias", bias, out, "out")
	}
	return nil
}

// Weight returns the matrix that the layer multiplies with, [Out, In], unpacked. It is meant for
// gradients and for inspection, not for every pass.
func (l *Linear) Weight() []float32 {
	w := make([]float32, l.Out*l.In)
	for o := range l.Out {
		l.weight.Column(w[o*l.In:(o+1)*l.In], o)
	}
	return w
}

// must is for constructors whose arguments have been checked already.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Forward sets dst, [rows, Out], to x*Wᵀ + b for x, [rows, In].
func (l *Linear) Forward(ws *Workspace, dst, x []float32) error {
	return l.forward(ws, dst, x, kernels.ActIdentity, nil)
}

// ForwardAdd sets dst, [rows, Out], to x*Wᵀ + b + residual for x, [rows, In], and residual, [rows,
// Out], which may be dst.
func (l *Linear) ForwardAdd(ws *Workspace, dst, x, residual []float32) error {
	return l.forward(ws, dst, x, kernels.ActIdentity, residual)
}

// forward is dst = activation(x*Wᵀ + b) + residual; residual is nil or [rows, Out] and may be dst.
func (l *Linear) forward(ws *Workspace, dst, x []float32, activation kernels.Activation, residual []float32) error {
	if err := l.check(ws); err != nil {
		return err
	}
	rows := len(x) / l.In
	if err := check.Len("linear layer: x", x, rows*l.In, "rows*in"); err != nil {
		return err
	}
	if err := check.Len("linear layer: dst", dst, rows*l.Out, "rows*out"); err != nil {
		return err
	}
	if residual != nil {
		if err := check.Len("linear layer: residual", residual, rows*l.Out, "rows*out"); err != nil {
			return err
		}
	}
	l.multiply(ws, rows, dst, l.Out, x, l.In, activation, residual)
	return nil
}

// forwardApart is Forward with the rows of dst, [rows, Out], ldDst elements apart. The elements
// between rows stay unchanged. The last row may end after its Out elements.
func (l *Linear) forwardApart(ws *Workspace, dst []float32, ldDst int, x []float32) error {
	if err := l.check(ws); err != nil {
		return err
	}
	rows := len(x) / l.In
	if err := check.Len("linear layer: x", x, rows*l.In, "rows*in"); err != nil {
		return err
	}
	if ldDst < l.Out || len(dst) > rows*ldDst || rows > 0 && len(dst) < (rows-1)*ldDst+l.Out {
		return check.Errorf(fault.ErrShape, "linear layer: dst has %d elements, want %d rows of %d that are %d apart", len(dst), rows, l.Out, ldDst)
	}
	l.multiply(ws, rows, dst, ldDst, x, l.In, kernels.ActIdentity, nil)
	return nil
}

// check returns the error of a layer or a workspace that cannot be used.
func (l *Linear) check(ws *Workspace) error {
	if l == nil || !l.weight.Is(l.In, l.Out) {
		return check.Errorf(fault.ErrConfig, "linear layer that NewLinear did not make, or edited since")
	}
	if l.Bias != nil && len(l.Bias) != l.Out {
		return check.Errorf(fault.ErrShape, "linear layer: bias has %d elements, want %d", len(l.Bias), l.Out)
	}
	return ws.check()
}

// multiply is forward without its checks, with the rows of dst ldDst elements apart and those of x
// ldX.
func (l *Linear) multiply(ws *Workspace, rows int, dst []float32, ldDst int, x []float32, ldX int, activation kernels.Activation, residual []float32) {
	if len(ws.adapted) > 0 && len(l.weight.Beside) > 0 {
		l.multiplyAdapted(ws, rows, dst, ldDst, x, ldX, activation, residual)
		return
	}
	ws.Threads.GemmPacked(rows, 1, x, ldX, l.weight.For(rows), 0, dst, ldDst,
		kernels.Epilogue{Bias: l.Bias, Activation: activation, Residual: residual, LdResidual: l.Out})
}

// apart returns the distance between rows of n elements that a product reads next. A product would
// copy rows at a distance of a multiple of 4 KiB, because they displace each other in the
// first-level cache.
func apart(n int) int {
	if n%1024 == 0 {
		return n + 16
	}
	return n
}

// multiplyAdapted is multiply for rows with adapters beside the weights (Chen et al. 2023, "Punica:
// Multi-Tenant LoRA Serving"). Rows without an adapter get the same bits as in a pass without
// adapters.
func (l *Linear) multiplyAdapted(ws *Workspace, rows int, dst []float32, ldDst int, x []float32, ldX int, activation kernels.Activation, residual []float32) {
	defer ws.Release(ws.Mark())
	ep := kernels.Epilogue{Bias: l.Bias, Residual: residual, LdResidual: l.Out}
	if activation == kernels.ActIdentity {
		ws.Threads.GemmPacked(rows, 1, x, ldX, l.weight.For(rows), 0, dst, ldDst, ep)
		l.addAdapters(ws, rows, dst, ldDst, x, ldX)
		return
	}
	sum := ws.Alloc(rows * l.Out) // of the products, before the activation: [rows, Out]
	clear(sum)
	l.addAdapters(ws, rows, sum, l.Out, x, ldX)
	ep.Activation = activation
	ws.Threads.GemmPacked(rows, 1, x, ldX, l.weight.For(rows), 1, sum, l.Out, ep)
	for r := range rows {
		copy(dst[r*ldDst:][:l.Out], sum[r*l.Out:])
	}
}

// addAdapters adds the terms of the rows' adapters to dst.
func (l *Linear) addAdapters(ws *Workspace, rows int, dst []float32, ldDst int, x []float32, ldX int) {
	for _, run := range ws.adapted {
		from, to := max(run.from-ws.row, 0), min(run.to-ws.row, rows)
		for i := range l.weight.Beside {
			b := &l.weight.Beside[i]
			if b.Adapter != run.adapter || from >= to {
				continue
			}
			mark, n := ws.Mark(), to-from
			low := ws.Alloc(n * b.Rank) // [n, Rank]
			ws.Threads.GemmPacked(n, b.Scale, x[from*ldX:], ldX, b.Right, 0, low, b.Rank, kernels.Epilogue{})
			ws.Threads.GemmPacked(n, 1, low, b.Rank, b.Left, 1, dst[from*ldDst+b.From:], ldDst, kernels.Epilogue{})
			ws.Release(mark)
		}
	}
}
