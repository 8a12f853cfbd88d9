package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// Mamba2Config describes the block of Mamba-2 (Dao and Gu, 2024, "Transformers are SSMs").
type Mamba2Config struct {
	Dim            int
	Heads, HeadDim int // HeadDim channels of each head; all together are the block's inner width
	Groups         int // the heads of a group share B and C
	State          int // elements of state that each channel has
	Taps           int // rows that the convolution mixes: the row itself and those in front of it
	// InBias, ConvBias and OutBias say which of the projections and the convolution have a bias.
	InBias, ConvBias, OutBias bool
	// StepMin and StepMax bound the time step after softplus; if StepMax is 0, there is no upper
	// bound.
	StepMin, StepMax float32
	// Eps is the epsilon of the normalization of the scan's output, over the channels of each
	// group. 0: there is no normalization.
	Eps float32
	// NormFirst puts the normalization before the product with the gate.
	NormFirst bool
	// InScale, unless 0, multiplies the input of the block. Scales, unless nil, multiplies the
	// parts of the projection's output: z, x, B, C and the time steps.
	InScale float32
	Scales  []float32
	// Negative says that the tensor A_log holds A = -exp(A_log), as in the files of llama.cpp.
	Negative bool
}

// inner returns the width of all heads, mixed the width of the convolution, and projected the width
// of the projection's output.
func (c *Mamba2Config) inner() int     { return c.Heads * c.HeadDim }
func (c *Mamba2Config) mixed() int     { return c.inner() + 2*c.Groups*c.State }
func (c *Mamba2Config) projected() int { return c.inner() + c.mixed() + c.Heads }

// recent returns the part of a state that belongs to the convolution: the inputs of the rows
// before. The rest belongs to the heads.
func (c *Mamba2Config) recent() int { return (c.Taps - 1) * c.mixed() }

func (c *Mamba2Config) check() error {
	err := check.Positive("mamba", check.Size("dim", c.Dim), check.Size("heads", c.Heads), check.Size("head dim", c.HeadDim), check.Size("groups", c.Groups), check.Size("state", c.State), check.Size("taps", c.Taps))
	switch {
	case err != nil:
		return err
	case c.Heads%c.Groups != 0:
		return check.Errorf(fault.ErrConfig, "mamba: %d heads in %d groups", c.Heads, c.Groups)
	case !(c.StepMin >= 0) || !(c.StepMax >= 0) || c.StepMax > 0 && c.StepMin > c.StepMax:
		return check.Errorf(fault.ErrConfig, "mamba: time steps from %g to %g", c.StepMin, c.StepMax)
	case !(c.Eps >= 0):
		return check.Errorf(fault.ErrConfig, "mamba: eps = %g", c.Eps)
	case c.Scales != nil && len(c.Scales) != 5:
		return check.Errorf(fault.ErrConfig, "mamba: %d scales, want 5", len(c.Scales))
	}
	const most = 1 << 28 // elements of a state, which a configuration merely claims
	n := int64(c.Heads)
	for _, size := range []int{c.HeadDim, c.State} {
		if n *= int64(size); n > most {
			return check.Errorf(fault.ErrConfig, "mamba: a state of %d*%d*%d elements", c.Heads, c.HeadDim, c.State)
		}
	}
	if bc := int64(c.Groups) * int64(c.State); bc > most || int64(c.Taps) > most/(n+2*bc) {
		return check.Errorf(fault.ErrConfig, "mamba: a convolution of %d rows of %d heads and %d groups", c.Taps, c.Heads, c.Groups)
	}
	return nil
}

// Mamba2 is the block of Mamba-2: the projection In computes a gate z, channels x, B and C, and a
// time step for each head. A convolution and SiLU mix x, B and C with the few rows before. Then
// each channel of a head computes
//
//	state = exp(step*A)*state + step*x*B
//	y = state*C + D*x
//
// and y*silu(z), normalized, goes through the projection Out.
//
// The state passes from row to row: a text gets the same bits in one pass, in pieces and row by
// row.
type Mamba2 struct {
	Mamba2Config
	In, Out    *Linear
	Weight     []float32 // [Taps, mixed], of which the last tap is for the row itself
	Bias       []float32 // [mixed], or nil
	StepBias   []float32 // [Heads]
	A, D       []float32 // [Heads]; A is negative
	NormWeight []float32 // [inner], or nil
}

// Mamba2 returns the block with the tensors in_proj, conv1d, dt_bias, A_log, D, norm and out_proj.
func (l *Loader) Mamba2(c Mamba2Config) *Mamba2 {
	if l.Fail(c.check()) {
		return nil
	}
	m := &Mamba2{
		Mamba2Config: c,
		In:           l.At("in_proj.").Linear(c.Dim, c.projected(), c.InBias), Out: l.At("out_proj.").Linear(c.inner(), c.Dim, c.OutBias),
		Weight:   l.taps("conv1d.weight", c.mixed(), c.Taps),
		Bias:     l.Optional(c.ConvBias, "conv1d.bias", c.mixed()),
		StepBias: l.Tensor("dt_bias", c.Heads),
		A:        l.column("A_log", c.Heads, c.Negative), D: l.column("D", c.Heads, c.Negative),
	}
	if c.Eps > 0 {
		m.NormWeight = l.column("norm.weight", c.inner(), c.Negative)
	}
	if !c.Negative {
		m.A = slices.Clone(m.A)
		kernels.Exp(m.A, m.A)
		kernels.Scale(m.A, m.A, -1)
	}
	return m
}

// column returns the tensor of n elements, which has two dimensions in files of llama.cpp.
func (l *Loader) column(name string, n int, llamaCpp bool) []float32 {
	shape := []int{n}
	if stored, ok := l.Shape(name); llamaCpp && ok && len(stored) == 2 && stored[0] > 0 && n%stored[0] == 0 {
		shape = []int{stored[0], n / stored[0]}
	}
	return l.Tensor(name, shape...)
}

func (m *Mamba2) convolution() causalConvolution {
	return causalConvolution{weight: m.Weight, bias: m.Bias, dim: m.mixed()}
}

// StateBytes returns the memory of a sequence's state in a cache.
func (m *Mamba2) StateBytes() int64 { return 4 * int64(m.recurrence().Size) }

func (m *Mamba2) recurrence() Recurrence {
	return Recurrence{Size: m.recent() + m.Heads*m.State*m.HeadDim, Width: m.mixed() + m.Heads}
}

// Forward sets dst, [rows of batch, Dim], to the block's output for x, [rows, Dim]. cache is nil,
// or the layer's part of one. dst may be x.
func (m *Mamba2) Forward(ws *Workspace, dst, x []float32, batch Batch, cache *LayerCache) error {
	if err := m.checkMade(); err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	rows, inner := batch.Rows(), m.inner()
	if err := check.Len("mamba: x", x, rows*m.Dim, "rows*dim"); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	if m.InScale != 0 {
		scaled := ws.Alloc(len(x))
		ws.Threads.Scale(scaled, x, m.InScale)
		x = scaled
	}
	projected := ws.Alloc(rows * m.projected())
	if err := m.In.Forward(ws, projected, x); err != nil { // [rows, z, x, B, C and steps]
		return err
	}
	s := &scan{Mamba2: m, ws: ws, y: ws.Alloc(rows * inner)} // y: [rows, inner]
	r := m.recurrence()
	inputs := ws.Alloc(rows * r.Width) // [rows, x, B, C and steps]
	ws.Threads.Run(rows, len(inputs)/4, rowTask(func(i int) {
		row := projected[i*m.projected():][:m.projected()]
		m.scale(row)
		copy(inputs[i*r.Width:][:r.Width], row[inner:])
	}))
	r.Step = s.step
	if err := r.Forward(ws, inputs, batch, cache); err != nil {
		return err
	}
	ws.Threads.Run(rows, len(s.y)*4, rowTask(func(i int) {
		m.gate(s.y[i*inner:][:inner], projected[i*m.projected():][:inner])
	}))
	return m.Out.Forward(ws, dst, s.y) // [rows, D]
}

// checkMade returns an error unless the weights of the block fit its configuration. Linear layers
// check themselves.
func (m *Mamba2) checkMade() error {
	if m == nil || m.In == nil || m.Out == nil {
		return check.Errorf(fault.ErrConfig, "mamba without projections")
	}
	if err := m.check(); err != nil {
		return err
	}
	for _, t := range []struct {
		name string
		x    []float32
		want int
	}{
		{"weight", m.Weight, m.Taps * m.mixed()}, {"step bias", m.StepBias, m.Heads}, {"A", m.A, m.Heads}, {"D", m.D, m.Heads},
		{"bias", m.Bias, m.mixed()}, {"norm weight", m.NormWeight, m.inner()},
	} {
		if t.x == nil && (t.name == "bias" || t.name == "norm weight" && m.Eps == 0) {
			continue
		}
		if err := check.Len("mamba: "+t.name, t.x, t.want, "by its configuration"); err != nil {
			return err
		}
	}
	return nil
}

// scale multiplies the parts of a projected row by Scales.
func (m *Mamba2) scale(row []float32) {
	if m.Scales == nil {
		return
	}
	bc := m.Groups * m.State
	for i, n := range []int{m.inner(), m.inner(), bc, bc, m.Heads} {
		kernels.Scale(row[:n], row[:n], m.Scales[i])
		row = row[n:]
	}
}

// gate sets the row y, [inner], to y*silu(z), and normalizes before or after that. It overwrites z.
func (m *Mamba2) gate(y, z []float32) {
	kernels.SiLU(z, z)
	if m.NormFirst {
		m.normalize(y)
	}
	kernels.Mul(y, y, z)
	if !m.NormFirst {
		m.normalize(y)
	}
}

// normalize normalizes the channels of each group of the row y, [inner].
func (m *Mamba2) normalize(y []float32) {
	switch {
	case m.Eps == 0:
	case m.Groups == 1:
		kernels.RMSNorm(y, y, 1, len(y), m.NormWeight, m.Eps)
	default:
		kernels.RMSNorm(y, y, m.Groups, len(y)/m.Groups, nil, m.Eps)
		kernels.Mul(y, y, m.NormWeight)
	}
}

// scan takes rows of a sequence through the convolution and the state of a Mamba-2 block. It is a
// task of kernels.Threads.Run whose parts are rows.
type scan struct {
	*Mamba2
	ws             *Workspace
	y              []float32 // [rows of the batch, inner]
	inputs, before []float32 // of the sequence, [rows, width]; and those of the convolution before them, [Taps-1, mixed]
	xbc, product   []float32 // [rows, mixed]: x, B and C; and scratch memory, of which a thread uses one row
	steps          []float32 // [rows, Heads]
	decay          []float32 // [rows, Heads]: exp(step*A)
	rows           int
}

// step is Recurrence.Step. A state has the last inputs of the convolution, and the states of the
// heads.
func (s *scan) step(to, from, inputs []float32, first int) error {
	defer s.ws.Release(s.ws.Mark())
	width, mixed, recent := s.recurrence().Width, s.mixed(), s.recent()
	s.rows = len(inputs) / width
	s.inputs, s.before = inputs, from[:recent]
	s.xbc, s.product = s.ws.Alloc(s.rows*mixed), s.ws.Alloc(s.rows*mixed)
	s.steps, s.decay = s.ws.Alloc(s.rows*s.Heads), s.ws.Alloc(s.rows*s.Heads)
	s.ws.Threads.Run(s.rows, s.rows*mixed*s.Taps/4, s) // x, B, C  [rows, mixed]
	s.convolution().remember(to[:recent], s.before, inputs, s.rows, width)
	for i := range s.rows {
		kernels.Add(s.steps[i*s.Heads:][:s.Heads], inputs[i*width+mixed:][:s.Heads], s.StepBias)
	}
	s.ws.Threads.Softplus(s.steps, s.steps)
	for i, v := range s.steps {
		if v < s.StepMin {
			v = s.StepMin
		}
		if s.StepMax > 0 && v > s.StepMax {
			v = s.StepMax
		}
		s.steps[i] = v
		s.decay[i] = v * s.A[i%s.Heads]
	}
	s.ws.Threads.Exp(s.decay, s.decay)
	y := s.product // of rows that have passed before, nobody reads
	if first >= 0 {
		y = s.y[first*s.inner():][:s.rows*s.inner()]
	}
	bc := s.Groups * s.State
	s.ws.Threads.Recurrence(kernels.RecurrenceParams{
		Rows: s.rows, Heads: s.Heads, KeyHeads: s.Groups, KeyDim: s.State, ValueDim: s.HeadDim,
		From: from[recent:], To: to[recent:],
		Q: s.xbc[s.inner()+bc:], LdQ: mixed, K: s.xbc[s.inner():], LdK: mixed, V: s.xbc, LdV: mixed,
		Decay: s.decay, Beta: s.steps, Dst: y, LdDst: s.inner(),
	})
	if first >= 0 {
		s.ws.Threads.Run(s.rows, len(y), rowTask(func(i int) { s.pass(y[i*s.inner():][:s.inner()], s.xbc[i*mixed:]) }))
	}
	return nil
}

// Do mixes the rows [from, to).
func (s *scan) Do(from, to int) {
	mixed, width := s.mixed(), s.recurrence().Width
	product := s.product[from*mixed:][:mixed]
	for i := from; i < to; i++ {
		row := s.xbc[i*mixed:][:mixed]
		s.convolution().row(row, product, s.before, s.inputs, i, width)
		kernels.SiLU(row, row)
	}
}

// pass adds D*x to the row y, [inner].
func (s *scan) pass(y, x []float32) {
	for h, d := range s.D {
		kernels.AXPY(d, x[h*s.HeadDim:][:s.HeadDim], y[h*s.HeadDim:][:s.HeadDim])
	}
}
