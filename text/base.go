// The fields and methods that every pipeline has.

package text

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/internal/topology"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/vision"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// base has the parts of every pipeline: a folder, its model, and the queue of its calls. Once it is
// open, only the queue, the pool and the totals change.
type base struct {
	options   Options // with their defaults
	kind      Kind
	info      KindInfo
	fsys      fs.FS
	identity  *identity
	model     *models.Model
	tokenizer *tokenizer.Tokenizer // without truncation and padding of its own
	limit     int                  // most tokens of a text; 0: no limit
	runes     int                  // unless 0, a text that is cut loses first what is beyond limit times as many characters
	pool      sync.Pool            // of *models.Workspace
	queue     queue.Queue          // of all calls that want texts computed
	shares    []topology.Share     // of the machine, one for each replica
	totals    totals
}

// Kind returns the kind of the pipeline.
func (f *base) Kind() Kind { return f.kind }

// Tokenizer returns the folder's tokenizer, nil where the pipeline takes no texts.
func (f *base) Tokenizer() *tokenizer.Tokenizer { return f.tokenizer }

// Holdings returns the weights of the model's linear layers and its tables, and the format of each.
func (f *base) Holdings() []transformer.Holding { return f.model.Holdings }

// Footprint returns the memory of the model.
func (f *base) Footprint() models.Footprint {
	return f.options.footprint(f.info, f.model, f.shares)
}

// MaxTokens returns the most tokens of a text, special ones included, after which the pipeline
// cuts, splits or refuses it; 0: no limit.
func (f *base) MaxTokens() int { return f.limit }

// Fingerprint returns a short string for everything except the input that results depend on:
// MODEL-FORMAT-NUMERICS, such as 3b6a27bcceb6a42d62a3-int8-5: the SHA-256 of the files that the
// pipeline was opened from and of its adapters; the format of the weights, followed by a checksum
// of everything else that changes results; and the version of the numerics. Programs and machines
// with the same fingerprint give the same results; doc/reproducibility.md says more.
//
// The first call reads every byte of the files, at 1 to 2 GB/s for each file and processor, and
// returns an error that matches [fault.ErrFolder] if one has changed since the pipeline was opened.
// Later calls return at once.
func (f *base) Fingerprint(ctx context.Context) (string, error) { return f.identity.fingerprint(ctx) }

// openBase opens the model of a pipeline, and the tokenizer if it takes texts. fields, which may be
// nil, go before those of tokenizer_config.json.
func openBase(fsys fs.FS, r record, o Options, fields map[string]json.RawMessage) (*base, error) {
	o, err := o.settled(r.KindInfo)
	if err != nil {
		return nil, err
	}
	f := &base{options: o, kind: r.kind, info: r.KindInfo, fsys: fsys, identity: identify(fsys, &o)}
	f.pool.New = func() any { return new(models.Workspace) }
	f.queue.Observe = o.OnBatch
	if f.shares, err = o.shares(); err != nil {
		return nil, err
	}
	for _, s := range f.shares {
		f.queue.Replicas = append(f.queue.Replicas, &queue.Replica{Threads: s.Threads, CPUs: s.CPUs})
	}
	// Side by side: a large vocabulary takes as long to read as the weights.
	var failed error
	var group sync.WaitGroup
	if !r.Images {
		group.Go(func() {
			f.tokenizer, failed = folder.Tokenizer(fsys, tokenizer.Opening{Fields: fields, AsWritten: o.TokenizerAsWritten, Ready: o.Model.Ready, ReadyCopy: o.Model.ReadyCopy})
		})
	}
	f.model, err = f.openOn(f.shares[0], o.Model.Warn)
	group.Wait()
	if err != nil {
		return nil, err
	}
	wordless := r.Images || r.wordless != nil && r.wordless(f.model)
	if failed != nil && f.model.Serves(models.UseImages) {
		return nil, folder.Errorf("a %s takes images, not texts", f.model.Config.ModelType)
	} else if failed != nil && !wordless {
		return nil, failed
	}
	f.queue.BatchTokens = o.batchTokens(f.model, f.Footprint().Weights)
	if err := f.checkFormats(); err != nil {
		return nil, err
	}
	if !wordless {
		f.settleTokenizer()
	}
	return f, nil
}

// Replicas returns the replicas of the pipeline; without the option there is one.
func (f *base) Replicas() []ReplicaInfo {
	all := make([]ReplicaInfo, len(f.shares))
	for i, w := range f.queue.Work() {
		s := f.shares[i]
		all[i] = ReplicaInfo{CPUs: s.CPUs, Node: s.Node, Threads: s.Threads, Busy: w.Busy, Batches: w.Batches, Tokens: w.Tokens}
	}
	return all
}

// shares returns the replicas' shares of the machine.
func (o *Options) shares() ([]topology.Share, error) {
	m := o.machine
	if m == nil {
		here := replica.Machine()
		m = &here
	}
	plan, threads := replica.Plan{N: o.Replicas, ByNode: o.ReplicaPerNode}, o.Threads
	if threads == 0 {
		threads = replica.Threads()
	}
	shares, err := plan.Shares(m, threads)
	if err != nil {
		return nil, check.Option("Replicas", plan, "%w", err)
	}
	return shares, nil
}

// footprint returns a model's, with all copies of its weights and what a pipeline of the kind takes
// while it computes. The options have their defaults.
func (o *Options) footprint(info KindInfo, m *models.Model, shares []topology.Share) models.Footprint {
	f := m.Footprint
	if first, _ := replica.Nodes(shares); o.CopyWeights {
		f.Weights *= int64(len(first))
	}
	if m.LM != nil && slices.Contains(info.Options, "CacheMemory") {
		f.Working = replica.Steps(m.LM.Dim(), m.LM.Vocab(), len(shares))
	} else if e := m.TextEncoder(); e != nil {
		f.Working = replica.Workspaces(e.Dim(), o.Threads, o.batchTokens(m, f.Weights))
	}
	if info.Images || o.Model.Images {
		f.Working += int64(o.MaxPixels) * vision.PixelBytes
	}
	return f
}

// checkMemory returns an error if the model's weights fit into the limit of the options, and what
// else there is afterwards does not: further copies of them, and batches.
func (f *base) checkMemory(m *models.Model) error {
	limit := f.options.Model.MemoryLimit
	if limit == 0 {
		return nil
	}
	need := f.options.footprint(f.info, m, f.shares)
	if need.Weights+need.Working <= limit {
		return nil
	}
	return &fault.Error{Kind: fault.ErrMemory, Field: "MemoryLimit", Value: fmt.Sprint(limit), Err: fmt.Errorf(
		"the weights take %d bytes, and computing on %d threads about %d: fewer threads, smaller batches, or fewer copies of the weights take less", need.Weights, f.options.Threads, need.Working)}
}

// copies returns the language models of the replicas: the model of the pipeline, or with
// CopyWeights one for each node.
func (f *base) copies() ([]models.LanguageModel, error) {
	all := make([]models.LanguageModel, len(f.shares))
	first, copyOf := replica.Nodes(f.shares)
	if !f.options.CopyWeights {
		first = first[:1]
	}
	nodes := []models.LanguageModel{f.model.LM}
	for _, i := range first[1:] {
		m, err := f.openOn(f.shares[i], nil)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, m.LM)
	}
	for i := range all {
		all[i] = nodes[min(copyOf[i], len(nodes)-1)]
	}
	return all, nil
}

// openOn opens the model, with threads that are bound to a share's CPUs if each node has a copy:
// then the memory is that of their node.
func (f *base) openOn(s topology.Share, warn func(string)) (*models.Model, error) {
	o := f.options.Model
	o.Warn = warn
	o.Planned = func(m *models.Model) error {
		if planned := f.options.Model.Planned; planned != nil {
			if err := planned(m); err != nil {
				return err
			}
		}
		return f.checkMemory(m)
	}
	o.ReadyCopy = o.ReadyCopy || f.options.CopyWeights // a mapping would be one for all nodes
	if f.options.CopyWeights && s.CPUs != nil {
		release, _ := machine.Bind(s.CPUs)
		defer release()
	}
	return folder.Model(f.fsys, o)
}

// openFitting is openBase for a model that has what the kind needs.
func openFitting(fsys fs.FS, r record, o Options) (*base, error) {
	f, err := openBase(fsys, r, o, nil)
	if err != nil {
		return nil, err
	}
	return f, r.check(f.model)
}

// settleTokenizer takes the limit of a text out of the tokenizer. The tokenizer no longer pads or
// cuts after that.
func (f *base) settleTokenizer() {
	for _, w := range f.tokenizer.Warnings() {
		f.warning(w)
	}
	f.limit = least(f.model.Config.MaxLength, f.tokenizer.Config().MaxLength)
	if s := f.model.Embedders.Sentence; s != nil && s.NoSpecial { // tokenizer.json alone counts
		f.limit = 0
		if t := f.tokenizer.Truncation(); t != nil {
			f.limit = t.MaxLength
		}
	}
	f.tokenizer = f.tokenizer.WithPadding(nil).WithTruncation(nil)
}

// checkFormats returns an error if a pattern of WeightFormats matches no weights.
func (f *base) checkFormats() error {
	for _, format := range f.options.Model.WeightFormats {
		if held := f.model.Holdings; !slices.ContainsFunc(held, func(h transformer.Holding) bool {
			ok, _ := path.Match(format.Pattern, h.Name)
			return ok
		}) {
			return check.Option("WeightFormats", format.Pattern, "no weights have such a name; Holdings has the names")
		}
	}
	return nil
}

// warning hands a warning to the function that the caller gave for warnings.
func (f *base) warning(w string) {
	if warn := f.options.Model.Warn; warn != nil {
		warn(w)
	}
}

// least returns the smaller of two limits, where 0 means no limit.
func least(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// setLimit applies a limit of the folder's and the caller's, which may not be more than the
// folder's.
func (f *base) setLimit(n int) error {
	limit := least(f.limit, n)
	if limit > 0 && f.options.MaxLength > limit {
		return check.Option("MaxLength", f.options.MaxLength, "the model takes at most %d tokens", limit)
	}
	f.limit = least(limit, f.options.MaxLength)
	return nil
}

// plainTokens asks for tokens without special ones.
var plainTokens = tokenizer.Options{NoSpecial: true}

// splitter makes windows of at most limit tokens, where 0 means no limit, as the options say.
func (f *base) splitter(limit int, opts tokenizer.Options) windows.Splitter {
	return f.how(limit, opts).Splitter()
}

func (f *base) how(limit int, opts tokenizer.Options) windows.How {
	long, _ := f.options.Long.windows()
	return windows.How{Tokenizer: f.tokenizer, Options: opts, Limit: limit, Long: long, Stride: f.options.Stride, Runes: f.runes}
}

// workspace is one for a computation on the threads of a replica; it goes back to the pool.
func (f *base) workspace() *models.Workspace {
	ws := f.pool.Get().(*models.Workspace)
	ws.Threads = kernels.Threads(f.shares[0].Threads)
	return ws
}

type totals struct{ inputs, tokens, cut, split atomic.Uint64 }

// Totals says what all calls of the pipeline have computed with. It is safe for concurrent use.
func (f *base) Totals() Totals {
	t := &f.totals
	return Totals{t.inputs.Load(), t.tokens.Load(), t.cut.Load(), t.split.Load()}
}
