package models

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/transformer"
)

// What an architecture makes a model from, and the registry of architectures by model_type.

// A Checkpoint is what an architecture makes a model from.
type Checkpoint struct {
	Config Config              // what all configurations have
	Loader *transformer.Loader // of the weights; Open calls its Finish

	doc        configuration.Document // config.json
	build      Builder                // of the model type
	convention llamacpp.Convention    // of the tensors and of config.json
	options    Options
	folder     fs.FS // that it was read from; nil: there is none
	// instead maps tokens to the tokens that replace them: those for images and sound as padding.
	instead map[int]int
}

// newCheckpoint reads what all configurations have, and finds the architecture.
func newCheckpoint(doc, generation configuration.Document, o Options) (*Checkpoint, error) {
	config, err := common(doc, generation)
	if err != nil {
		return nil, err
	}
	build, ok := builderOf(config.ModelType)
	if !ok {
		return nil, &fault.Error{Kind: fault.ErrModelType, File: doc.Name, Field: "model_type", Value: strconv.Quote(config.ModelType), Err: fmt.Errorf("want one of %s", strings.Join(ModelTypes(), ", "))}
	}
	return &Checkpoint{Config: config, doc: doc, build: build, options: o}, nil
}

// Decode fills the struct that into points to from config.json, by the names in the json tags of
// its fields, including those of embedded structs. Absent and null fields keep the value that the
// struct has. An integer must be at least 1 and a floating-point number above 0, unless a tag min
// gives another minimum.
//
// A field of config.json that no call of Decode reads is an error if it would change what the model
// computes, by the table of transformers' configuration classes, and a warning of the [Model] if
// the table does not have it.
func (c *Checkpoint) Decode(into any) error { return c.doc.Decode(into) }

// Errorf returns an error about a field of config.json. It names the file, the field and its value,
// and matches fault.ErrConfig.
func (c *Checkpoint) Errorf(field, format string, args ...any) error {
	return c.doc.Errorf(field, format, args...)
}

// A Builder makes the model of a checkpoint. What is wrong with the weights it leaves to the
// Loader.
type Builder func(c *Checkpoint) (*Model, error)

var registry struct {
	sync.Mutex
	builders map[string]Builder
}

// Register makes Open use build for the model types, as config.json spells them. It panics if one
// of them is registered already.
func Register(build Builder, modelTypes ...string) {
	registry.Lock()
	defer registry.Unlock()
	if registry.builders == nil {
		registry.builders = map[string]Builder{}
	}
	for _, t := range modelTypes {
		if registry.builders[t] != nil {
			panic(fmt.Sprintf("models.Register: model type %q is registered already", t))
		}
		registry.builders[t] = build
	}
}

// ModelTypes lists the registered model types in alphabetical order.
func ModelTypes() []string {
	registry.Lock()
	defer registry.Unlock()
	var types []string
	for t := range registry.builders {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

func builderOf(modelType string) (Builder, bool) {
	registry.Lock()
	defer registry.Unlock()
	b, ok := registry.builders[modelType]
	return b, ok
}

// decoderModel returns the model of the decoder d with the head that the architecture names: the
// embedding itself to logits where the checkpoint ties the two; a classifier of each text by its
// last token that is not padding, or of each token; or none.
func (c *Checkpoint) decoderModel(d *block.Decoder, tied bool) (*Model, error) {
	m, err := c.decoderHead(d, tied)
	_, said := c.doc.Raw("is_causal") // settle reads it, since a language model must not have it
	if err == nil && m.LM == nil && said && c.doc.Empty("is_causal") && !slices.ContainsFunc(d.Windows, func(w int) bool { return w > 0 }) {
		clear(d.Masks) // of embedding models; with windows it is an error
	}
	return m, err
}

// decoderHead returns the model by what its architecture's name says of the head.
func (c *Checkpoint) decoderHead(d *block.Decoder, tied bool) (*Model, error) {
	lm := c.Loader.Under("weight", "lm_head.", "embed_out.")        // the latter for GPT-NeoX's
	classifier := c.Loader.Under("weight", "score.", "classifier.") // the latter for GPT-2's of tokens
	labels := func() *transformer.Linear {
		return c.classify(classifier, d.Tokens.Dim, classifier.Has("bias"))
	}
	switch c.Config.Head() {
	case "ForCausalLM", "LMHeadModel":
		if bare := c.Loader.Has("embed_tokens.weight"); bare && !tied && !lm.Has("weight") {
			return &Model{Encoder: block.CausalEncoder{Model: d}}, nil // embedding models are published so
		}
		if tied {
			d.Head = lm.Tied(d.Tokens, nil)
		} else {
			d.Head = lm.Linear(d.Tokens.Dim, d.Tokens.Vocab, false)
		}
		if d.Next != nil {
			d.Next.Head = d.Head
		}
		return &Model{LM: d}, nil
	case "Model":
		return &Model{Encoder: block.CausalEncoder{Model: d}}, nil
	case "ForSequenceClassification":
		pool, err := c.poolBeforePadding()
		return &Model{Encoder: block.CausalEncoder{Model: d}, Heads: Heads{HeadClassifier: &block.Head{Pool: pool, Last: labels()}}}, err
	case "ForTokenClassification":
		const field = "token_classification_bias" // absent: true
		if (c.doc.Has(field) || c.doc.IsNull(field)) && c.doc.Empty(field) && c.Loader.Has("score.bias") {
			return nil, c.doc.Errorf(field, "but the checkpoint has score.bias")
		}
		return &Model{Encoder: block.CausalEncoder{Model: d}, Heads: Heads{HeadTokenClassifier: &block.Head{Last: labels()}}}, nil
	case "ForRanking":
		head, err := c.ranking(d.Tokens.Dim)
		return &Model{Encoder: block.CausalEncoder{Model: d}, Heads: Heads{HeadRanking: head}}, err
	}
	return nil, c.unknownHead()
}

// ranking returns the projector of jina-reranker-v3 (Wang et al., 2025, "jina-reranker-v3: Last but
// Not Late Interaction for Document Reranking"), whose last width only its weight says.
func (c *Checkpoint) ranking(dim int) (*block.Head, error) {
	if c.Config.Architectures[0] != "JinaForRanking" {
		return nil, c.unknownHead()
	}
	first, last, out := c.Loader.At("projector.0."), c.Loader.At("projector.2."), 1
	if shape, ok := last.Shape("weight"); ok && len(shape) == 2 {
		out = shape[0]
	}
	c.Loader.Ignore("lm_head.weight")
	return &block.Head{Dense: first.Linear(dim, dim/2, false), Act: block.Activate(kernels.ActReLU), Last: last.Linear(dim/2, out, false)}, nil
}

// poolBeforePadding takes the last token of a text that is not pad_token_id, wherever in the text
// that stands, as transformers does; the last of all where there is no such token.
func (c *Checkpoint) poolBeforePadding() (block.Pooling, error) {
	pad := struct {
		Token int `json:"pad_token_id" min:"-1"`
	}{-1}
	if initial, ok := c.doc.Initial("pad_token_id"); ok && !c.doc.IsNull("pad_token_id") {
		if err := pyjson.Unmarshal([]byte(initial), &pad.Token); err != nil { // null leaves it
			return nil, err
		}
	}
	err := c.doc.Decode(&pad)
	return block.PoolAt(block.LastBut(pad.Token)), err
}

// classify returns the last layer of a classifier, whose labels are as many as the configuration
// names, or as its weight has rows.
func (c *Checkpoint) classify(l *transformer.Loader, in int, bias bool) *transformer.Linear {
	if len(c.Config.Labels) == 0 {
		n := 2 // the default of transformers
		if shape, ok := l.Shape("weight"); ok && len(shape) == 2 && shape[0] < 1<<20 {
			n = shape[0]
		}
		c.Config.Labels = configuration.LabelNames(n)
	}
	return l.Linear(in, len(c.Config.Labels), bias)
}

// vocabulary returns the last layer of a masked language model: decoder, whose weight is that of
// the embedding where the configuration ties them, and which has the tensor bias, or decoder.bias,
// which goes before it.
func (c *Checkpoint) vocabulary(l *transformer.Loader, words *transformer.Embedding, tied bool) *transformer.Linear {
	bias, copied := "bias", "decoder.bias"
	if l.Has(copied) {
		bias, copied = copied, bias
	}
	l.Ignore(copied)
	b := l.Tensor(bias, c.Config.Vocab)
	if tied {
		return l.At("decoder.").Tied(words, b)
	}
	return l.LinearOf(words.Dim, c.Config.Vocab, l.Tensor("decoder.weight", c.Config.Vocab, words.Dim), b)
}

// unknownHead returns the error of an architecture with a head that is not supported.
func (c *Checkpoint) unknownHead() error {
	return c.doc.Errorf("architectures", "this head is not supported")
}

// nameStackedExperts has the tensors that stack the matrices of experts, whose names end without a
// dot, as those of linear layers.
func (c *Checkpoint) nameStackedExperts() {
	c.Loader.Rename(func(name string) string {
		for _, part := range []string{".experts.gate_up_proj", ".experts.down_proj"} {
			if stem, ok := strings.CutSuffix(name, part+".weight"); ok {
				name = stem + part
			} else if stem, ok := strings.CutSuffix(name, part+".bias"); ok {
				name = stem + part + "_bias"
			}
		}
		return name
	})
}

// The heads of encoders: what the families of BERT have in common.

// ownHeads add the heads that a family has of its own, by the end of the class's name.
type ownHeads map[string]func() error

// heads adds the heads of a checkpoint: the family's own, or those that all families have, for
// labels of tokens and for answers to questions.
func (c *Checkpoint) heads(m *Model, own ownHeads) (*Model, error) {
	name := c.Config.Head()
	if add, ok := own[name]; ok {
		if err := add(); err != nil {
			return nil, err
		}
		return m, nil
	}
	switch name {
	case "Model":
	case "ForTokenClassification":
		m.Heads[HeadTokenClassifier] = &block.Head{Last: c.classify(c.Loader.At("classifier."), c.Config.Dim, true)}
	case "ForQuestionAnswering":
		m.Heads[HeadAnswer] = block.Answer(c.Loader, c.Config.Dim)
	default:
		return nil, c.unknownHead()
	}
	return m, nil
}

// ignoring returns a head that needs no tensors, and does not read those of other heads.
func (c *Checkpoint) ignoring(patterns ...string) func() error {
	return func() error {
		c.Loader.Ignore(patterns...)
		return nil
	}
}

// pooler adds the head for the pooler_output, whose dense layer l has, and returns the layer.
func (c *Checkpoint) pooler(m *Model, l *transformer.Loader) *transformer.Linear {
	dense := l.Linear(c.Config.Dim, c.Config.Dim, true)
	m.Heads[HeadPooler] = &block.Head{Pool: block.PoolFirst, Dense: dense, Act: block.Tanh}
	return dense
}

// sequenceLabels returns the head for labels of sequences: the hidden state of the first token goes
// through a dense layer, an activation and the layer that l has.
func (c *Checkpoint) sequenceLabels(dense *transformer.Linear, act func(t kernels.Threads, x []float32), l *transformer.Loader) Head {
	return &block.Head{Pool: block.PoolFirst, Dense: dense, Act: act, Last: c.classify(l, c.Config.Dim, true)}
}

// maskedWords returns the head for masked words: a dense layer to some width, an activation, a
// normalization, and the layer to the vocabulary.
func (c *Checkpoint) maskedWords(dense *transformer.Loader, width int, act kernels.Activation, norm *transformer.Norm, last *transformer.Linear) Head {
	return &block.Head{Dense: dense.Linear(c.Config.Dim, width, true), Act: block.Activate(act), Norm: norm, Last: last}
}

// projection returns the layer to the vocabulary in l, which has a bias. Its weight is the
// embedding where the two are tied.
func (c *Checkpoint) projection(l *transformer.Loader, words *transformer.Embedding, width int, tied bool) *transformer.Linear {
	if tied {
		return l.Tied(words, l.Tensor("bias", c.Config.Vocab))
	}
	return l.Linear(width, c.Config.Vocab, true)
}
