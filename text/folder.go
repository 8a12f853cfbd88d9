// A model folder, and the windows of tokens that texts become.

package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/internal/windows"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// folder is what every pipeline has. But for the queue and the pool, it does not change once open.
type folder struct {
	options
	fsys      fs.FS
	model     *models.Model
	tokenizer *tokenizer.Tokenizer // without truncation and padding of its own
	limit     int                  // most tokens of a text; 0: no limit
	pool      sync.Pool            // of *models.Workspace
	queue     queue.Queue          // of all calls that want texts computed
	settings  *settings            // of pipelines that generate
	totals    totals
}

// Tokenizer is the folder's tokenizer, nil where the pipeline takes no texts.
func (f *folder) Tokenizer() *tokenizer.Tokenizer { return f.tokenizer }

// Holdings are the weights of the model's linear layers and its tables, and the format of each.
func (f *folder) Holdings() []transformer.Holding { return f.model.Holdings }

// Footprint is the memory of the model.
func (f *folder) Footprint() models.Footprint { return f.model.Footprint }

// MaxTokens is the most tokens of a text, special ones included, after which the pipeline cuts, splits or refuses
// it; 0: no limit.
func (f *folder) MaxTokens() int { return f.limit }

// dirFS is the file system of a folder, or of the snapshot that refs/main of a
// folder in the hub's cache names.
func dirFS(dir string) (fs.FS, error) {
	dir = hub.Folder(dir)
	info, err := hub.Stat(dir)
	if err != nil {
		return nil, errorf("%w", err)
	}
	if !info.IsDir() && (strings.HasSuffix(dir, ".gguf") || gguf.Is(dir)) { // the former may be a pointer
		return ggufFile{dir}, nil
	}
	if !info.IsDir() {
		return nil, errorf("%s is no folder", dir)
	}
	return os.DirFS(dir), nil
}

// ggufFile is a GGUF file in the place of a folder: there is nothing beside it.
type ggufFile struct{ path string }

func (g ggufFile) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// openTokenizer opens the tokenizer of a folder or a GGUF file.
func openTokenizer(fsys fs.FS, how tokenizer.Opening) (*tokenizer.Tokenizer, error) {
	g, ok := fsys.(ggufFile)
	if !ok {
		dir, err := models.TokenizerFolder(fsys)
		if err == nil {
			fsys, err = fs.Sub(fsys, dir)
		}
		if err != nil {
			return nil, err
		}
		return how.OpenFS(fsys)
	}
	f, err := gguf.Open(g.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return tokenizer.FromGGUF(f)
}

func openModel(fsys fs.FS, o models.Options) (*models.Model, error) {
	if g, ok := fsys.(ggufFile); ok {
		return o.Open(g.path)
	}
	return o.OpenFS(fsys)
}

// open opens a pipeline in a directory.
func open[T any](dir string, openFS func(fs.FS, ...Option) (T, error), opts []Option) (T, error) {
	var none T
	fsys, err := dirFS(dir)
	if err != nil {
		return none, err
	}
	p, err := openFS(fsys, opts...)
	if err != nil {
		return none, fmt.Errorf("%s: %w", dir, err)
	}
	return p, nil
}

// openFolder opens the model, and the tokenizer if one is wanted.
func openFolder(fsys fs.FS, pipeline string, opts []Option, withTokenizer bool) (*folder, error) {
	return openFolderWith(fsys, pipeline, opts, withTokenizer, nil)
}

// openFolderWith is openFolder with fields in the place of those of tokenizer_config.json.
func openFolderWith(fsys fs.FS, pipeline string, opts []Option, withTokenizer bool, fields map[string]json.RawMessage) (*folder, error) {
	o, err := newOptions(pipeline, opts)
	if err != nil {
		return nil, err
	}
	f := &folder{options: o, fsys: fsys}
	f.pool.New = func() any { return new(models.Workspace) }
	f.queue.Threads, f.queue.BatchTokens, f.queue.Spaces, f.queue.Observe = int(o.threads), o.batchTokens, &f.pool, o.batches
	// Side by side: a large vocabulary takes as long to read as the weights.
	var failed error
	var group sync.WaitGroup
	if withTokenizer {
		group.Go(func() {
			f.tokenizer, failed = openTokenizer(fsys, tokenizer.Opening{Fields: fields, AsWritten: o.asWritten})
		})
	}
	f.model, err = openModel(fsys, o.of())
	group.Wait()
	if err != nil {
		return nil, err
	}
	if failed != nil && f.model.Image != nil {
		return nil, errorf("a %s takes images, no texts", f.model.Config.ModelType)
	} else if characters := pipeline == "Transcriber" && f.model.CTC != nil; failed != nil && !characters { // whose vocabulary is another file
		return nil, failed
	} else if characters {
		withTokenizer = false
	}
	if err := f.checkFormats(); err != nil {
		return nil, err
	}
	if withTokenizer {
		for _, w := range f.tokenizer.Warnings() {
			f.warning(w)
		}
		f.limit = least(f.model.Config.MaxLength, f.tokenizer.Config().MaxLength)
		if s := f.model.Sentence; s != nil && s.NoSpecial { // tokenizer.json alone counts
			f.limit = 0
			if t := f.tokenizer.Truncation(); t != nil {
				f.limit = t.MaxLength
			}
		}
		f.tokenizer = f.tokenizer.WithPadding(nil).WithTruncation(nil)
	}
	return f, nil
}

// checkFormats returns an error if a pattern of WeightsOf matches no weights.
func (f *folder) checkFormats() error {
	for _, format := range f.options.formats {
		if held := f.model.Holdings; !slices.ContainsFunc(held, func(h transformer.Holding) bool {
			ok, _ := path.Match(format.Pattern, h.Name)
			return ok
		}) {
			return check.Option("WeightsOf", format.Pattern, "no weights have such a name; Holdings has the names")
		}
	}
	return nil
}

// warning hands a warning to the caller who asked for them.
func (f *folder) warning(w string) {
	if f.warn != nil {
		f.warn(w)
	}
}

// least is the smaller of two limits of which 0 is none.
func least(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// setLimit applies a limit of the folder's and the caller's, which may not be more than the folder's.
func (f *folder) setLimit(n int) error {
	limit := least(f.limit, n)
	if limit > 0 && f.maxLength > limit {
		return check.Option("MaxLength", f.maxLength, "the model takes at most %d tokens", limit)
	}
	f.limit = least(limit, f.maxLength)
	return nil
}

// plainTokens asks for tokens without special ones.
var plainTokens = tokenizer.Options{NoSpecial: true}

// errorf is an error about the folder.
func errorf(format string, args ...any) error {
	return check.Errorf(ErrFolder, format, args...)
}

// fileError is an error about a field of a file; of the file itself without a field.
func fileError(file, field, value, format string, args ...any) error {
	return &Error{Kind: ErrConfig, File: file, Field: field, Value: check.Short(value), Err: fmt.Errorf(format, args...)}
}

// jsonError is an error of reading a file of JSON.
func jsonError(file string, err error) error {
	var wrong *pyjson.TypeError
	if errors.As(err, &wrong) {
		return fileError(file, wrong.Path, wrong.Have, "want %v", wrong.Want)
	}
	return fileError(file, "", "", "%w", err)
}

// readJSON fills into from a file, if there is one.
func (f *folder) readJSON(name string, into any) error {
	data, err := regular.ReadFile(f.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return check.InFile(name, ErrFolder, err)
	}
	if err := pyjson.Unmarshal(data, into); err != nil {
		return jsonError(name, err)
	}
	return nil
}

// splitter makes windows of at most limit tokens, of which 0 is no limit, as the options say.
func (f *folder) splitter(limit int, opts tokenizer.Options) windows.Splitter {
	return f.how(limit, opts).Splitter()
}

func (f *folder) how(limit int, opts tokenizer.Options) windows.How {
	return windows.How{Tokenizer: f.tokenizer, Options: opts, Limit: limit, Long: f.long, Stride: f.stride}
}

// workspace is one for a computation on some threads; it goes back to the pool.
func (f *folder) workspace(threads kernels.Threads) *models.Workspace {
	ws := f.pool.Get().(*models.Workspace)
	ws.Threads = threads
	return ws
}
