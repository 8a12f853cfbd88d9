package sentence

import (
	"cmp"
	"io/fs"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/transformer"
)

// Sparse vectors: of a text's tokens, or of the vocabulary's, each with a weight. SPLADE: Formal et
// al., 2021, "SPLADE: Sparse Lexical and Expansion Model for First Stage Ranking"; BGE-M3's: Chen
// et al., 2024, "M3-Embedding: Multi-Linguality, Multi-Functionality, Multi-Granularity Text
// Embeddings".

// splade is the vocabulary's weights by a masked language model: of each token of the vocabulary
// the largest of log(1+ReLU(logit)) over the text, or the sum.
type splade struct {
	logits Head
	sum    bool
	twice  bool // log(1+log(1+ReLU(logit)))
	most   int  // elements of a vector, the largest ones; 0: all
}

// Splade makes sparse vectors by a head of masked words as SPLADE does, an error of Weigh where
// that is nil.
func Splade(logits Head) SparseHead { return &splade{logits: logits} }

// spladeRows is how many rows have their logits at a time: a vocabulary of 250,000 has 32 MB for
// them.
const spladeRows = 32

func (s *splade) Weigh(ws *transformer.Workspace, x []float32, in transformer.Tokens, result func(i int, v SparseVector)) error {
	defer ws.Release(ws.Mark())
	if s.logits == nil {
		return check.Errorf(fault.ErrConfig, "no head of masked words, of which sparse vectors are made")
	}
	vocab, rows := s.logits.Out(), in.Batch.Rows()
	dim := len(x) / max(rows, 1)
	if len(x) != rows*dim {
		return check.Errorf(fault.ErrShape, "%d hidden states for %d rows", len(x), rows)
	}
	logits := ws.Alloc(min(spladeRows, rows) * vocab) // [rows, V]
	weights := ws.Alloc(vocab)                        // [V]
	vectors := make([]SparseVector, in.Batch.Len())
	for i := range vectors {
		clear(weights)
		for from := in.Batch.Start(i); from < in.Batch.Start(i+1); from += spladeRows {
			to := min(from+spladeRows, in.Batch.Start(i+1))
			part := transformer.Tokens{IDs: in.IDs[from:to], Batch: transformer.Uniform(1, to-from)}
			y := logits[:(to-from)*vocab] // [rows, V]
			if err := s.logits.Forward(ws, y, x[from*dim:to*dim], part); err != nil {
				return err
			}
			s.add(weights, y)
		}
		if !s.sum { // which grows with the logit: one for each token is enough
			for t, v := range weights {
				weights[t] = s.weight(v)
			}
		}
		vectors[i] = nonzero(weights).Largest(s.most)
	}
	for i, v := range vectors {
		result(i, v)
	}
	return nil
}

// add takes logits, [rows, V], into weights, [V], which are the largest logits above 0 unless they
// are sums.
func (s *splade) add(weights, logits []float32) {
	for ; len(logits) > 0; logits = logits[len(weights):] {
		for t, v := range logits[:len(weights)] {
			switch {
			case s.sum:
				weights[t] += s.weight(v)
			case v > weights[t] || v != v:
				weights[t] = v
			}
		}
	}
}

// weight is log(1+ReLU(logit)), NaN of NaN.
func (s *splade) weight(logit float32) float32 {
	if logit <= 0 {
		return 0
	}
	w := elementary.Log1p(float64(logit))
	if s.twice {
		w = elementary.Log1p(w)
	}
	return float32(w)
}

// nonzero returns the elements that are not 0.
func nonzero(dense []float32) SparseVector {
	v := SparseVector{}
	for t, w := range dense {
		if w != 0 {
			v = append(v, TokenWeight{Index: t, Value: w})
		}
	}
	return v
}

// tokenWeights are weights of a text's own tokens: of each the largest over the text.
type tokenWeights struct {
	linear *transformer.Linear // to one number, of which ReLU is the weight
	skip   []int               // tokens that have no weight
}

func (h *tokenWeights) Weigh(ws *transformer.Workspace, x []float32, in transformer.Tokens, result func(i int, v SparseVector)) error {
	defer ws.Release(ws.Mark())
	y := ws.Alloc(in.Batch.Rows()) // [rows, 1]
	if err := h.linear.Forward(ws, y, x); err != nil {
		return err
	}
	for i := range in.Batch.Len() {
		of := map[int]float32{}
		for r := in.Batch.Start(i); r < in.Batch.Start(i+1); r++ {
			t := in.IDs[r]
			if w := max(y[r], 0); (w > of[t] || w != w) && !slices.Contains(h.skip, t) { // NaN stays NaN
				of[t] = w
			}
		}
		v := make(SparseVector, 0, len(of))
		for t, w := range of {
			v = append(v, TokenWeight{Index: t, Value: w})
		}
		slices.SortFunc(v, func(a, b TokenWeight) int { return cmp.Compare(a.Index, b.Index) })
		result(i, v)
	}
	return nil
}

// openSparse reads the modules of sentence-transformers' SparseEncoder, if the folder is one.
func (f *Files) openSparse(fsys fs.FS, m Parts) error {
	modules, err := modulesFor(fsys, "SparseEncoder")
	if err != nil || modules == nil || m.MaskedLM == nil { // without a head of masked words it is of another kind
		return err
	}
	first := modules[0].kind()
	switch {
	case first != "Transformer" && first != "MLMTransformer" || modules[0].Path != "":
		return moduleError(0, "type", modules[0].Type, "want a Transformer in the folder itself")
	case len(modules) != 2:
		return modulesError(fault.ErrConfig, "%d modules, want a Transformer and a SpladePooling", len(modules))
	case modules[1].kind() != "SpladePooling":
		return moduleError(1, "type", modules[1].Type, "want a SpladePooling")
	}
	s := &Embedder{encoder: m.Encoder, IncludePrompt: true}
	t := filling
	t.silent = first == "MLMTransformer"
	if err := s.readTransformer(fsys, m.ModelType, t); err != nil {
		return err
	}
	head, err := spladePooling(fsys, modules[1].Path, &s.warnings)
	if err != nil {
		return err
	}
	head.logits = m.MaskedLM
	if err := s.readSparse(fsys); err != nil {
		return err
	}
	head.most = s.MaxActive
	f.Sparse = head
	f.Warnings = append(f.Warnings, s.warnings...)
	f.Sentence = s
	return nil
}

// readSparse reads config_sentence_transformers.json for sparse vectors.
func (s *Embedder) readSparse(fsys fs.FS) error {
	doc, err := readWhole(fsys)
	if err != nil {
		return err
	}
	if err := s.readPrompts(doc, inEach); err != nil {
		return err
	}
	const field = "max_active_dims"
	if doc.Has(field) {
		if s.MaxActive, err = doc.Integer(field); err == nil && (s.MaxActive < 1 || string(doc.Fields[field]) == "true") {
			err = doc.Errorf(field, "want an integer above 0")
		}
		if err != nil {
			return err
		}
	}
	return s.settleWhole(doc, "SparseEncoder", "similarity_fn_name")
}

// spladePooling reads the configuration of the module SpladePooling.
func spladePooling(fsys fs.FS, dir string, warnings *[]string) (*splade, error) {
	doc, err := readModule(fsys, dir)
	if err != nil {
		return nil, err
	}
	raw := struct {
		Strategy   string `json:"pooling_strategy"`
		Activation string `json:"activation_function"`
	}{"max", "relu"}
	if err := cmp.Or(doc.Decode(&raw), doc.NoneNull("pooling_strategy", "activation_function"), doc.SettleBy("SpladePooling", warnings, "embedding_dimension", "word_embedding_dimension", "chunk_size")); err != nil {
		return nil, err
	}
	switch {
	case raw.Strategy != "max" && raw.Strategy != "sum":
		return nil, doc.Errorf("pooling_strategy", "want max or sum")
	case raw.Activation != "relu" && raw.Activation != "log1p_relu":
		return nil, doc.Errorf("activation_function", "want relu or log1p_relu")
	}
	return &splade{sum: raw.Strategy == "sum", twice: raw.Activation == "log1p_relu"}, nil
}
