package transformer

import (
	"cmp"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// Linear computes x*Wᵀ + b over the last axis, as torch.nn.Linear does. It holds
// its weights in packed form only. Make it with NewLinear or as part of a model.
type Linear struct {
	In, Out int
	Bias    []float32 // [Out], or nil
	weight  *checkpoint.Matrix
}

// NewLinear is the layer with weight, [out, in], which is packed for the kernels
// active now, and bias, [out] or nil, which the layer keeps.
func NewLinear(in, out int, weight, bias []float32) (*Linear, error) {
	if err := checkLinear(in, out, weight, bias); err != nil {
		return nil, err
	}
	return &Linear{in, out, bias, &checkpoint.Matrix{PackedB: kernels.PackB(kernels.Trans, in, out, weight, in)}}, nil
}

func checkLinear(in, out int, weight, bias []float32) error {
	if err := check.Positive("linear layer", check.Size("in", in), check.Size("out", out)); err != nil {
		return err
	}
	if len(weight)/in != out || len(weight)%in != 0 { // in*out may overflow
		return check.Errorf(ErrShape, "weight has %d elements, want %d*%d (out*in)", len(weight), out, in)
	}
	if bias != nil {
		return check.Len("bias", bias, out, "out")
	}
	return nil
}

// Weight is the matrix that the layer multiplies with, [Out, In], unpacked: for
// gradients and for looking at, not for every pass.
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

// ForwardAdd sets dst, [rows, Out], to x*Wᵀ + b + residual for x, [rows, In], and
// residual, [rows, Out], which may be dst.
func (l *Linear) ForwardAdd(ws *Workspace, dst, x, residual []float32) error {
	return l.forward(ws, dst, x, kernels.ActIdentity, residual)
}

// forward is dst = activation(x*Wᵀ + b) + residual; residual is nil or [rows,
// Out] and may be dst.
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

// check is the error of a layer or a workspace that cannot be used.
func (l *Linear) check(ws *Workspace) error {
	if l == nil || !l.weight.Is(l.In, l.Out) {
		return check.Errorf(ErrConfig, "linear layer that NewLinear did not make, or edited since")
	}
	if l.Bias != nil && len(l.Bias) != l.Out {
		return check.Errorf(ErrShape, "linear layer: bias has %d elements, want %d", len(l.Bias), l.Out)
	}
	return ws.check()
}

// multiply is forward without its checks, with the rows of dst ldDst elements apart and those of x ldX.
func (l *Linear) multiply(ws *Workspace, rows int, dst []float32, ldDst int, x []float32, ldX int, activation kernels.Activation, residual []float32) {
	ws.Threads.GemmPacked(rows, 1, x, ldX, l.weight.PackedB, 0, dst, ldDst,
		kernels.Epilogue{Bias: l.Bias, Activation: activation, Residual: residual, LdResidual: l.Out})
}

// apart is how far apart rows of n elements are kept that a product reads next. It would copy rows
// that are a multiple of 4 KiB apart, since they crowd each other out of the first-level cache.
func apart(n int) int {
	if n%1024 == 0 {
		return n + 16
	}
	return n
}

// FeedForwardConfig describes a position-wise feed-forward network.
type FeedForwardConfig struct {
	Dim, Hidden int
	OutDim      int // 0: Dim
	// Activation has no default: models that say GELU differ in which one they mean.
	// kernels.ActGELU is PyTorch's and BERT's "gelu"; kernels.ActGELUTanh is "gelu_new"
	// and "gelu_pytorch_tanh"; kernels.ActSiLU is also called swish.
	Activation kernels.Activation
	Gated      bool // Down(activation(Gate(x)) * Up(x)): SwiGLU with SiLU
	Bias       bool
	// Sharpness s, if not 0, makes the activation a that of s times as much: a(s*x)/s.
	// SiLU with 1.702 is QuickGELU. Loading scales the weights.
	Sharpness float32
	// Chunk is the number of rows that are computed at a time, so that the
	// hidden values take Chunk*Hidden numbers; 0: all rows. It changes no result.
	Chunk int
}

// FeedForward is the same two-layer network applied to every row.
type FeedForward struct {
	FeedForwardConfig
	Up, Down *Linear
	Gate     *Linear // nil unless Gated
}

// NewFeedForward takes the weights with the given names under prefix.
func NewFeedForward(c FeedForwardConfig, names FeedForwardNames, w Weights, prefix string) (*FeedForward, error) {
	return load(w, prefix, func(l *Loader) *FeedForward { return l.FeedForward(c, names) })
}

func (c FeedForwardConfig) check() error {
	if c.Activation < kernels.ActReLU || c.Activation > kernels.ActSiLU {
		return check.Errorf(ErrConfig, "feed-forward: activation %d; it has no default", c.Activation)
	}
	if c.OutDim < 0 || c.Chunk < 0 {
		return check.Errorf(ErrConfig, "feed-forward: out dim %d, chunk %d, want at least 0", c.OutDim, c.Chunk)
	}
	if c.Sharpness != 0 && (!(c.Sharpness > 0) || c.Gated) {
		return check.Errorf(ErrConfig, "feed-forward: sharpness %g, gated %t", c.Sharpness, c.Gated)
	}
	return check.Positive("feed-forward", check.Size("dim", c.Dim), check.Size("hidden", c.Hidden))
}

// FeedForward is the network whose weights have the given names.
func (l *Loader) FeedForward(c FeedForwardConfig, names FeedForwardNames) *FeedForward {
	if l.Fail(c.check()) {
		return nil
	}
	if c.OutDim == 0 {
		c.OutDim = c.Dim
	}
	f := &FeedForward{FeedForwardConfig: c}
	switch {
	case c.Gated && names.Packed != "":
		half := Part{Name: names.Packed, Rows: c.Hidden, Of: 2 * c.Hidden}
		f.Gate = l.Stacked(c.Dim, c.Bias, half)
		half.From = c.Hidden
		f.Up = l.Stacked(c.Dim, c.Bias, half)
	case c.Gated:
		f.Gate = l.At(names.Gate).Linear(c.Dim, c.Hidden, c.Bias)
		fallthrough
	default:
		f.Up = l.Stacked(c.Dim, c.Bias, Part{Name: names.Up, Rows: c.Hidden, Scale: c.Sharpness, BiasScale: c.Sharpness})
	}
	down := Part{Name: names.Down, Rows: c.OutDim}
	if c.Sharpness != 0 {
		down.Scale = 1 / c.Sharpness
	}
	f.Down = l.Stacked(c.Hidden, c.Bias, down)
	return f
}

// Forward sets dst, [rows, OutDim], to the network's value at x, [rows, Dim], plus
// residual, nil or [rows, OutDim], which may be dst.
func (f *FeedForward) Forward(ws *Workspace, dst, x, residual []float32) error {
	if f == nil || f.Dim == 0 {
		return check.Errorf(ErrConfig, "feed-forward network that NewFeedForward did not make")
	}
	rows := len(x) / f.Dim
	if err := check.Len("feed-forward: x", x, rows*f.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("feed-forward: dst", dst, rows*f.OutDim, "rows*out"); err != nil {
		return err
	}
	if residual != nil {
		if err := check.Len("feed-forward: residual", residual, rows*f.OutDim, "rows*out"); err != nil {
			return err
		}
	}
	if err := f.checkParts(ws); err != nil {
		return err
	}
	chunk := f.Chunk
	if chunk == 0 {
		chunk = rows
	}
	defer ws.Release(ws.Mark())
	ld := apart(f.Hidden)
	hidden := ws.Alloc(min(chunk, rows) * ld) // [chunk, hidden], rows ld apart
	var gate []float32
	if f.Gate != nil {
		gate = ws.Alloc(len(hidden))
	}
	for r := 0; r < rows; r += chunk {
		n := min(chunk, rows-r)
		x, h := x[r*f.Dim:(r+n)*f.Dim], hidden[:n*ld] // [n, D], [n, hidden]
		if f.Gate != nil {
			g := gate[:n*ld] // [n, hidden]
			f.Gate.multiply(ws, n, g, ld, x, f.Dim, f.Activation, nil)
			f.Up.multiply(ws, n, h, ld, x, f.Dim, kernels.ActIdentity, nil)
			ws.Threads.Mul(h, h, g) // with what lies between the rows
		} else {
			f.Up.multiply(ws, n, h, ld, x, f.Dim, f.Activation, nil)
		}
		var res []float32
		if residual != nil {
			res = residual[r*f.OutDim : (r+n)*f.OutDim]
		}
		f.Down.multiply(ws, n, dst[r*f.OutDim:(r+n)*f.OutDim], f.OutDim, h, ld, kernels.ActIdentity, res)
	}
	return nil
}

// checkParts is the error of parts or a workspace that cannot be used.
func (f *FeedForward) checkParts(ws *Workspace) error {
	err := cmp.Or(f.Up.check(ws), f.Down.check(ws))
	if f.Gate != nil {
		err = cmp.Or(err, f.Gate.check(ws))
	}
	if err != nil {
		return err
	}
	fits := func(l *Linear, in, out int) bool { return l.In == in && l.Out == out }
	if !fits(f.Up, f.Dim, f.Hidden) || !fits(f.Down, f.Hidden, f.OutDim) || f.Gate != nil && !fits(f.Gate, f.Dim, f.Hidden) {
		return check.Errorf(ErrConfig, "feed-forward network that was edited since it was made")
	}
	return nil
}
