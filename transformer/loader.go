package transformer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/ready"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// A Loader provides the parts of a model with the tensors of a checkpoint, and notes everything
// that is wrong: [Loader.Finish] reports all of it at once. Methods return nil for a tensor that is
// missing or does not fit. Loading then continues, and finds further errors. It allocates no memory
// for missing tensors, whose sizes may come from a hostile configuration.
//
// A Loader stands for a scope: the tensors whose names begin with its prefix. Linear layers and
// tables are planned: their weights are read by Finish. All loaders of a checkpoint share one plan.
type Loader struct {
	plan       *checkpoint.Plan
	prefix     string
	transposed bool
	rowByRow   bool
	integers   bool
	balanced   []Part // of linear layers that multiply the same rows; see together
}

// NewLoader returns the loader of all tensors of a checkpoint. Names that no part asks for are left
// over, except known buffers: position_ids, attn.bias (GPT-2's causal mask), inv_freq and
// num_batches_tracked.
func NewLoader(w Weights) *Loader { return &Loader{plan: checkpoint.NewPlan(w)} }

// At returns the loader of a part of the model: of the names that begin with prefix, which usually
// ends with a dot. Verbs in prefix are formatted with args.
func (l *Loader) At(prefix string, args ...any) *Loader {
	if len(args) > 0 {
		prefix = fmt.Sprintf(prefix, args...)
	}
	at := *l
	at.prefix += prefix
	return &at
}

// Under returns the loader under the first of the prefixes that has the tensor name, or under the
// first prefix if none has. Checkpoints of the same model have names with and without the prefix of
// a head's module.
func (l *Loader) Under(name string, prefixes ...string) *Loader {
	for _, p := range prefixes {
		if l.At(p).Has(name) {
			return l.At(p)
		}
	}
	return l.At(prefixes[0])
}

// Transposed returns l for linear layers whose weights are stored [in, out], as in GPT-2's Conv1D.
func (l *Loader) Transposed() *Loader {
	t := *l
	t.transposed = true
	return &t
}

// RowByRow returns l for linear layers whose results decide something, such as routers. The
// function of [Loader.Pack] is called for them as for tables, and they have no second copy.
func (l *Loader) RowByRow() *Loader {
	r := *l
	r.rowByRow = true
	return &r
}

// Integers returns l for tensors that may be integers, which become the same numbers in float32.
// Elsewhere integers are an error, because the weights of a quantized model also have scales.
func (l *Loader) Integers() *Loader {
	i := *l
	i.integers = true
	return &i
}

// A Chooser returns the format in which a model holds the named weight, such as
// "layers.0.mlp.up_proj.weight", which the checkpoint has in the format stored. The weight is that
// of a linear layer, or a table of vectors that no projection shares.
type Chooser func(name string, stored kernels.Format, table bool) kernels.Format

// Pack makes l, and all loaders of the same checkpoint, hold weights in the formats that choose
// returns. Without Pack, linear layers are kernels.FormatF32, and tables have the stored format.
func (l *Loader) Pack(choose Chooser) { l.plan.Formats.First = choose }

// PackMany makes linear layers of l, and of all loaders of the same checkpoint, hold a second copy
// of their weights, in the format that choose returns for the format of the first copy. Products of
// [ManyRows] rows or more use the second copy. Where choose returns the same format there is no
// second copy.
func (l *Loader) PackMany(choose Chooser) { l.plan.Formats.Many = choose }

// ManyRows is the least number of rows for which products use the copy of [Loader.PackMany].
const ManyRows = checkpoint.ManyRows

// Rename makes l and all loaders of the same checkpoint look up f(name) instead of name. The
// functions of several calls follow each other, that of the last call first.
func (l *Loader) Rename(f func(name string) string) { l.plan.Rename(f) }

// Ignore allows tensors to be left over if their names under the prefix match one of the patterns,
// as in path.Match.
func (l *Loader) Ignore(patterns ...string) {
	for _, p := range patterns {
		l.plan.Ignore(l.prefix + p)
	}
}

// Name returns the scope's prefix, without the dot that joins it to its tensors.
func (l *Loader) Name() string { return strings.TrimRight(l.prefix, ".") }

// Has reports whether the checkpoint lists the named tensor.
func (l *Loader) Has(name string) bool { return l.plan.Has(l.prefix + name) }

// Shape returns the shape of the named tensor, and false if there is none or the weights do not
// know it.
func (l *Loader) Shape(name string) ([]int, bool) { return l.plan.Shape(l.prefix + name) }

// Fail notes that the model cannot be made. It returns whether err is not nil.
func (l *Loader) Fail(err error) bool { return l.plan.Fail(err) }

// Failed reports whether something is wrong already, so that there will be no model.
func (l *Loader) Failed() bool { return l.plan.Errors() > 0 }

// Stopped is Failed for a loop that stops if it is true: the tensors of the parts that it does not
// make do not count as left over.
func (l *Loader) Stopped() bool {
	if !l.Failed() {
		return false
	}
	l.plan.Cut()
	return true
}

// want returns the want of a tensor, which the model computes with in this shape.
func (l *Loader) want(name string, shape ...int) checkpoint.Want {
	w := l.plan.Want(l.prefix+name, shape...)
	w.Integers = l.integers
	return w
}

// Tensor returns the elements of the named tensor, in row-major order. They belong to the caller
// unless the weights are a TensorMap. It reads them at once.
func (l *Loader) Tensor(name string, shape ...int) []float32 {
	return l.plan.Tensor(l.want(name, shape...))
}

// Optional returns the tensor if wanted, else nil.
func (l *Loader) Optional(wanted bool, name string, shape ...int) []float32 {
	if !wanted {
		return nil
	}
	return l.Tensor(name, shape...)
}

// A LowRank is the term that an adapter adds to a matrix: Scale*Left*Right, of the given Rank.
type LowRank = checkpoint.LowRank

// Add adds d to the tensor that the checkpoint calls name, of a linear layer or a table of vectors,
// for every part that asks for it from now on. d has the shape in which the model multiplies, [out,
// in] or [vectors, dim], also where weights are stored transposed. The sum is computed in float32
// when the tensor is read, and then held in the weights' format; this is not so for an adapter that
// stays beside the weights. Add keeps the slices of d. Its error matches fault.ErrShape if they do
// not form a matrix; [Loader.Finish] reports a shape that differs from the tensor's, and a tensor
// that no part asks for.
func (l *Loader) Add(name string, d LowRank) error { return l.plan.Add(name, d) }

// A Replacement is a tensor that replaces one of the checkpoint's.
type Replacement = checkpoint.Replacement

// Replace replaces the tensor that the checkpoint calls name, and may lack, for every part that
// asks for it from now on. [Loader.Finish] reports a shape that differs from the model's.
func (l *Loader) Replace(name string, by Replacement) { l.plan.Replace(name, by) }

// Rows are vectors that replace vectors of a table.
type Rows = checkpoint.Rows

// SetRows replaces rows of the tensor that the checkpoint calls name, of a linear layer or a table
// of vectors, for every part that asks for it from now on. It keeps rows. The error matches
// fault.ErrShape if they are not whole rows; [Loader.Finish] reports rows that the tensor lacks.
func (l *Loader) SetRows(name string, rows Rows) error { return l.plan.SetRows(name, rows) }

// A Part is some rows of a linear layer's weight, and the same elements of its bias. Its Name is a
// prefix of weight and bias. Complete replaces fields that are 0 by what they mean and reports
// whether the tensor can have the rows, Shape returns the shape of the tensor, and Bias the part's
// elements of a bias.
type Part = checkpoint.Part

// Linear returns the layer with the tensors weight, [out, in], and bias, [out].
func (l *Loader) Linear(in, out int, bias bool) *Linear {
	return l.Stacked(in, bias, Part{Rows: out})
}

// Stacked returns the linear layer whose output has the outputs of several layers side by side.
func (l *Loader) Stacked(in int, bias bool, parts ...Part) *Linear {
	strips, b, ok := l.strips(in, bias, parts)
	if !ok || l.Failed() {
		return nil
	}
	stack := checkpoint.Stack{In: in, Strips: strips, RowByRow: l.rowByRow}
	for _, p := range l.balanced {
		stack.Together = append(stack.Together, l.strip(in, p))
	}
	layer := &Linear{In: in, Bias: b, weight: l.plan.Matrix(stack)}
	for _, p := range parts {
		layer.Out += p.Rows
	}
	return layer
}

// strips opens the weights of parts, and reads their bias. ok is false if something is wrong.
func (l *Loader) strips(in int, bias bool, parts []Part) (strips []checkpoint.Strip, b []float32, ok bool) {
	ok = true
	for _, p := range parts {
		if !p.Complete() {
			l.Fail(check.Errorf(fault.ErrConfig, "%s%s: rows %d to %d of %d", l.prefix, p.Name, p.From, p.From+p.Rows, p.Of))
			return nil, nil, false
		}
		s := l.strip(in, p)
		ok = l.plan.Open(&s) && ok
		strips = append(strips, s)
		if !bias {
			continue
		}
		x := l.Optional(!p.NoBias, p.Name+"bias", p.Of)
		if ok = ok && (p.NoBias || x != nil); ok {
			b = append(b, p.Bias(x)...)
		}
	}
	return strips, b, ok
}

// strip returns the rows of a part that is complete.
func (l *Loader) strip(in int, p Part) checkpoint.Strip {
	w := l.want(p.Name+"weight", p.Shape(in)...)
	w.Transposed, w.Item = l.transposed, p.Item
	return checkpoint.Strip{Part: p, Weight: w}
}

// together are linear layers that multiply the same rows, one for each part. Weights of int8 have
// one balance.
func (l *Loader) together(in int, bias bool, parts ...Part) []*Linear {
	at := *l
	at.balanced = slices.Clone(parts)
	for i := range at.balanced {
		at.balanced[i].Complete() // or Stacked fails
	}
	layers := make([]*Linear, len(parts))
	for i, p := range parts {
		layers[i] = at.Stacked(in, bias, p)
	}
	return layers
}

// alike reports whether the weights with the given prefixes are to be held in the same format.
func (l *Loader) alike(prefixes ...string) bool {
	var names []string
	for _, p := range prefixes {
		names = append(names, l.prefix+p+"weight")
	}
	return l.plan.Alike(l.rowByRow, names...)
}

// LinearOf returns the linear layer with tensors of l, some of which may be missing. It does not
// keep weight, [out, in].
func (l *Loader) LinearOf(in, out int, weight, bias []float32) *Linear {
	if l.Failed() || l.Fail(checkLinear(in, out, weight, bias)) {
		return nil
	}
	return &Linear{in, out, bias, l.plan.Packed(l.want("weight"), l.rowByRow, in, out, weight)}
}

// Tied returns the projection to the vocabulary whose weight the configuration ties to the
// embedding: the two are one matrix in memory, from which the embedding takes its vectors. The
// projection has a separate matrix if the checkpoint has a tensor weight with other elements, or if
// [Loader.Add], [Loader.Replace] or [Loader.SetRows] changed only one of the two. If the checkpoint
// has only the tensor weight, the embedding takes that. These are the rules of transformers 5.
func (l *Loader) Tied(e *Embedding, bias []float32) *Linear {
	if l.Stopped() || e == nil {
		return nil
	}
	w := l.want("weight", e.Vocab, e.Dim)
	if l.plan.HasRows(e.table) {
		switch {
		case bias != nil:
			l.Fail(check.Errorf(fault.ErrConfig, "%s: rows in place of those of its table, and a bias, which peft leaves out then: not supported", l.Name()))
			return nil
		case l.plan.HasTerms(w.Tensor):
			l.Fail(check.Errorf(fault.ErrConfig, "%s: rows in place of those of its table, to which an adapter adds: not supported", l.Name()))
			return nil
		}
	}
	w, apart, ok := l.plan.Tie(e.table, w)
	switch {
	case !ok:
		return nil
	case !apart:
		return &Linear{e.Dim, e.Vocab, bias, l.plan.Share(e.table)}
	}
	s := checkpoint.Strip{Part: Part{Rows: e.Vocab}, Weight: w}
	if s.Complete(); !l.plan.Open(&s) {
		return nil
	}
	return &Linear{e.Dim, e.Vocab, bias, l.plan.Matrix(checkpoint.Stack{In: e.Dim, Strips: []checkpoint.Strip{s}, RowByRow: l.rowByRow})}
}

// TiedEmbedding returns the table that the configuration ties to e: e itself, or a separate table
// where [Loader.Tied] would use another matrix.
func (l *Loader) TiedEmbedding(e *Embedding) *Embedding {
	if l.Stopped() || e == nil {
		return e
	}
	w, apart, ok := l.plan.Tie(e.table, l.want("weight", e.Vocab, e.Dim))
	if !ok || !apart {
		return e
	}
	return &Embedding{Vocab: e.Vocab, Dim: e.Dim, table: l.plan.Table(w, l.rowByRow)}
}

// Embedding returns the table in the tensor weight, [vocab, dim]. It has its vectors once Finish
// has returned.
func (l *Loader) Embedding(vocab, dim int) *Embedding {
	if l.Fail(check.Positive("embedding "+l.Name(), check.Size("vocabulary", vocab), check.Size("dim", dim))) {
		return nil
	}
	return &Embedding{Vocab: vocab, Dim: dim, table: l.plan.Table(l.want("weight", vocab, dim), l.rowByRow)}
}

// A Holding describes the weights of a linear layer, or a table of vectors: by the name in the
// model, by which formats are chosen, the tensor's in the checkpoint, the number of its elements
// that are held, and their format.
type Holding = checkpoint.Holding

// Holdings lists the weights that Finish will read and pack, in the order in which parts asked for
// them, tables last. From it callers can compute the memory that they will take.
func (l *Loader) Holdings() []Holding { return l.plan.Holdings() }

// Limit makes Tensor fail, with an error that matches [fault.ErrMemory], once the tensors that it
// has read take more than n bytes; 0: no limit.
func (l *Loader) Limit(n int64) { l.plan.Limit(n) }

// A Ready says in which folder [Loader.Finish] keeps packed weights, and, after it has returned,
// what it found there. The caller sets Dir, the folder; Source, a string that differs where the
// tensors do, such as paths, sizes and times of files; Note, a text for people; and Copied, by
// which the file is read into memory in place of being mapped. Finish sets Path, that of the file;
// Hit, whether the weights are those of a file that was there; Old, why a file that was there did
// not count; and Err, why there is no file now, which Finish does not return.
type Ready = checkpoint.Ready

// Ready makes Finish look in r.Dir for a file with the packed weights, and map it: weights are then
// not read from the checkpoint, and are one copy in memory for all processes. If there is none,
// Finish packs the weights and writes the file. A file counts only for the same release, names,
// sizes, formats, version of the numerics and layout of packed weights, for the same r.Source, and
// for the same numbers in three rows of each tensor. Why a file that is there does not count, and
// why none can be written, are not errors of Finish, but r.Old and r.Err.
func (l *Loader) Ready(r *Ready) { l.plan.Ready = r }

// ReadyExt is the end of the names of files with packed weights.
const ReadyExt = checkpoint.ReadyExt

// ReadyNote returns the note of a file with packed weights. The error matches fault.ErrFormat if
// the file is of another kind.
func ReadyNote(path string) (string, error) { return ready.Note(path) }

// Bytes returns the memory of all weights that parts have asked for so far, from l and all loaders
// of the same checkpoint: held is the memory after Finish, and most the largest amount while Finish
// reads, including scratch memory of all threads. choose, unless nil, replaces the argument of
// [Loader.Pack], to find out the memory of other formats. Call Bytes before Finish, which forgets
// the requests.
func (l *Loader) Bytes(choose Chooser) (held, peak int64) { return l.plan.Bytes(choose) }

// Check is Finish without reading the weights: it looks only at headers, and reports whether all
// weights are there. The layers cannot compute.
func (l *Loader) Check() error { return l.plan.Check(l.prefix) }

// Finish reads and packs the weights of linear layers and embeddings, if all are there, on all
// threads; layers can be used from then on. Its error is nil if every tensor was there in the right
// shape and none under the prefix is left over; otherwise it is a [*LoadError].
func (l *Loader) Finish() error { return l.plan.Finish(l.prefix) }

// load returns the result of a constructor: the part that f makes from the weights under prefix.
func load[T any](w Weights, prefix string, f func(l *Loader) *T) (*T, error) {
	l := NewLoader(w).At(prefix)
	part := f(l)
	if err := l.Finish(); err != nil {
		return nil, err
	}
	return part, nil
}
