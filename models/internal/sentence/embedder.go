package sentence

import (
	"maps"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/transformer"
)

// This file computes vectors of sentences as the modules of sentence-transformers do; modules.go
// reads what the modules are.

// Encoder turns tokens into hidden states.
type Encoder interface {
	Dim() int // width of the hidden states
	// Encode sets dst, [rows, Dim], to the hidden states of the last layer.
	Encode(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error
}

// A PositionLimiter is an Encoder with a number of positions, which no text exceeds; 0: any length.
type PositionLimiter interface{ PositionLimit() int }

// A RestHider is an Encoder that reads transformer.Tokens.Visible, which hides some tokens of a
// text from the others.
type RestHider interface{ HidesRest() }

// Head turns hidden states into logits, as models.Head does.
type Head interface {
	Out() int
	Forward(ws *transformer.Workspace, dst, x []float32, in transformer.Tokens) error
}

// An Embedder makes one vector of a text, by the modules that sentence-transformers' modules.json
// lists after the encoder: pooling, dense layers, normalization.
type Embedder struct {
	// MaxLength is the most tokens of a text where the files of sentence-transformers say it, which
	// then counts instead of what the tokenizer and config.json say; else 0.
	MaxLength int
	// QueryLength and DocumentLength take the place of MaxLength for queries and documents, unless 0.
	QueryLength, DocumentLength int
	// MaxActive is the most elements of a sparse vector, which are then the largest ones; 0: no
	// limit.
	MaxActive int
	// LowerCase says whether texts and prompts become lower case.
	LowerCase bool
	// Prompts go before texts, by their names. DefaultPrompt is the name of the prompt for texts
	// for which the caller does not name one; "" if there is no such prompt.
	Prompts       map[string]string
	DefaultPrompt string
	// NoSpecial is whether texts become tokens without special ones around them.
	NoSpecial bool
	// NoUnknown is whether the tokens of what the vocabulary lacks do not count. As in model2vec,
	// which has this rule, a text loses what is beyond MaxLength times the median number of
	// characters of a token before it becomes tokens, and MaxLength is 0 for no limit.
	NoUnknown bool
	// IncludePrompt is whether the tokens of a prompt before a text count, as they do unless the
	// folder says otherwise; see EmbedAfter.
	IncludePrompt bool

	encoder Encoder
	static  bool            // whether the encoder has no layers
	pools   []block.Pooling // joined
	means   bool            // pools is the mean alone
	rest    []layer
	others  []string // names of what modules give that is not the vector
	out     int      // width of what the modules give
	dim     int      // width of vectors, which may be cut

	allLayers bool // config.json has the encoder give the hidden states of all layers
	warnings  []string
}

// Normalized reports whether vectors have length 1.
func (s *Embedder) Normalized() bool {
	return s.dim == s.out && len(s.rest) > 0 && s.rest[len(s.rest)-1].scales()
}

// PoolsMean reports whether a text's vector is made of the mean of its hidden states. Then a part
// of a text has a vector too.
func (s *Embedder) PoolsMean() bool { return s.means }

// Raw returns the same embedder without the normalization at the end, if there is one.
func (s *Embedder) Raw() *Embedder {
	raw := *s
	if n := len(s.rest); n > 0 && s.rest[n-1].scales() {
		raw.rest = s.rest[:n-1]
	}
	return &raw
}

// layer is a dense layer with an activation, layer normalization, or else scaling to length 1.
type layer struct {
	dense    *transformer.Linear
	norm     *transformer.Norm
	act      func(t kernels.Threads, x []float32)
	residual bool // what the layer takes is added to what it gives
}

// scales reports whether the module scales vectors to length 1.
func (m *layer) scales() bool { return m.dense == nil && m.norm == nil }

// Dim returns the width of a vector.
func (s *Embedder) Dim() int { return s.dim }

// Embed sets dst, [sequences, Dim], to the vectors of texts.
func (s *Embedder) Embed(ws *transformer.Workspace, dst []float32, in transformer.Tokens) error {
	return s.EmbedAfter(ws, dst, in, 0)
}

// EmbedAfter is Embed without the hidden states of the first prompt tokens of each text in the
// vectors: those of a prompt that is not included.
func (s *Embedder) EmbedAfter(ws *transformer.Workspace, dst []float32, in transformer.Tokens, prompt int) error {
	defer ws.Release(ws.Mark())
	x := ws.Alloc(in.Batch.Rows() * s.encoder.Dim())    // [rows, D]
	if err := s.encoder.Encode(ws, x, in); err != nil { // [rows, D]
		return err
	}
	return s.poolBehind(ws, dst, x, in, prompt)
}

// Pool sets dst, [sequences, Dim], to the vectors of texts whose hidden states are x.
func (s *Embedder) Pool(ws *transformer.Workspace, dst, x []float32, batch transformer.Batch) error {
	return s.poolBehind(ws, dst, x, transformer.Tokens{Batch: batch}, 0)
}

func (s *Embedder) poolBehind(ws *transformer.Workspace, dst, x []float32, in transformer.Tokens, skip int) error {
	batch := in.Batch
	if len(dst) != batch.Len()*s.dim {
		return check.Errorf(fault.ErrShape, "%d elements for %d vectors of %d", len(dst), batch.Len(), s.dim)
	}
	defer ws.Release(ws.Mark())
	dim := s.encoder.Dim()
	width := len(s.pools) * dim
	y := ws.Alloc(batch.Len() * width) // [sequences, pools*D]
	one := ws.Alloc(batch.Len() * dim) // [sequences, D]
	for p, pool := range s.pools {
		if err := pool(one, x, in, dim, skip); err != nil {
			return err
		}
		for i := range batch.Len() {
			copy(y[i*width+p*dim:], one[i*dim:(i+1)*dim])
		}
	}
	y, width, err := applyModules(ws, s.rest, y, width)
	if err != nil {
		return err
	}
	for i := range batch.Len() {
		copy(dst[i*s.dim:(i+1)*s.dim], y[i*width:])
	}
	return nil
}

// Pooled returns the embedder of an encoder without files of sentence-transformers, with a mode of
// their Pooling, and a normalization after it or not.
func Pooled(encoder Encoder, mode string, normalize bool) (*Embedder, error) {
	pool, ok := block.Poolings[mode]
	if !ok {
		return nil, check.Option("Pooling", mode, "want one of %s", strings.Join(slices.Sorted(maps.Keys(block.Poolings)), ", "))
	}
	dim := encoder.Dim()
	s := &Embedder{IncludePrompt: true, encoder: encoder, pools: []block.Pooling{pool}, means: mode == "mean", out: dim, dim: dim}
	if normalize {
		s.rest = []layer{{}}
	}
	return s, nil
}

// PooledAndNormalized returns the embedder of a GGUF file with a pooling and the dense layers after
// it. Such files do not say whether vectors have length 1; every program that reads them normalizes
// the vectors.
func PooledAndNormalized(encoder Encoder, pool block.Pooling, dense ...*transformer.Linear) *Embedder {
	s := &Embedder{IncludePrompt: true, encoder: encoder, pools: []block.Pooling{pool}, out: encoder.Dim()}
	for _, d := range dense {
		s.rest, s.out = append(s.rest, layer{dense: d}), d.Out
	}
	s.rest, s.dim = append(s.rest, layer{}), s.out
	return s
}

// applyModules passes x, [rows, width], which it writes to, through modules, and gives their output
// and its width.
func applyModules(ws *transformer.Workspace, modules []layer, x []float32, width int) ([]float32, int, error) {
	for _, module := range modules {
		if module.scales() {
			block.NormalizeRows(x, width)
			continue
		}
		if module.norm != nil {
			if err := module.norm.Forward(ws, x, x); err != nil { // [rows, width]
				return nil, 0, err
			}
			continue
		}
		y := ws.Alloc(len(x) / width * module.dense.Out)       // [rows, out]
		if err := module.dense.Forward(ws, y, x); err != nil { // [rows, out]
			return nil, 0, err
		}
		if module.act != nil {
			module.act(ws.Threads, y)
		}
		if module.residual {
			ws.Threads.Add(y, y, x)
		}
		x, width = y, module.dense.Out
	}
	return x, width, nil
}

// Empty returns the vector of a text without tokens, of which no hidden states are the mean: what
// the modules after the pooling make of zeros.
func (s *Embedder) Empty(ws *transformer.Workspace) ([]float32, error) {
	defer ws.Release(ws.Mark())
	width := len(s.pools) * s.encoder.Dim()
	x := ws.Alloc(width)
	clear(x)
	y, _, err := applyModules(ws, s.rest, x, width)
	if err != nil {
		return nil, err
	}
	return slices.Clone(y[:s.dim]), nil
}
