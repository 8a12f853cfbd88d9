package transformer

import (
	"cmp"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// A Feed is the part of a layer that works on each row separately: a [FeedForward], or a mixture of
// them.
type Feed interface {
	// Forward sets dst, [rows, Dim], to its value at x, [rows, Dim], plus residual, nil or [rows,
	// Dim], which may be dst. dst may not be x.
	Forward(ws *Workspace, dst, x, residual []float32) error
}

// FeedForwardConfig describes a position-wise feed-forward network.
type FeedForwardConfig struct {
	Dim, Hidden int
	OutDim      int // 0: Dim
	// Activation has no default, because models mean different functions by GELU. kernels.ActGELU
	// is PyTorch's and BERT's "gelu"; kernels.ActGELUTanh is "gelu_new" and "gelu_pytorch_tanh";
	// kernels.ActSiLU is also called swish, kernels.ActReLU2 "relu2".
	Activation kernels.Activation
	Gated      bool // Down(activation(Gate(x)) * Up(x)): SwiGLU with SiLU
	Bias       bool // all products have one
	OutBias    bool // Down has one even without Bias
	// Sharpness s, if not 0, replaces the activation a(x) by a(s*x)/s. SiLU with 1.702 is
	// QuickGELU. Loading scales the weights.
	Sharpness float32
	// Chunk is the number of rows that are computed at a time; 0: all rows. The hidden values take
	// the memory of Chunk*Hidden numbers. It changes no result.
	Chunk int
}

// FeedForward is the same two-layer network applied to every row.
type FeedForward struct {
	FeedForwardConfig
	Up, Down *Linear
	Gate     *Linear // nil unless Gated
}

// NewFeedForward takes the weights with the given names under prefix, which ends with a dot unless
// it is empty.
func NewFeedForward(c FeedForwardConfig, names FeedForwardNames, w Weights, prefix string) (*FeedForward, error) {
	return load(w, prefix, func(l *Loader) *FeedForward { return l.FeedForward(c, names) })
}

func (c FeedForwardConfig) check() error {
	if c.Activation < kernels.ActReLU || c.Activation > kernels.ActReLU2 {
		return check.Errorf(fault.ErrConfig, "feed-forward: activation %d; it has no default", c.Activation)
	}
	if c.OutDim < 0 || c.Chunk < 0 {
		return check.Errorf(fault.ErrConfig, "feed-forward: out dim %d, chunk %d, want at least 0", c.OutDim, c.Chunk)
	}
	if !(c.Sharpness >= 0) {
		return check.Errorf(fault.ErrConfig, "feed-forward: sharpness %g", c.Sharpness)
	}
	return check.Positive("feed-forward", check.Size("dim", c.Dim), check.Size("hidden", c.Hidden))
}

// within returns c for a layer of the given width.
func (c FeedForwardConfig) within(dim int) (FeedForwardConfig, error) {
	if c.Dim == 0 {
		c.Dim = dim
	}
	if c.OutDim == 0 {
		c.OutDim = c.Dim
	}
	if c.Dim != dim || c.OutDim != dim {
		return c, check.Errorf(fault.ErrConfig, "layer: feed-forward from width %d to %d, want %d", c.Dim, c.OutDim, dim)
	}
	return c, c.check()
}

// FeedForward returns the network whose weights have the given names.
func (l *Loader) FeedForward(c FeedForwardConfig, names FeedForwardNames) *FeedForward {
	if l.Fail(c.check()) {
		return nil
	}
	if c.OutDim == 0 {
		c.OutDim = c.Dim
	}
	f := &FeedForward{FeedForwardConfig: c}
	if c.Gated {
		gate, up := Part{Name: names.Gate, Rows: c.Hidden}, Part{Name: names.Up, Rows: c.Hidden}
		if names.Packed != "" {
			gate = Part{Name: names.Packed, Rows: c.Hidden, Of: 2 * c.Hidden}
			up = gate
			if names.UpFirst {
				gate.From = c.Hidden
			} else {
				up.From = c.Hidden
			}
		}
		both := l.together(c.Dim, c.Bias, c.sharp(gate), up)
		f.Gate, f.Up = both[0], both[1]
	} else {
		f.Up = l.Stacked(c.Dim, c.Bias, c.sharp(Part{Name: names.Up, Rows: c.Hidden}))
	}
	down := Part{Name: names.Down, Rows: c.OutDim}
	if c.Sharpness != 0 {
		down.Scale = 1 / c.Sharpness
	}
	f.Down = l.Stacked(c.Hidden, c.Bias || c.OutBias, down)
	return f
}

// sharp returns p, whose results enter the activation, times Sharpness.
func (c FeedForwardConfig) sharp(p Part) Part {
	p.Scale, p.BiasScale = c.Sharpness, c.Sharpness
	return p
}

// Forward sets dst, [rows, OutDim], to the network's value at x, [rows, Dim], plus residual, nil or
// [rows, OutDim], which may be dst.
func (f *FeedForward) Forward(ws *Workspace, dst, x, residual []float32) error {
	if f == nil || f.Dim == 0 {
		return check.Errorf(fault.ErrConfig, "feed-forward network that NewFeedForward did not make")
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
	if f.inOne(ws, rows) {
		f.forwardInOne(ws, dst, x, residual)
		return nil
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
	defer func() { ws.row = 0 }()
	for r := 0; r < rows; r += chunk {
		n := min(chunk, rows-r)
		ws.row = r
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

// inOneRows is the least number of rows for each thread with which [kernels.FeedForward] computes
// the network. With fewer rows threads share the columns of each product.
const inOneRows = 64

// inOne reports whether one call of [kernels.FeedForward] computes the network, with the same bits
// as single products: if all weights are int8, and no adapter adds to them.
func (f *FeedForward) inOne(ws *Workspace, rows int) bool {
	if f.Chunk != 0 || rows < inOneRows*max(int(ws.Threads), 1) {
		return false
	}
	for _, l := range []*Linear{f.Gate, f.Up, f.Down} {
		if l != nil && (l.weight.For(rows).Format() != kernels.FormatInt8 || len(ws.adapted) > 0 && len(l.weight.Beside) > 0) {
			return false
		}
	}
	return true
}

// forwardInOne is Forward by [kernels.FeedForward].
func (f *FeedForward) forwardInOne(ws *Workspace, dst, x, residual []float32) {
	rows := len(x) / f.Dim
	p := kernels.FeedForwardParams{
		Rows: rows, X: x, LdX: f.Dim, Up: f.Up.weight.For(rows), UpBias: f.Up.Bias, Activation: f.Activation,
		Down: f.Down.weight.For(rows), DownBias: f.Down.Bias, Residual: residual, LdResidual: f.OutDim, Dst: dst, LdDst: f.OutDim,
	}
	if f.Gate != nil {
		p.Gate, p.GateBias = f.Gate.weight.For(rows), f.Gate.Bias
	}
	ws.Threads.FeedForward(p)
}

// checkParts returns the error of parts or a workspace that cannot be used.
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
		return check.Errorf(fault.ErrConfig, "feed-forward network that was edited since it was made")
	}
	return nil
}

// Activate applies an activation to x in place, on up to t threads.
func Activate(t kernels.Threads, a kernels.Activation, x []float32) {
	switch a {
	case kernels.ActReLU:
		t.ReLU(x, x)
	case kernels.ActGELU:
		t.GELU(x, x)
	case kernels.ActGELUTanh:
		t.GELUTanh(x, x)
	case kernels.ActSiLU:
		t.SiLU(x, x)
	case kernels.ActTanh:
		t.Tanh(x, x)
	case kernels.ActReLU2:
		t.ReLU(x, x)
		t.Mul(x, x, x)
	}
}
