package transformer

import (
	"errors"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer/internal/checkpoint"
)

// A Loader hands out the tensors of a checkpoint to the parts of a model, and
// keeps an account of them, so that everything wrong is reported at once by
// [Loader.Finish]. Its methods return nil for what is not there or does not fit;
// loading continues and finds what else is wrong, without memory for what is missing,
// whose sizes may be those of a hostile configuration.
//
// A Loader stands for a scope: the tensors whose names begin with its prefix.
type Loader struct{ at checkpoint.Scope }

// NewLoader returns the loader of all tensors of a checkpoint. Names that no part asks
// for are left over, except known buffers: position_ids, attn.bias (GPT-2's causal
// mask), inv_freq and num_batches_tracked.
func NewLoader(w Weights) *Loader { return &Loader{checkpoint.New(w)} }

// At returns the loader of a part of the model: of the names that begin with prefix,
// which ends with a dot unless names are cut elsewhere. Verbs in it are formatted with args.
func (l *Loader) At(prefix string, args ...any) *Loader {
	if len(args) > 0 {
		prefix = fmt.Sprintf(prefix, args...)
	}
	return &Loader{l.at.At(prefix)}
}

// Under returns the loader under the first of the prefixes under which there is the
// tensor name, or under the first of all: checkpoints of the same model have
// their names with and without that of a head's module in front.
func (l *Loader) Under(name string, prefixes ...string) *Loader {
	for _, p := range prefixes {
		if l.At(p).Has(name) {
			return l.At(p)
		}
	}
	return l.At(prefixes[0])
}

// Transposed is l for linear layers whose weights are stored [in, out], as in
// GPT-2's Conv1D.
func (l *Loader) Transposed() *Loader {
	t := *l
	t.at.Transposed = true
	return &t
}

// RowByRow is l for linear layers whose results decide something: [Loader.Pack]'s function is asked about them
// as about tables, and they have no second copy.
func (l *Loader) RowByRow() *Loader {
	r := *l
	r.at.RowByRow = true
	return &r
}

// Integers is l for tensors that may be integers, which become the same numbers in float32. Otherwise they are an error: the
// weights of a quantized model have scales beside them.
func (l *Loader) Integers() *Loader {
	i := *l
	i.at.Integers = true
	return &i
}

// A Chooser decides in which format a model holds a weight, such as
// "layers.0.mlp.up_proj.weight", that the checkpoint stores in another: of a linear layer, or
// of a table of vectors that no projection shares.
type Chooser func(name string, stored kernels.Format, table bool) kernels.Format

// Pack makes l, and all loaders made from the same checkpoint, hold weights in the formats that
// choose returns. Without, linear layers are kernels.FormatF32, and tables are as stored.
func (l *Loader) Pack(choose Chooser) { l.at.Pack(choose) }

// PackMany makes linear layers of l, and of all loaders made from the same checkpoint, hold a second copy of their weights in
// the format that choose returns for one held in another, and multiply with it where there are [ManyRows] rows and more. Where
// it returns the same format there is no copy.
func (l *Loader) PackMany(choose Chooser) { l.at.PackMany(choose) }

// ManyRows is from how many rows on products are with the copy of [Loader.PackMany].
const ManyRows = checkpoint.ManyRows

// Rename makes l and all loaders made from the same checkpoint look up what f
// makes of a name.
func (l *Loader) Rename(f func(name string) string) { l.at.Rename(f) }

// Ignore lets tensors be left over whose names match one of the patterns of
// path.Match under the prefix.
func (l *Loader) Ignore(patterns ...string) { l.at.Ignore(patterns...) }

// Name returns the scope's prefix, without the dot that joins it to its tensors.
func (l *Loader) Name() string { return l.at.Name() }

// Has reports whether the checkpoint lists the named tensor.
func (l *Loader) Has(name string) bool { return l.at.Has(name) }

// Shape is that of the named tensor, and false if there is none or the weights do not
// tell.
func (l *Loader) Shape(name string) ([]int, bool) { return l.at.Shape(name) }

// Fail notes that the model cannot be made. It returns whether err is not nil.
func (l *Loader) Fail(err error) bool { return l.at.Fail(err) }

// Failed reports whether something was wrong, so that there will be no model.
func (l *Loader) Failed() bool { return l.at.Errors() > 0 }

// Stopped is Failed for a loop that makes no more parts then: what these would have asked for does not count as left over.
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

// A LowRank is what an adapter adds to a matrix: Scale*Left*Right.
type LowRank struct {
	Name        string    // for errors
	Left, Right []float32 // [rows, Rank] and [Rank, columns]
	Rank        int
	Scale       float32
	// Magnitude, unless nil, is the length that each row of the sum is scaled to: Liu et al., 2024, "DoRA: Weight-Decomposed
	// Low-Rank Adaptation". Nothing else can be added to the matrix then.
	Magnitude []float32
	// Tied has what is added to a table added to a projection that is tied to it too.
	Tied bool
	// Beside, unless 0, is the number of an adapter that stays beside the weights of linear layers, for sequences
	// whose [History] has it, in passes that begin with [Workspace.Adapt].
	Beside int
	Format kernels.Format // in which it is held there: float32 or 16 bits
}

// Add makes the tensor that the checkpoint calls name, of a linear layer or a table of vectors, the sum of what is
// stored and d, for every part that asks for it from now on. d has the shape in which the model multiplies, [out, in]
// or [vectors, dim], also where weights are stored transposed. The sum is made in float32 as the tensor is read, and
// then held in the weights' format; what stays beside the weights is not counted. d's slices are kept. Its error
// matches fault.ErrShape if they make no matrix; [Loader.Finish] reports where the shape is another than the tensor's,
// and what no part asks for.
func (l *Loader) Add(name string, d LowRank) error { return l.at.Add(name, checkpoint.LowRank(d)) }

// A Replacement is a tensor in the place of one of the checkpoint.
type Replacement struct {
	From Reader
	Name string // in From
	// Apart leaves what the checkpoint has to a projection that is tied to the tensor.
	Apart bool
}

// Replace has another tensor in the place of the one that the checkpoint calls name, which it may lack, for every part that
// asks for it from now on. [Loader.Finish] reports a shape that is another than the model's.
func (l *Loader) Replace(name string, by Replacement) {
	l.at.Replace(name, checkpoint.Replacement{From: by.From, Name: by.Name, Apart: by.Apart})
}

// Rows is vectors in the place of those of a table.
type Rows struct {
	Name   string    // for errors
	At     []int     // which
	Values []float32 // [len(At), dim]
	// Tied has them in the place of those of a projection that is tied to the table too.
	Tied bool
}

// SetRows has rows in the place of those of the tensor that the checkpoint calls name, of a linear layer or a table of vectors,
// for every part that asks for it from now on. Rows is kept. The error matches fault.ErrShape if there are no whole rows;
// [Loader.Finish] reports rows that the tensor lacks.
func (l *Loader) SetRows(name string, rows Rows) error {
	return l.at.SetRows(name, checkpoint.Rows(rows))
}

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
	// Stack and Item are for a tensor that stacks several matrices, [Stack, Of, in], of which the rows are those
	// of Item. Its bias, if there is one, belongs to no part. Stack 0: it is one matrix.
	Stack, Item int
	// Step is how far apart the rows are in the tensor; 0: 1.
	Step int
}

// Linear returns the layer with the tensors weight, [out, in], and bias, [out].
func (l *Loader) Linear(in, out int, bias bool) *Linear {
	return l.Stacked(in, bias, Part{Rows: out})
}

// Stacked returns the linear layer whose output is that of several side by side.
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

// Tied returns the projection to the vocabulary whose weight the configuration ties to the embedding: the two are one matrix in
// memory, from which the embedding takes its vectors. Where the checkpoint has a tensor weight with other elements, or what
// [Loader.Add], [Loader.Replace] and [Loader.SetRows] were told is for one of the two, the projection has a matrix of its own.
// Where the checkpoint has the tensor weight and not the embedding's, the embedding is that. So does transformers 5.
func (l *Loader) Tied(e *Embedding, bias []float32) *Linear {
	if l.Stopped() || e == nil {
		return nil
	}
	if l.at.HasRows(e.table) {
		switch {
		case bias != nil:
			l.Fail(check.Errorf(fault.ErrConfig, "%s: rows in the place of those of its table, and a bias, which peft leaves out then: not supported", l.Name()))
			return nil
		case l.at.HasAdditions("weight"):
			l.Fail(check.Errorf(fault.ErrConfig, "%s: rows in the place of those of its table, to which an adapter adds: not supported", l.Name()))
			return nil
		}
	}
	weight := l.at.Tied(e.table)
	if weight == nil {
		return nil
	}
	return &Linear{e.Dim, e.Vocab, bias, weight}
}

// TiedEmbedding returns the table that the configuration ties to e: e, or a table of its own where [Loader.Tied] would have another
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

// Embedding returns the table in the tensor weight, [vocab, dim]. Its vectors are there once
// Finish has returned.
func (l *Loader) Embedding(vocab, dim int) *Embedding {
	if l.Fail(check.Positive("embedding "+l.Name(), check.Size("vocabulary", vocab), check.Size("dim", dim))) {
		return nil
	}
	return &Embedding{Vocab: vocab, Dim: dim, table: l.at.Table(vocab, dim)}
}

// A Holding is weights of a linear layer, or a table of vectors.
type Holding struct {
	Name     string         // in the model, which what Pack was given decides by
	Tensor   string         // in the checkpoint
	Elements int            // of the tensor that are held
	Format   kernels.Format // to hold them in
}

// Holdings lists the weights that Finish is to read and pack, in the order in which parts asked for them, tables last:
// for telling what memory they will take.
func (l *Loader) Holdings() []Holding {
	held := l.at.Holdings()
	all := make([]Holding, len(held))
	for i, h := range held {
		all[i] = Holding(h)
	}
	return all
}

// Limit has Tensor fail, with an error that matches [fault.ErrMemory], once the tensors that it read take more than n bytes; 0:
// there is no limit.
func (l *Loader) Limit(n int64) { l.at.Limit(n) }

// Bytes returns the memory of what l, and all loaders made from the same checkpoint, handed out so far: held once Finish has
// returned, and the most while it reads, whereof scratch memory of all threads is a part. choose takes the place of what [Loader.Pack] was
// given, for telling what other formats would take; nil: what that was. It is to be called before Finish, which forgets.
func (l *Loader) Bytes(choose Chooser) (held, peak int64) { return l.at.Bytes(choose) }

// Check is Finish that reads nothing: it reports whether all weights are there, by their headers. The layers cannot compute.
func (l *Loader) Check() error { return loadError(l.at.Check()) }

// Finish reads and packs the weights of linear layers and embeddings, if all are there, on
// as many threads as there are; layers can be used from then on. Its error is nil if
// every tensor was there in the right shape and none under the prefix is left over, else a
// [*LoadError].
func (l *Loader) Finish() error { return loadError(l.at.Finish()) }

// loadError returns an error of package checkpoint as one of this package.
func loadError(err error) error {
	if e := (*checkpoint.LoadError)(nil); errors.As(err, &e) {
		return &LoadError{e.Missing, e.Misshapen, e.LeftOver, e}
	}
	return err
}

// load returns the result of a constructor: the part that f makes of the weights under
// prefix.
func load[T any](w Weights, prefix string, f func(l *Loader) *T) (*T, error) {
	l := NewLoader(w).At(prefix)
	part := f(l)
	if err := l.Finish(); err != nil {
		return nil, err
	}
	return part, nil
}
