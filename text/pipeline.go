// This file has the methods of all pipelines, and opens a pipeline by its kind.

package text

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Pipeline has the methods of all pipelines. It is safe for concurrent use.
type Pipeline interface {
	Kind() Kind
	// Tokenizer is the folder's tokenizer, nil where the pipeline takes no texts.
	Tokenizer() *tokenizer.Tokenizer
	// MaxTokens is the most tokens of a text, special ones included, after which the pipeline cuts,
	// splits or refuses it; 0: no limit.
	MaxTokens() int
	// Fingerprint is a short string for everything that results depend on beside the input. The
	// first call reads all files of the model.
	Fingerprint(ctx context.Context) (string, error)
	// Footprint is the memory of the model.
	Footprint() models.Footprint
	// Totals says what all calls of the pipeline have computed with.
	Totals() Totals
	// Replicas are the copies of the model's execution, one without the option of that name.
	Replicas() []ReplicaInfo
	// Warm computes something small, so that the first call does not wait for what is made once,
	// and a model that fails does so before.
	Warm(ctx context.Context) error
}

// Totals has the counts of all calls of a pipeline so far: texts that failed are not counted, nor
// are texts that are generated.
type Totals struct {
	Inputs uint64 // texts, pairs and lists of tokens
	Tokens uint64
	Cut    uint64 // inputs that were cut, as Counts.Cut says
	Split  uint64 // inputs that were computed as several windows
}

// record describes a kind and opens its pipelines. The file of each pipeline has the record of its
// kind. It is returned by a function, because a variable would depend on its own initialisation.
type record struct {
	KindInfo
	kind Kind
	use  models.Use // which models of the kind serve, and for which KindOf returns the kind
	open func(fsys fs.FS, o Options) (Pipeline, error)
	// lacks completes the error for a model that does not serve the use: "has no head for ...".
	lacks string
	// wordless reports whether a model needs no tokenizer. If it is nil, all models of the kind
	// need one.
	wordless func(m *models.Model) bool
}

// opening returns open as a function that returns a Pipeline.
func opening[P Pipeline](open func(fsys fs.FS, o Options) (P, error)) func(fs.FS, Options) (Pipeline, error) {
	return func(fsys fs.FS, o Options) (Pipeline, error) {
		p, err := open(fsys, o)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

// check returns an error if a model is not one for the kind.
func (r record) check(m *models.Model) error {
	if m.Serves(r.use) {
		return nil
	}
	return folder.Errorf("a %s of %s %s", strings.Join(m.Config.Architectures, ", "), m.Config.ModelType, r.lacks)
}

// openIn opens a pipeline in a folder.
func openIn[P any](dir string, o Options, open func(fs.FS, Options) (P, error)) (P, error) {
	var none P
	fsys, err := o.folder(dir)
	if err != nil {
		return none, err
	}
	p, err := open(fsys, o)
	if err != nil {
		if strings.HasPrefix(err.Error(), dir+": ") { // a GGUF file's
			return none, err
		}
		return none, fmt.Errorf("%s: %w", dir, err)
	}
	return p, nil
}

// hello is a text to warm pipelines with.
const hello = "Hello, world."

// warmed returns the error of what Warm computes. That the model refuses the text, or wants an
// option, such as a language, is not one: the model is there.
func warmed(err error) error {
	if errors.Is(err, fault.ErrInput) || errors.Is(err, fault.ErrOption) {
		return nil
	}
	return err
}

// ReplicaInfo describes a replica of a pipeline, and its work.
type ReplicaInfo struct {
	CPUs    []int // that its threads are bound to; nil: none
	Node    int   // of NUMA, counted from 0 among those that the process may use
	Threads int
	Busy    int    // threads, or of a generator texts
	Batches uint64 // so far; of a generator steps
	Tokens  uint64 // so far
}
