package transformer

import (
	"cmp"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// GatedDeltaNetConfig describes a gated DeltaNet.
type GatedDeltaNetConfig struct {
	Dim                  int
	KeyHeads, ValueHeads int // KeyHeads divides ValueHeads
	KeyDim, ValueDim     int // of a head
	Taps                 int // rows that the convolution mixes: the row itself and those in front of it
	Eps                  float32
	// LengthEps is added to the squared length of a query and of a key. 0: 1e-6.
	LengthEps float64
	// Alternate says that value head h belongs to key head h%KeyHeads, as in the files of
	// llama.cpp; else it belongs to key head h*KeyHeads/ValueHeads.
	Alternate bool
	// Negative says that the tensor A_log holds A = -exp(A_log), as in the files of llama.cpp.
	Negative bool
	// The weights of queries, keys and values, side by side; of the gates of the output; of beta;
	// and of the decay. The rows of a head are next to each other.
	QKV, Gate, Beta, Decay []Part
}

// keys and values are the widths of all heads, and mixed is the width of the convolution.
func (c *GatedDeltaNetConfig) keys() int   { return c.KeyHeads * c.KeyDim }
func (c *GatedDeltaNetConfig) values() int { return c.ValueHeads * c.ValueDim }
func (c *GatedDeltaNetConfig) mixed() int  { return 2*c.keys() + c.values() }

func (c *GatedDeltaNetConfig) check() error {
	err := check.Positive("delta net", check.Size("dim", c.Dim), check.Size("key heads", c.KeyHeads), check.Size("value heads", c.ValueHeads),
		check.Size("key dim", c.KeyDim), check.Size("value dim", c.ValueDim), check.Size("taps", c.Taps))
	const most = 1 << 28 // elements of a state, which a configuration merely claims
	switch {
	case err != nil:
		return err
	case c.ValueHeads%c.KeyHeads != 0:
		return check.Errorf(fault.ErrConfig, "delta net: %d value heads for %d key heads", c.ValueHeads, c.KeyHeads)
	case !(c.LengthEps >= 0):
		return check.Errorf(fault.ErrConfig, "delta net: eps of lengths = %g, want at least 0", c.LengthEps)
	case !(c.Eps > 0):
		return check.Errorf(fault.ErrConfig, "delta net: eps = %g, want a positive number", c.Eps)
	case c.ValueHeads > most/c.ValueDim || c.values() > most/c.KeyDim || c.Taps > most/c.mixed():
		return check.Errorf(fault.ErrConfig, "delta net: a state of %d*%d*%d elements, and a convolution of %d rows of %d", c.ValueHeads, c.KeyDim, c.ValueDim, c.Taps, c.mixed())
	}
	return nil
}

// GatedDeltaNet is a recurrent layer whose state, a matrix for each head, is corrected rather than
// added to (Yang et al., 2024, "Gated Delta Networks"). The projection QKV computes queries q, keys
// k and values v; a convolution and SiLU mix them with the few rows before; q and k are normalized.
// Then each head computes
//
//	S = exp(A*softplus(a + StepBias))*S
//	S = S + k⊗(sigmoid(b)*(v - k·S))
//	y = q·S
//
// and y, normalized, times silu(z) goes through the projection Out. Gates computes b and a from a
// row, and Gate computes z.
//
// The state passes from row to row: a text gets the same bits in one pass, in pieces and row by
// row.
type GatedDeltaNet struct {
	GatedDeltaNetConfig
	QKV, Gates, Gate, Out *Linear
	Weight                []float32 // [Taps, mixed], of which the last tap is for the row itself
	StepBias, A           []float32 // [ValueHeads]; A is negative
	Norm                  *Norm     // of the values of a head

	queryScale, keyScale []float32 // [KeyDim]
}

// GatedDeltaNet returns the layer with the tensors conv1d, dt_bias, A_log, norm and out_proj, and
// those of the parts of c.
func (l *Loader) GatedDeltaNet(c GatedDeltaNetConfig) *GatedDeltaNet {
	if l.Fail(c.check()) {
		return nil
	}
	c.LengthEps = cmp.Or(c.LengthEps, 1e-6)
	d := &GatedDeltaNet{
		GatedDeltaNetConfig: c,
		QKV:                 l.Stacked(c.Dim, false, c.QKV...), Gate: l.Stacked(c.Dim, false, c.Gate...),
		Gates:    l.Stacked(c.Dim, false, slices.Concat(c.Beta, c.Decay)...),
		Out:      l.At("out_proj.").Linear(c.values(), c.Dim, false),
		Weight:   l.taps("conv1d.weight", c.mixed(), c.Taps),
		StepBias: l.Tensor("dt_bias", c.ValueHeads), A: l.Tensor("A_log", c.ValueHeads),
		Norm: l.At("norm.").Norm(NormConfig{Shape: []int{c.ValueDim}, Eps: c.Eps, RMS: true}),
	}
	if l.Failed() {
		return nil // before there is memory of a size that a configuration merely claims
	}
	if !c.Negative {
		d.A = slices.Clone(d.A)
		kernels.Exp(d.A, d.A)
		kernels.Scale(d.A, d.A, -1)
	}
	d.keyScale, d.queryScale = make([]float32, c.KeyDim), make([]float32, c.KeyDim)
	// x/sqrt(sum(x²) + eps) is x/sqrt(mean(x²) + eps/n)/sqrt(n).
	for i := range d.keyScale {
		d.keyScale[i] = float32(1 / math.Sqrt(float64(c.KeyDim)))
		d.queryScale[i] = float32(1 / float64(c.KeyDim)) // scores are divided by sqrt(n) too
	}
	return d
}

func (d *GatedDeltaNet) convolution() causalConvolution {
	return causalConvolution{weight: d.Weight, dim: d.mixed()}
}

// matrices returns the part of a state that belongs to the heads. The rest are the last inputs of
// the convolution.
func (d *GatedDeltaNet) matrices() int { return d.values() * d.KeyDim }

func (d *GatedDeltaNet) recurrence() Recurrence {
	return Recurrence{Size: d.matrices() + (d.Taps-1)*d.mixed(), Width: d.mixed() + 2*d.ValueHeads}
}

// StateBytes returns the memory of a sequence's state in a cache.
func (d *GatedDeltaNet) StateBytes() int64 { return 4 * int64(d.recurrence().Size) }

// Forward sets dst, [rows of batch, Dim], to the layer's output for x, [rows, Dim]. cache is nil,
// or the layer's part of one. dst may be x.
func (d *GatedDeltaNet) Forward(ws *Workspace, dst, x []float32, batch Batch, cache *LayerCache) error {
	if err := d.checkMade(); err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	rows := batch.Rows()
	if err := check.Len("delta net: x", x, rows*d.Dim, "rows*dim"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	r := d.recurrence()
	inputs, y, z := ws.Alloc(rows*r.Width), ws.Alloc(rows*d.values()), ws.Alloc(rows*d.values())
	if err := d.QKV.forwardApart(ws, inputs, r.Width, x); err != nil { // [rows, q, k, v, and room for b and a]
		return err
	}
	if err := d.Gates.forwardApart(ws, inputs[min(d.mixed(), len(inputs)):], r.Width, x); err != nil { // [rows, q, k, v, b and a]
		return err
	}
	if err := d.Gate.Forward(ws, z, x); err != nil { // [rows, values]
		return err
	}
	pass := deltaPass{GatedDeltaNet: d, ws: ws, y: y}
	r.Step = pass.step
	if err := r.Forward(ws, inputs, batch, cache); err != nil { // y  [rows, values]
		return err
	}
	if err := d.Norm.Forward(ws, y, y); err != nil {
		return err
	}
	ws.Threads.SiLU(z, z)
	ws.Threads.Mul(y, y, z)          // y = norm(y)*silu(z)  [rows, values]
	return d.Out.Forward(ws, dst, y) // [rows, D]
}

// checkMade returns an error unless the weights of the layer fit its configuration. Linear layers
// and normalizations check themselves.
func (d *GatedDeltaNet) checkMade() error {
	if d == nil || d.QKV == nil || d.Gates == nil || len(d.keyScale) == 0 {
		return check.Errorf(fault.ErrConfig, "delta net that no Loader made")
	}
	if err := d.check(); err != nil {
		return err
	}
	if heads := d.ValueHeads; len(d.keyScale) != d.KeyDim || len(d.Weight) != d.Taps*d.mixed() || len(d.StepBias) != heads || len(d.A) != heads || d.QKV.Out != d.mixed() || d.Gates.Out != 2*heads {
		return check.Errorf(fault.ErrShape, "delta net: edited since a Loader made it: %d heads of keys, %d of values, %d taps", d.KeyHeads, heads, d.Taps)
	}
	return nil
}

// deltaPass takes rows of a sequence through the convolution and the states of a layer. It is a
// task of kernels.Threads.Run whose parts are rows.
type deltaPass struct {
	*GatedDeltaNet
	ws            *Workspace
	y             []float32 // [rows of the batch, values]
	inputs        []float32 // of the sequence, [rows, width]
	before, mixed []float32 // the inputs before them, [Taps-1, mixed]; and q, k and v, [rows, mixed]
	product       []float32 // [rows, mixed]: scratch memory, of which a thread uses one row
}

// step is Recurrence.Step.
func (p *deltaPass) step(to, from, inputs []float32, first int) error {
	ws, d := p.ws, p.GatedDeltaNet
	defer ws.Release(ws.Mark())
	width, mixed, values, heads := d.recurrence().Width, d.mixed(), d.values(), d.ValueHeads
	rows := len(inputs) / width
	p.inputs, p.before = inputs, from[d.matrices():]
	p.mixed, p.product = ws.Alloc(rows*mixed), ws.Alloc(rows*mixed)
	ws.Threads.Run(rows, rows*mixed*d.Taps/4, p) // q, k, v  [rows, mixed]
	d.convolution().remember(to[d.matrices():], p.before, inputs, rows, width)
	beta, decay := ws.Alloc(rows*heads), ws.Alloc(rows*heads)
	for i := range rows {
		gates := inputs[i*width+mixed:][:2*heads]
		copy(beta[i*heads:][:heads], gates)
		kernels.Add(decay[i*heads:][:heads], gates[heads:], d.StepBias)
	}
	ws.Threads.Sigmoid(beta, beta)
	ws.Threads.Softplus(decay, decay)
	for i := range rows {
		kernels.Mul(decay[i*heads:][:heads], decay[i*heads:][:heads], d.A)
	}
	ws.Threads.Exp(decay, decay) // exp(A*softplus(a + bias))  [rows, heads]
	y := p.product               // of rows that have passed before, nobody reads
	if first >= 0 {
		y = p.y[first*values:][:rows*values]
	}
	ws.Threads.Recurrence(kernels.RecurrenceParams{
		Rows: rows, Heads: heads, KeyHeads: d.KeyHeads, KeyDim: d.KeyDim, ValueDim: d.ValueDim, Alternate: d.Alternate, Delta: true,
		From: from[:d.matrices()], To: to[:d.matrices()],
		Q: p.mixed, LdQ: mixed, K: p.mixed[d.keys():], LdK: mixed, V: p.mixed[2*d.keys():], LdV: mixed, Decay: decay, Beta: beta, Dst: y, LdDst: values,
	})
	return nil
}

// Do mixes the rows [from, to), and normalizes queries and keys.
func (p *deltaPass) Do(from, to int) {
	d, mixed, width, keys := p.GatedDeltaNet, p.GatedDeltaNet.mixed(), p.recurrence().Width, p.keys()
	eps := float32(d.LengthEps / float64(d.KeyDim))
	product := p.product[from*mixed:][:mixed]
	for i := from; i < to; i++ {
		row := p.mixed[i*mixed:][:mixed]
		d.convolution().row(row, product, p.before, p.inputs, i, width)
		kernels.SiLU(row, row)
		q, k := row[:keys], row[keys:][:keys]
		kernels.RMSNorm(q, q, d.KeyHeads, d.KeyDim, d.queryScale, eps)
		kernels.RMSNorm(k, k, d.KeyHeads, d.KeyDim, d.keyScale, eps)
	}
}
