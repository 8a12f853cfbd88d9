package transformer

import (
	"errors"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// A Loader provides the parts of a model with the tensors of a checkpoint, and notes everything that is wrong: [Loader.Finish] reports all
// of it at once. Methods return nil for a tensor that is missing or does not fit. Loading then continues, and finds further errors. It
// allocates no memory for missing tensors, whose sizes may come from a hostile configuration.
//
// A Loader stands for a scope: the tensors whose names begin with its prefix.
type Loader struct{ at checkpoint.Scope }

// NewLoader returns the loader of all tensors of a checkpoint. Names that no part asks
// for are left over, except known buffers: position_ids, attn.bias (GPT-2's causal
// mask), inv_freq and num_batches_tracked.
func NewLoader(w Weights) *Loader { return &Loader{checkpoint.New(w)} }

// At returns the loader of a part of the model: of the names that begin with prefix, which usually ends with a dot. Verbs in prefix are
// formatted with args.
func (l *Loader) At(prefix string, args ...any) *Loader {
	if len(args) > 0 {
		prefix = fmt.Sprintf(prefix, args...)
	}
	return &Loader{l.at.At(prefix)}
}

// Under returns the loader under the first of the prefixes that has the tensor name, or under the first prefix if none has. Checkpoints of
// the same model have names with and without the prefix of a head's module.
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
	t.at.Transposed = true
	return &t
}

// RowByRow returns l for linear layers whose results decide something, such as routers. The function of [Loader.Pack] is called for them as
// for tables, and they have no second copy.
func (l *Loader) RowByRow() *Loader {
	r := *l
	r.at.RowByRow = true
	return &r
}

// Integers returns l for tensors that may be integers, which become the same numbers in float32. Elsewhere integers are an error, because
// the weights of a quantized model also have scales.
func (l *Loader) Integers() *Loader {
	i := *l
	i.at.Integers = true
	return &i
}

// A Chooser returns the format in which a model holds the named weight, such as "layers.0.mlp.up_proj.weight", which the checkpoint has in
// the format stored. The weight is that of a linear layer, or a table of vectors that no projection shares.
type Chooser func(name string, stored kernels.Format, table bool) kernels.Format

// Pack makes l, and all loaders of the same checkpoint, hold weights in the formats that choose returns. Without Pack, linear layers are
// kernels.FormatF32, and tables have the stored format.
func (l *Loader) Pack(choose Chooser) { l.at.Pack(choose) }

// PackMany makes linear layers of l, and of all loaders of the same checkpoint, hold a second copy of their weights, in the format that
// choose returns for the format of the first copy. Products of [ManyRows] rows or more use the second copy. Where choose returns the same
// format there is no second copy.
func (l *Loader) PackMany(choose Chooser) { l.at.PackMany(choose) }

// ManyRows is the least number of rows for which products use the copy of [Loader.PackMany].
const ManyRows = checkpoint.ManyRows

// Rename makes l and all loaders of the same checkpoint look up f(name) instead of name.
func (l *Loader) Rename(f func(name string) string) { l.at.Rename(f) }

// Ignore allows tensors to be left over if their names under the prefix match one of the patterns, as in path.Match.
func (l *Loader) Ignore(patterns ...string) { l.at.Ignore(patterns...) }

// Name returns the scope's prefix, without the dot that joins it to its tensors.
func (l *Loader) Name() string { return l.at.Name() }

// Has reports whether the checkpoint lists the named tensor.
func (l *Loader) Has(name string) bool { return l.at.Has(name) }

// Shape returns the shape of the named tensor, and false if there is none or the weights do not know it.
func (l *Loader) Shape(name string) ([]int, bool) { return l.at.Shape(name) }

// Fail notes that the model cannot be made. It returns whether err is not nil.
func (l *Loader) Fail(err error) bool { return l.at.Fail(err) }

// Failed reports whether something is wrong already, so that there will be no model.
func (l *Loader) Failed() bool { return l.at.Errors() > 0 }

// Stopped is Failed for a loop that stops if it is true: the tensors of the parts that it does not make do not count as left over.
func (l *Loader) Stopped() bool {
	if !l.Failed() {
		return false
	}
	l.at.Cut()
	return true
}

// Tensor returns the elements of the named tensor, in row-major order. They belong to
// the caller unless the weights are a TensorMap.
func (l *Loader) Tensor(name string, shape ...int) []float32 { return l.at.Tensor(name, shape...) }

// Optional returns the tensor if wanted, else nil.
func (l *Loader) Optional(wanted bool, name string, shape ...int) []float32 {
	if !wanted {
		return nil
	}
	return l.Tensor(name, shape...)
}

// A LowRank is the term that an adapter adds to a matrix: Scale*Left*Right.
type LowRank struct {
	Name        string    // for errors
	Left, Right []float32 // [rows, Rank] and [Rank, columns]
	Rank        int
	Scale       float32
	// Magnitude, unless nil, has for each row of the sum the length to which the row is scaled (Liu et al., 2024, "DoRA: Weight-Decomposed
	// Low-Rank Adaptation"). Nothing else can be added to such a matrix.
	Magnitude []float32
	// Tied adds the term of a table also to a projection that is tied to it.
	Tied bool
	// Beside, unless 0, is the number of an adapter that stays beside the weights of linear layers. It applies to sequences whose [History]
	// has this number, in passes that begin with [Workspace.Adapt].
	Beside int
	Format kernels.Format // of an adapter beside the weights: float32 or 16 bits
}

// Add adds d to the tensor that the checkpoint calls name, of a linear layer or a table of vectors, for every part that asks for it from
// now on. d has the shape in which the model multiplies, [out, in] or [vectors, dim], also where weights are stored transposed. The sum is
// computed in float32 when the tensor is read, and then held in the weights' format; this is not so for an adapter that stays beside the
// weights. Add keeps the slices of d. Its error matches fault.ErrShape if they do not form a matrix; [Loader.Finish] reports a shape that
// differs from the tensor's, and a tensor that no part asks for.
func (l *Loader) Add(name string, d LowRank) error { return l.at.Add(name, checkpoint.LowRank(d)) }

// A Replacement is a tensor that replaces one of the checkpoint's.
type Replacement struct {
	From Reader
	Name string // in From
	// Apart keeps the checkpoint's tensor for a projection that is tied to it.
	Apart bool
}

// Replace replaces the tensor that the checkpoint calls name, and may lack, for every part that asks for it from now on. [Loader.Finish]
// reports a shape that differs from the model's.
func (l *Loader) Replace(name string, by Replacement) {
	l.at.Replace(name, checkpoint.Replacement{From: by.From, Name: by.Name, Apart: by.Apart})
}

// Rows are vectors that replace vectors of a table.
type Rows struct {
	Name   string    // for errors
	At     []int     // which
	Values []float32 // [len(At), dim]
	// Tied also replaces them in a projection that is tied to the table.
	Tied bool
}

// SetRows replaces rows of the tensor that the checkpoint calls name, of a linear layer or a table of vectors, for every part that asks for
// it from now on. It keeps rows. The error matches fault.ErrShape if they are not whole rows; [Loader.Finish] reports rows that the tensor
// lacks.
func (l *Loader) SetRows(name string, rows Rows) error {
	return l.at.SetRows(name, checkpoint.Rows(rows))
}

// A Part is some rows of a linear layer's weight, and the same elements of its bias.
type Part struct {
	Name string // prefix of "weight" and "bias"
	Rows int
	// From and Of are for rows of a tensor that stacks several: the first of
	// them, and the number of all. Of 0: the tensor has Rows rows.
	From, Of int
	NoBias   bool // the bias of these rows is 0, and the checkpoint lacks it
	// Scale and BiasScale multiply weight and bias; 0: 1.
	Scale, BiasScale float32
	// Stack and Item are for a tensor that stacks several matrices, [Stack, Of, in]: the rows are those of matrix Item. Such a tensor's
	// bias, if there is one, belongs to no part. Stack 0: the tensor is one matrix.
	Stack, Item int
	// Step is the distance between the rows in the tensor; 0: 1.
	Step int
}

// Linear returns the layer with the tensors weight, [out, in], and bias, [out].
func (l *Loader) Linear(in, out int, bias bool) *Linear {
	return l.Stacked(in, bias, Part{Rows: out})
}

// Stacked returns the linear layer whose output has the outputs of several layers side by side.
func (l *Loader) Stacked(in int, bias bool, parts ...Part) *Linear {
	out, p := 0, make([]checkpoint.Part, len(parts))
	for i := range parts {
		p[i] = checkpoint.Part(parts[i])
		out += parts[i].Rows
	}
	weight, b := l.at.Stacked(in, bias, p)
	if weight == nil {
		return nil
	}
	return &Linear{in, out, b, weight}
}

// together are linear layers that multiply the same rows, one for each part. Weights of int8 have one balance.
func (l *Loader) together(in int, bias bool, parts ...Part) []*Linear {
	all := make([]checkpoint.Part, len(parts))
	for i, p := range parts {
		all[i] = checkpoint.Part(p)
	}
	at := Loader{l.at.Together(all)}
	layers := make([]*Linear, len(parts))
	for i, p := range parts {
		layers[i] = at.Stacked(in, bias, p)
	}
	return layers
}

// LinearOf returns the linear layer with tensors of l, some of which may be
// missing. It does not keep weight, [out, in].
func (l *Loader) LinearOf(in, out int, weight, bias []float32) *Linear {
	if l.Failed() || l.Fail(checkLinear(in, out, weight, bias)) {
		return nil
	}
	return &Linear{in, out, bias, l.at.Packed(in, out, weight)}
}

// Tied returns the projection to the vocabulary whose weight the configuration ties to the embedding: the two are one matrix in memory,
// from which the embedding takes its vectors. The projection has a separate matrix if the checkpoint has a tensor weight with other
// elements, or if [Loader.Add], [Loader.Replace] or [Loader.SetRows] changed only one of the two. If the checkpoint has only the tensor
// weight, the embedding takes that. These are the rules of transformers 5.
func (l *Loader) Tied(e *Embedding, bias []float32) *Linear {
	if l.Stopped() || e == nil {
		return nil
	}
	if l.at.HasRows(e.table) {
		switch {
		case bias != nil:
			l.Fail(check.Errorf(fault.ErrConfig, "%s: rows in place of those of its table, and a bias, which peft leaves out then: not supported", l.Name()))
			return nil
		case l.at.HasAdditions("weight"):
			l.Fail(check.Errorf(fault.ErrConfig, "%s: rows in place of those of its table, to which an adapter adds: not supported", l.Name()))
			return nil
		}
	}
	weight := l.at.Tied(e.table)
	if weight == nil {
		return nil
	}
	return &Linear{e.Dim, e.Vocab, bias, weight}
}

// TiedEmbedding returns the table that the configuration ties to e: e itself, or a separate table where [Loader.Tied] would use another
// matrix.
func (l *Loader) TiedEmbedding(e *Embedding) *Embedding {
	if l.Stopped() || e == nil {
		return e
	}
	if t := l.at.TiedTable(e.table); t != nil && t != e.table {
		return &Embedding{Vocab: e.Vocab, Dim: e.Dim, table: t}
	}
	return e
}

// Embedding returns the table in the tensor weight, [vocab, dim]. It has its vectors once Finish has returned.
func (l *Loader) Embedding(vocab, dim int) *Embedding {
	if l.Fail(check.Positive("embedding "+l.Name(), check.Size("vocabulary", vocab), check.Size("dim", dim))) {
		return nil
	}
	return &Embedding{Vocab: vocab, Dim: dim, table: l.at.Table(vocab, dim)}
}

// A Holding describes the weights of a linear layer, or a table of vectors.
type Holding struct {
	Name     string         // in the model, which what Pack was given decides by
	Tensor   string         // in the checkpoint
	Elements int            // of the tensor that are held
	Format   kernels.Format // to hold them in
}

// Holdings lists the weights that Finish will read and pack, in the order in which parts asked for them, tables last. From it callers can
// compute the memory that they will take.
func (l *Loader) Holdings() []Holding {
	held := l.at.Holdings()
	all := make([]Holding, len(held))
	for i, h := range held {
		all[i] = Holding(h)
	}
	return all
}

// Limit makes Tensor fail, with an error that matches [fault.ErrMemory], once the tensors that it has read take more than n bytes; 0: no
// limit.
func (l *Loader) Limit(n int64) { l.at.Limit(n) }

// Bytes returns the memory of all weights that parts have asked for so far, from l and all loaders of the same checkpoint: held is the
// memory after Finish, and most the largest amount while Finish reads, including scratch memory of all threads. choose, unless nil,
// replaces the argument of [Loader.Pack], to find out the memory of other formats. Call Bytes before Finish, which forgets the requests.
func (l *Loader) Bytes(choose Chooser) (held, peak int64) { return l.at.Bytes(choose) }

// Check is Finish without reading the weights: it looks only at headers, and reports whether all weights are there. The layers cannot
// compute.
func (l *Loader) Check() error { return loadError(l.at.Check()) }

// Finish reads and packs the weights of linear layers and embeddings, if all are there, on all threads; layers can be used from then on.
// Its error is nil if every tensor was there in the right shape and none under the prefix is left over; otherwise it is a [*LoadError].
func (l *Loader) Finish() error { return loadError(l.at.Finish()) }

// loadError returns an error of package checkpoint as one of this package.
func loadError(err error) error {
	if e := (*checkpoint.LoadError)(nil); errors.As(err, &e) {
		return &LoadError{e.Missing, e.Misshapen, e.LeftOver, e}
	}
	return err
}

// load returns the result of a constructor: the part that f makes from the weights under prefix.
func load[T any](w Weights, prefix string, f func(l *Loader) *T) (*T, error) {
	l := NewLoader(w).At(prefix)
	part := f(l)
	if err := l.Finish(); err != nil {
		return nil, err
	}
	return part, nil
}
