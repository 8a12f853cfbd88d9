package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/kernels"
)

// This file loads linear layers: from a checkpoint's rows to packed weights, without a
// copy of the whole matrix in between.

// A Part is rows of a linear layer's weight, and elements of its bias.
type Part struct {
	Name string // prefix of "weight" and "bias"
	Rows int
	// From and Of are for rows of a tensor that stacks several: the first of
	// them, and the number of all. Of 0: the tensor has Rows rows.
	From, Of int
	NoBias   bool // the bias of these rows is 0, and the checkpoint lacks it
	// Scale and BiasScale multiply weight and bias; 0: 1.
	Scale, BiasScale float32
}

// Linear is the layer with the tensors weight, [out, in], and bias, [out].
func (l *Loader) Linear(in, out int, bias bool) *Linear {
	return l.Stacked(in, bias, Part{Rows: out})
}

// Stacked is the linear layer whose output is that of several side by side.
func (l *Loader) Stacked(in int, bias bool, parts ...Part) *Linear {
	out, complete := 0, true
	data := make([][]float32, len(parts))
	var b []float32
	for i := range parts {
		p := &parts[i]
		if p.Of == 0 {
			p.Of = p.Rows
		}
		if p.Rows < 1 || p.From < 0 || p.From > p.Of-p.Rows {
			l.Fail(errorf(ErrConfig, "%s%s: rows %d to %d of %d", l.prefix, p.Name, p.From, p.From+p.Rows, p.Of))
			return nil
		}
		shape := []int{p.Of, in}
		if l.transposed {
			shape = []int{in, p.Of}
		}
		var ok bool
		data[i], ok = l.find(p.Name+"weight", shape...)
		complete = complete && ok
		out += p.Rows
		if !bias {
			continue
		}
		var x []float32
		if !p.NoBias {
			x = l.Tensor(p.Name+"bias", p.Of)
			complete = complete && x != nil
		}
		if complete {
			if p.NoBias {
				x = make([]float32, p.Of)
			}
			b = append(b, x[p.From:p.From+p.Rows]...)
			scale(b[len(b)-p.Rows:], p.BiasScale)
		}
	}
	if !complete || l.Failed() {
		return nil
	}
	rows := l.rows
	if l.transposed {
		rows = l.columns
	}
	format := l.packed(parts[0].Name + "weight")
	next := rows(in, parts, data)
	packed := kernels.PackBRows(format, out, in, func(_ int, dst []float32) { next(dst) })
	if l.Failed() { // to read a row
		return nil
	}
	return &Linear{in, out, b, packed}
}

// rows is a function that sets dst to one row of the parts after the other. data is
// what find gave for each.
func (l *Loader) rows(in int, parts []Part, data [][]float32) func(dst []float32) {
	var block []float32 // rows read ahead
	if n := max(1<<15/in, 1) * in; n > len(l.state.ahead) {
		l.state.ahead = make([]float32, n)
	}
	ahead := l.state.ahead
	row := 0 // of the first part that is left
	return func(dst []float32) {
		if len(block) == 0 {
			for row == parts[0].Rows {
				parts, data, row = parts[1:], data[1:], 0
			}
			p := parts[0]
			n := min(len(ahead)/in, p.Rows-row)
			block = ahead[:n*in]
			if !l.read(block, data[0], p.Name+"weight", (p.From+row)*in) {
				clear(block)
			}
			scale(block, p.Scale)
			row += n
		}
		block = block[copy(dst, block):]
	}
}

// columns is rows for weights that are stored transposed, [in, out].
func (l *Loader) columns(in int, parts []Part, data [][]float32) func(dst []float32) {
	var whole []float32
	row := 0
	return func(dst []float32) {
		if whole == nil || row == parts[0].Rows {
			if whole != nil {
				parts, data, row = parts[1:], data[1:], 0
			}
			whole = make([]float32, parts[0].Of*in) // [Of, in]
			l.transpose(whole, in, parts[0], data[0])
			scale(whole, parts[0].Scale)
		}
		from := (parts[0].From + row) * in
		copy(dst, whole[from:from+in])
		row++
	}
}

// transpose sets dst, [Of, in], to a part's tensor, [in, Of].
func (l *Loader) transpose(dst []float32, in int, p Part, data []float32) {
	const together = 16 // rows of the tensor, which a cache line of dst has place for
	rows := make([]float32, together*p.Of)
	for i := 0; i < in; i += together {
		n := min(together, in-i)
		if !l.read(rows[:n*p.Of], data, p.Name+"weight", i*p.Of) {
			return
		}
		for o := range p.Of {
			for r := range n {
				dst[o*in+i+r] = rows[r*p.Of+o]
			}
		}
	}
}

// scale multiplies x by a factor, 0 standing for 1.
func scale(x []float32, by float32) {
	if by != 0 && by != 1 {
		kernels.Scale(x, x, by)
	}
}

// LinearOf is the linear layer with tensors of l, of which some may be missing. It
// does not keep weight, [out, in].
func (l *Loader) LinearOf(in, out int, weight, bias []float32) *Linear {
	if l.Failed() {
		return nil
	}
	if l.Fail(checkLinear(in, out, weight, bias)) {
		return nil
	}
	packed := kernels.PackBRows(l.packed("weight"), out, in, func(j int, dst []float32) { copy(dst, weight[j*in:]) })
	return &Linear{in, out, bias, packed}
}

// Tied is the projection to the vocabulary whose weight is that of the embedding, which
// from now on takes its vectors from there: the two are one matrix in memory. If the
// checkpoint has the tensor weight all the same, it must be equal.
func (l *Loader) Tied(e *Embedding, bias []float32) *Linear {
	if l.Failed() || e == nil {
		return nil
	}
	at := slices.IndexFunc(l.state.tables, func(t table) bool { return t.e == e })
	if at < 0 {
		l.Fail(errorf(ErrConfig, "%s: tied to an embedding of another checkpoint", l.Name()))
		return nil
	}
	if e.packed == nil {
		t := l.state.tables[at]
		next := t.from.rows(e.Dim, []Part{{Rows: e.Vocab}}, [][]float32{t.data})
		e.packed = kernels.PackBRows(t.from.packed("weight"), e.Vocab, e.Dim, func(_ int, dst []float32) { next(dst) })
	}
	if l.Has("weight") && !l.same(l.state.tables[at]) {
		l.Fail(errorf(ErrConfig, "%sweight differs from the embedding that the configuration ties it to", l.prefix))
	}
	if l.Failed() {
		return nil
	}
	return &Linear{e.Dim, e.Vocab, bias, e.packed}
}

// same reports whether the tensor weight is that of an embedding.
func (l *Loader) same(t table) bool {
	data, ok := l.find("weight", t.e.Vocab, t.e.Dim)
	if !ok {
		return true // there is an error already
	}
	a, b := make([]float32, t.e.Dim), make([]float32, t.e.Dim)
	row := func(dst []float32, l *Loader, data []float32, i int) { l.read(dst, data, "weight", i*len(dst)) }
	for i := range t.e.Vocab {
		row(a, l, data, i)
		row(b, t.from, t.data, i)
		if !slices.Equal(a, b) {
			return false
		}
	}
	return true
}
