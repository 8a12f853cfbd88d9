package transformer

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
)

// This file has mixtures of experts: many feed-forward networks, a few of which compute each row.

// MixtureConfig describes a mixture of experts (Shazeer et al. 2017, "Outrageously Large Neural
// Networks"), each a gated network: Down(activation(Gate(x)) * Up(x)). A linear router scores the
// experts. A row takes the TopK best, and adds up their results, weighted by the softmax of the
// scores, or by their sigmoids.
type MixtureConfig struct {
	Dim           int
	RouterDim     int // the width of the rows that the router scores, with [Mixture.ForwardBy]; 0: Dim
	Hidden        int // of each expert
	Experts, TopK int
	// Normalize makes the weights of a row's experts add up to 1: a softmax of only their scores.
	Normalize bool
	// Sigmoid weighs an expert by the sigmoid of its score. Normalize divides the weights of a
	// row's experts by their sum plus Epsilon.
	Sigmoid bool
	Epsilon float32
	// Groups, unless 0, is the number of groups of neighbouring experts. A row first takes the
	// TopGroups groups whose two best experts have the largest sum of sigmoids, and then only
	// experts of these groups.
	Groups, TopGroups int
	Scale             float32 // multiplies all weights; 0: 1
	RouterBias        bool
	Bias              bool // in the experts
	Activation        kernels.Activation
	// Sharpness, Limit and Offset are those of [kernels.GLUParams].
	Sharpness, Limit, Offset float32
	// Plain experts have no gate. They have no biases either, and Sharpness, Limit and Offset are 0.
	Plain bool
}

// routerDim returns the width of the rows that the router scores, and into what an expert makes of
// a row before the activation.
func (c MixtureConfig) routerDim() int { return cmp.Or(c.RouterDim, c.Dim) }
func (c MixtureConfig) into() int {
	if c.Plain {
		return c.Hidden
	}
	return 2 * c.Hidden
}

func (c MixtureConfig) check() error {
	if err := check.Positive("mixture of experts", check.Size("dim", c.Dim), check.Size("hidden", c.Hidden), check.Size("experts", c.Experts), check.Size("top k", c.TopK)); err != nil {
		return err
	}
	if c.TopK > c.Experts {
		return check.Errorf(fault.ErrConfig, "mixture of experts: the best %d of %d", c.TopK, c.Experts)
	}
	if c.Activation < kernels.ActReLU || c.Activation > kernels.ActReLU2 {
		return check.Errorf(fault.ErrConfig, "mixture of experts: activation %d; it has no default", c.Activation)
	}
	if c.Groups != 0 && (!c.Sigmoid || c.Groups < 1 || c.Experts%c.Groups != 0 || c.Experts < 2*c.Groups || c.TopGroups < 1 || c.TopGroups > c.Groups || c.TopGroups*(c.Experts/c.Groups) < c.TopK) {
		return check.Errorf(fault.ErrConfig, "mixture of experts: the best %d of %d, in the best %d of %d groups", c.TopK, c.Experts, c.TopGroups, c.Groups)
	}
	if c.RouterDim < 0 {
		return check.Errorf(fault.ErrConfig, "mixture of experts: a router of width %d", c.RouterDim)
	}
	if c.Plain && (c.Bias || c.Sharpness != 0 || c.Limit != 0 || c.Offset != 0) {
		return check.Errorf(fault.ErrConfig, "mixture of experts: plain experts with biases, sharpness, limit or offset")
	}
	if !(c.Epsilon >= 0) || !(c.Scale >= 0) {
		return check.Errorf(fault.ErrConfig, "mixture of experts: epsilon %g, scale %g", c.Epsilon, c.Scale)
	}
	if !(c.Sharpness >= 0) || !(c.Limit >= 0) {
		return check.Errorf(fault.ErrConfig, "mixture of experts: sharpness %g, limit %g", c.Sharpness, c.Limit)
	}
	return nil
}

// MixtureNames says what an ecosystem calls the weights of a mixture of experts, as prefixes that
// end with a dot.
type MixtureNames struct {
	Router string
	// Each is the prefix of an expert, with %d for its index, and All the prefix of tensors that
	// stack the experts' matrices, [Experts, out, in]. A checkpoint may have either; an empty
	// prefix is not looked for.
	Each, All string
	// Correction is the tensor, [Experts], that is added to the sigmoids to pick experts, but not
	// to weigh them; "": there is none.
	Correction string
	Expert     FeedForwardNames // after either; Packed is looked for first, if it is set
	// Scale is the whole name of the tensor of factors for the results of the experts, [Experts];
	// "": 1.
	Scale string
	// Interleaved is set where the rows of Packed alternate between the gate and Up.
	Interleaved bool
	// Transposed is set where stacked matrices are [Experts, in, out].
	Transposed bool
}

// Mixture is a mixture of experts. It is a [Feed].
type Mixture struct {
	MixtureConfig
	Router      *Linear
	Correction  []float32   // [Experts], added to the sigmoids to pick experts; nil: none
	ExpertScale []float32   // [Experts], of what each gives; nil: 1
	in          [][]*Linear // gate and up of every expert: one layer, or two where their weights have two formats; up of a plain one
	down        []*Linear
	name        string
}

// Mixture returns the mixture of experts whose weights have the given names.
func (l *Loader) Mixture(c MixtureConfig, names MixtureNames) *Mixture {
	if l.Fail(c.check()) {
		return nil
	}
	m := &Mixture{MixtureConfig: c, name: strings.TrimSuffix(l.Name()+"."+names.Router, ".")}
	// In every format, the experts of a row must not depend on other rows.
	m.Router = l.At(names.Router).RowByRow().Linear(c.routerDim(), c.Experts, c.RouterBias)
	m.Correction = l.Optional(c.Sigmoid && names.Correction != "", names.Correction, c.Experts)
	m.ExpertScale = l.Optional(names.Scale != "", names.Scale, c.Experts)
	e := l.experts(c, names)
	for i := 0; i < c.Experts && !l.Stopped(); i++ {
		in, down := e.load(i)
		m.in, m.down = append(m.in, in), append(m.down, down)
	}
	return m
}

// experts describes how a checkpoint stores the experts.
type experts struct {
	MixtureConfig
	names    MixtureNames
	l        *Loader
	stacked  bool
	packed   bool
	gateBias []float32 // [Experts, Hidden] or, of gate and up together, [Experts, 2*Hidden]; so below. nil: each has its own
	upBias   []float32
	downBias []float32
}

// experts looks for the experts' tensors.
func (l *Loader) experts(c MixtureConfig, names MixtureNames) *experts {
	e := &experts{MixtureConfig: c, names: names, l: l}
	all := names.Expert
	has := func(prefix string) bool { return prefix != "" && l.Has(names.All+prefix+"weight") }
	if e.stacked = names.All != "" && (has(all.Packed) || has(all.Gate) || c.Plain && has(all.Up)) || names.Each == ""; !e.stacked {
		e.packed = all.Packed != "" && l.Has(strings.ReplaceAll(names.Each, "%d", "0")+all.Packed+"weight")
		return e
	}
	e.l = l.At(names.All)
	if names.Transposed && !has(all.Gate) {
		e.l = e.l.Transposed()
	}
	e.packed = all.Packed != "" && !has(all.Gate) && !c.Plain
	switch {
	case !c.Bias:
	case e.packed:
		e.gateBias = e.l.Tensor(all.Packed+"bias", c.Experts, 2*c.Hidden)
	default:
		e.gateBias, e.upBias = e.l.Tensor(all.Gate+"bias", c.Experts, c.Hidden), e.l.Tensor(all.Up+"bias", c.Experts, c.Hidden)
	}
	if c.Bias {
		e.downBias = e.l.Tensor(all.Down+"bias", c.Experts, c.Dim)
	}
	return e
}

// load returns the layers of expert i.
func (e *experts) load(i int) (in []*Linear, down *Linear) {
	l, names := e.l, e.names.Expert
	if !e.stacked {
		l = l.At(strings.ReplaceAll(e.names.Each, "%d", strconv.Itoa(i)))
	}
	gate, up := Part{Name: names.Gate, Rows: e.Hidden}, Part{Name: names.Up, Rows: e.Hidden}
	if e.packed {
		gate = Part{Name: names.Packed, Rows: e.Hidden, Of: 2 * e.Hidden}
		up = gate
		if up.From = e.Hidden; e.names.Interleaved {
			up.From, gate.Step, up.Step = 1, 2, 2
		}
	}
	out := Part{Name: names.Down, Rows: e.Dim}
	if e.stacked {
		for _, p := range []*Part{&gate, &up, &out} {
			p.Stack, p.Item = e.Experts, i
		}
	}
	own := e.Bias && !e.stacked
	if e.Plain {
		in = []*Linear{l.Stacked(e.Dim, own, up)}
	} else if l.alike(gate.Name, up.Name) {
		in = []*Linear{l.Stacked(e.Dim, own, gate, up)}
	} else {
		in = []*Linear{l.Stacked(e.Dim, own, gate), l.Stacked(e.Dim, own, up)}
	}
	down = l.Stacked(e.Hidden, own, out)
	for _, layer := range append(in, down) {
		if layer != nil && len(layer.weight.Beside) > 0 {
			l.Fail(check.Errorf(fault.ErrConfig, "%s: an adapter with a name for an expert is not supported", l.Name()))
		}
	}
	if e.Bias && e.stacked && !l.Failed() {
		e.bias(i, in, down)
	}
	return in, down
}

// bias sets the biases of expert i's layers from the biases of all experts.
func (e *experts) bias(i int, in []*Linear, down *Linear) {
	down.Bias = e.downBias[i*e.Dim : (i+1)*e.Dim : (i+1)*e.Dim]
	var both []float32
	switch {
	case !e.packed:
		both = slices.Concat(e.gateBias[i*e.Hidden:(i+1)*e.Hidden], e.upBias[i*e.Hidden:(i+1)*e.Hidden])
	case e.names.Interleaved:
		own := e.gateBias[2*i*e.Hidden : 2*(i+1)*e.Hidden]
		both = make([]float32, len(own))
		for j := range e.Hidden {
			both[j], both[e.Hidden+j] = own[2*j], own[2*j+1]
		}
	default:
		both = slices.Clone(e.gateBias[2*i*e.Hidden : 2*(i+1)*e.Hidden])
	}
	if in[0].Bias = both; len(in) == 2 {
		in[0].Bias, in[1].Bias = both[:e.Hidden:e.Hidden], both[e.Hidden:]
	}
}

// Forward sets dst, [rows, Dim], to the mixture's value at x, [rows, Dim], plus residual, nil or
// [rows, Dim], which may be dst. The products of different experts run on the threads at the same
// time; each multiplies all rows of an expert.
//
// Trace reports the router's scores under its name.
func (m *Mixture) Forward(ws *Workspace, dst, x, residual []float32) error {
	return m.ForwardBy(ws, dst, x, x, residual)
}

// ForwardBy is Forward with other rows for the router: it scores the experts on by, [rows, Dim].
func (m *Mixture) ForwardBy(ws *Workspace, dst, x, by, residual []float32) error {
	if m == nil || m.Dim == 0 || len(m.down) != m.Experts {
		return check.Errorf(fault.ErrConfig, "mixture of experts that no Loader made")
	}
	rows := len(x) / m.Dim
	if err := check.Len("mixture of experts: x", x, rows*m.Dim, "rows*dim"); err != nil {
		return err
	}
	if err := check.Len("mixture of experts: rows of the router", by, rows*m.routerDim(), "rows*router dim"); err != nil {
		return err
	}
	if err := check.Len("mixture of experts: dst", dst, rows*m.Dim, "rows*dim"); err != nil {
		return err
	}
	if residual != nil {
		if err := check.Len("mixture of experts: residual", residual, rows*m.Dim, "rows*dim"); err != nil {
			return err
		}
	}
	if err := ws.check(); err != nil {
		return err
	}
	defer ws.Release(ws.Mark())
	scores, weights := ws.Alloc(rows*m.Experts), ws.Alloc(rows*m.TopK) // [rows, experts], [rows, k]
	if err := m.Router.Forward(ws, scores, by); err != nil {
		return err
	}
	ws.Report(m.name, "", scores, rows, m.Experts)
	r := routed.of(ws)
	m.route(ws, r, scores, weights)
	n := rows * m.TopK
	of := ws.Alloc(n * m.Dim) // x sorted by experts, and later what these make of it: [n, D]
	ws.Threads.Gather(kernels.GatherParams{Rows: n, Cols: m.Dim, Dst: of, X: x, Index: r.rows})
	into := ws.Alloc(n * m.into()) // gate and up, [n, 2*hidden], or up, [n, hidden]
	for i := range m.in[0] {
		if err := m.multiply(ws, func(e int) *Linear { return m.in[e][i] }, into[min(i*m.Hidden, len(into)):], m.into(), of); err != nil {
			return err
		}
	}
	hidden := into // [n, hidden]
	if m.Plain {
		Activate(ws.Threads, m.Activation, hidden)
	} else {
		hidden = ws.Alloc(n * m.Hidden)
		ws.Threads.GLU(kernels.GLUParams{Rows: n, Cols: m.Hidden, Dst: hidden, X: into, Activation: m.Activation, Sharpness: m.Sharpness, Limit: m.Limit, Offset: m.Offset})
	}
	if err := m.multiply(ws, func(e int) *Linear { return m.down[e] }, of, m.Dim, hidden); err != nil {
		return err
	}
	ws.Threads.Gather(kernels.GatherParams{Rows: rows, Cols: m.Dim, Dst: dst, X: of, Index: r.places, Weight: weights, Residual: residual})
	return nil
}

// multiply sets dst to the product of each expert's rows of x with one of its layers.
func (m *Mixture) multiply(ws *Workspace, layer func(expert int) *Linear, dst []float32, ld int, x []float32) error {
	r := routed.of(ws)
	r.b, r.bias = r.b[:0], r.bias[:0]
	from := 0
	for e := range m.Experts {
		l := layer(e)
		if err := l.check(ws); err != nil {
			return err
		}
		r.b, r.bias = append(r.b, l.weight.For(r.ends[e]-from)), append(r.bias, l.Bias)
		from = r.ends[e]
	}
	p := kernels.GemmGroupedParams{A: x, LdA: layer(0).In, B: r.b, Ends: r.ends, C: dst, LdC: ld}
	if m.Bias {
		p.Bias = r.bias
	}
	ws.Threads.GemmGrouped(p)
	return nil
}
