// What every pipeline has.

package text

import (
	"context"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// base is what every pipeline has: a folder, its model, and the queue of its calls. But for the queue and the pool, it does not change once open.
type base struct {
	options   Options // with their defaults
	kind      Kind
	fsys      fs.FS
	identity  *identity
	model     *models.Model
	tokenizer *tokenizer.Tokenizer // without truncation and padding of its own
	limit     int                  // most tokens of a text; 0: no limit
	pool      sync.Pool            // of *models.Workspace
	queue     queue.Queue          // of all calls that want texts computed
	totals    totals
}

// Kind is that of the pipeline.
func (f *base) Kind() Kind { return f.kind }

// Tokenizer is the folder's tokenizer, nil where the pipeline takes no texts.
func (f *base) Tokenizer() *tokenizer.Tokenizer { return f.tokenizer }

// Holdings are the weights of the model's linear layers and its tables, and the format of each.
func (f *base) Holdings() []transformer.Holding { return f.model.Holdings }

// Footprint is the memory of the model.
func (f *base) Footprint() models.Footprint { return f.model.Footprint }

// MaxTokens is the most tokens of a text, special ones included, after which the pipeline cuts, splits or refuses
// it; 0: no limit.
func (f *base) MaxTokens() int { return f.limit }

// Fingerprint is a short string for everything that results depend on beside the input, MODEL-FORMAT-NUMERICS, such as
// 3b6a27bcceb6a42d62a3-int8-2.avx2: the SHA-256 of the files that the pipeline was opened from and of its adapters; the format of
// the weights, followed by a checksum of all further options that change results; and the version of the numerics.
// Programs and machines with the same fingerprint give the same results; doc/reproducibility.md says more.
//
// The first call reads every byte of the files, at 1 to 2 GB/s for each file and processor, and returns an error that
// matches [fault.ErrFolder] if one has changed since the pipeline was opened. Later calls return at once.
func (f *base) Fingerprint(ctx context.Context) (string, error) { return f.identity.fingerprint(ctx) }

// openBase opens the model of a pipeline, and the tokenizer if it takes texts. fields, which may be nil, go before those of
// tokenizer_config.json.
func openBase(fsys fs.FS, r record, o Options, fields map[string]json.RawMessage) (*base, error) {
	o, err := o.settled(r.KindInfo)
	if err != nil {
		return nil, err
	}
	f := &base{options: o, kind: r.kind, fsys: fsys, identity: identify(fsys, &o)}
	f.pool.New = func() any { return new(models.Workspace) }
	f.queue.BatchTokens, f.queue.Observe = o.BatchTokens, o.OnBatch
	f.queue.Replicas = []*queue.Replica{{Threads: o.Threads}}
	// Side by side: a large vocabulary takes as long to read as the weights.
	var failed error
	var group sync.WaitGroup
	if !r.Images {
		group.Go(func() {
			f.tokenizer, failed = folder.Tokenizer(fsys, tokenizer.Opening{Fields: fields, AsWritten: o.TokenizerAsWritten})
		})
	}
	f.model, err = folder.Model(fsys, o.Model)
	group.Wait()
	if err != nil {
		return nil, err
	}
	wordless := r.Images || r.wordless != nil && r.wordless(f.model)
	if failed != nil && f.model.Image != nil {
		return nil, folder.Errorf("a %s takes images, no texts", f.model.Config.ModelType)
	} else if failed != nil && !wordless {
		return nil, failed
	}
	if err := f.checkFormats(); err != nil {
		return nil, err
	}
	if !wordless {
		f.settleTokenizer()
	}
	return f, nil
}

// openFitting is openBase for a model that has what the kind needs.
func openFitting(fsys fs.FS, r record, o Options) (*base, error) {
	f, err := openBase(fsys, r, o, nil)
	if err != nil {
		return nil, err
	}
	return f, r.check(f.model)
}

// settleTokenizer takes the limit of a text out of the tokenizer, which neither pads nor cuts from now on.
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

// warning hands a warning to the caller who asked for them.
func (f *base) warning(w string) {
	if warn := f.options.Model.Warn; warn != nil {
		warn(w)
	}
}

// least is the smaller of two limits, where 0 means no limit.
func least(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// setLimit applies a limit of the folder's and the caller's, which may not be more than the folder's.
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
	return windows.How{Tokenizer: f.tokenizer, Options: opts, Limit: limit, Long: long, Stride: f.options.Stride}
}

// workspace is one for a computation on some threads; it goes back to the pool.
func (f *base) workspace(threads kernels.Threads) *models.Workspace {
	ws := f.pool.Get().(*models.Workspace)
	ws.Threads = threads
	return ws
}

type totals struct{ inputs, tokens, cut, split atomic.Uint64 }

// Totals says what all calls of the pipeline have computed with. It is safe for concurrent use.
func (f *base) Totals() Totals {
	t := &f.totals
	return Totals{t.inputs.Load(), t.tokens.Load(), t.cut.Load(), t.split.Load()}
}
