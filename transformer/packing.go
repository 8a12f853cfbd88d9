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
	layer := &Linear{in, out, b, nil}
	format := l.packed(parts[0].Name+"weight", false)
	l.later(out*in, func(buf *jobBuffers) { layer.packed = l.pack(buf, format, in, parts, data) })
	return layer
}

// alike reports whether parts are to be held in the same format.
func (l *Loader) alike(parts ...Part) bool {
	first := l.packed(parts[0].Name+"weight", false)
	return !slices.ContainsFunc(parts, func(p Part) bool { return l.packed(p.Name+"weight", false) != first })
}

// pack packs the rows of the parts, data being what find gave for each: from the blocks that the
// checkpoint has, if those are what is wanted.
func (l *Loader) pack(buf *jobBuffers, format kernels.Format, in int, parts []Part, data [][]float32) *kernels.PackedB {
	out := 0
	for _, p := range parts {
		out += p.Rows
	}
	if blocks := l.blocks(buf, format, in, parts); blocks != nil {
		return kernels.PackBBlocks(format, out, in, func(_ int, dst []byte) { blocks(dst) })
	}
	next := l.rows(buf, in, parts, data)
	if l.transposed {
		next = l.columns(in, parts, data)
	}
	return kernels.PackBRows(format, out, in, func(_ int, dst []float32) { next(dst) })
}

// blocks is a function that sets dst to one row of the parts after the other, in the blocks in which
// the checkpoint has them; nil if it has not.
func (l *Loader) blocks(buf *jobBuffers, format kernels.Format, in int, parts []Part) func(dst []byte) {
	r, ok := l.state.src.(interface {
		ReadBlocks(dst []byte, name string, from int) error
	})
	elements, bytes := format.Block()
	if !ok || l.transposed || elements < 2 || in%elements != 0 {
		return nil
	}
	for _, p := range parts {
		if l.format(p.Name+"weight") != format || p.Scale != 0 && p.Scale != 1 {
			return nil
		}
	}
	return ahead(parts, in/elements*bytes, buf.bytes(max(1<<17, in/elements*bytes)), func(dst []byte, part, row int) {
		name := l.lookup(parts[part].Name + "weight")
		if err := r.ReadBlocks(dst, name, row*in); err != nil {
			l.note(name, err)
			clear(dst)
		}
	})
}

// rows is a function that sets dst to one row of the parts after the other. data is
// what find gave for each.
func (l *Loader) rows(buf *jobBuffers, in int, parts []Part, data [][]float32) func(dst []float32) {
	return ahead(parts, in, buf.floats(max(1<<15/in, 1)*in), func(dst []float32, part, row int) {
		if !l.read(dst, data[part], parts[part].Name+"weight", row*in) {
			clear(dst)
		}
		scale(dst, parts[part].Scale)
	})
}

// ahead is a function that sets dst to one row, of some elements, of the parts after the other. It
// has read set buf, which has room for one, to several at a time, from a row of a part's tensor on.
func ahead[T any](parts []Part, row int, buf []T, read func(dst []T, part, row int)) func(dst []T) {
	var rows []T
	part, next := 0, 0
	return func(dst []T) {
		if len(rows) == 0 {
			for next == parts[part].Rows {
				part, next = part+1, 0
			}
			n := min(len(buf)/row, parts[part].Rows-next)
			rows = buf[:n*row]
			read(rows, part, parts[part].From+next)
			next += n
		}
		rows = rows[copy(dst, rows):]
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
	packed := kernels.PackBRows(l.packed("weight", false), out, in, func(j int, dst []float32) { copy(dst, weight[j*in:]) })
	return &Linear{in, out, bias, packed}
}

// Tied is the projection to the vocabulary whose weight is that of the embedding, which
// from now on takes its vectors from there: the two are one matrix in memory. If the
// checkpoint has the tensor weight all the same, it must be equal.
func (l *Loader) Tied(e *Embedding, bias []float32) *Linear {
	if l.Failed() || e == nil {
		return nil
	}
	at := slices.IndexFunc(l.state.tables, func(t *table) bool { return t.e == e })
	if at < 0 {
		l.Fail(errorf(ErrConfig, "%s: tied to an embedding of another checkpoint", l.Name()))
		return nil
	}
	t, head := l.state.tables[at], &Linear{e.Dim, e.Vocab, bias, nil}
	t.heads = append(t.heads, head)
	if l.Has("weight") {
		if data, ok := l.find("weight", e.Vocab, e.Dim); ok {
			l.later(e.Vocab*e.Dim, func(buf *jobBuffers) { l.compare(buf, data, t) })
		}
	}
	return head
}

// compare notes an error unless the tensor weight, for which find gave data, is that of an
// embedding.
func (l *Loader) compare(buf *jobBuffers, data []float32, t *table) {
	all := []Part{{Rows: t.e.Vocab}}
	one, other := l.rows(buf, t.e.Dim, all, [][]float32{data}), t.from.rows(new(jobBuffers), t.e.Dim, all, [][]float32{t.data})
	a, b := make([]float32, t.e.Dim), make([]float32, t.e.Dim)
	for range t.e.Vocab {
		one(a)
		other(b)
		if !slices.Equal(a, b) {
			l.Fail(errorf(ErrConfig, "%sweight differs from the embedding that the configuration ties it to", l.prefix))
			return
		}
	}
}
