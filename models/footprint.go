package models

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
)

// What memory a model takes, told from its configuration and the headers of its files.

// Footprint is the memory of a model in bytes: of its weights, and of the keys and values of texts that it generates. What
// else a program takes is not in it: the tokenizer, and workspaces, which depend on how many tokens are computed at a time. Nor
// are the dense layers that modules.json and the files of BGE-M3 add.
type Footprint struct {
	Weights int64 `json:"weights"` // as they are held
	Loading int64 `json:"loading"` // the most while they are read and packed
	// Token is the keys and values of one token in the format of Options.Cache, and Context those of a text of
	// Config.MaxLength tokens, which is less than as many times Token where layers have windows. They are 0 of models that generate nothing,
	// and Context is 0 where texts have no limit.
	Token   int64 `json:"token,omitempty"`
	Context int64 `json:"context,omitempty"`
	// MemoryRow is the keys and values of a hidden state of the encoder that the decoder attends to, if there is one.
	MemoryRow int64 `json:"memory_row,omitempty"`
}

// measure fills in the model's Footprint. It returns an error if that is above the limit.
func (c *Checkpoint) measure(m *Model, o Options) error {
	f := &m.Footprint
	if c.Loader.Failed() {
		return nil // which Finish tells
	}
	f.Weights, f.Loading = c.Loader.Bytes(nil)
	if d, ok := m.LM.(*decoder); ok {
		d.footprint(f, m.Config.MaxLength)
	}
	if o.MemoryLimit <= 0 || f.Loading <= o.MemoryLimit {
		return nil
	}
	return &check.Error{Kind: transformer.ErrMemory, Field: "MemoryLimit", Value: fmt.Sprint(o.MemoryLimit),
		Err: fmt.Errorf("loading takes %d bytes, the weights %d of them%s", f.Loading, f.Weights, c.smaller(f.Weights, o))}
}

// smaller says what would take less than some bytes of weights.
func (c *Checkpoint) smaller(weights int64, o Options) string {
	var ways []string
	for _, f := range []kernels.Format{kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ4_0} {
		other := o
		other.Weights = f
		if n, _ := c.Loader.Bytes(other.format); n < weights {
			ways = append(ways, fmt.Sprintf("%d in %v", n, f))
		}
	}
	note := ""
	if ways != nil {
		note = "; they would take " + strings.Join(ways, ", ")
	}
	if o.hasPrompts() {
		note += "; without Prompts there is no second copy"
	}
	return note
}

// footprint fills in what a history takes in a text of at most length tokens, 0 for no limit.
func (d *decoder) footprint(f *Footprint, length int) {
	for i, l := range d.layers {
		rows := length
		if w := d.windows[i]; w > 0 {
			rows = min(rows, w+transformer.PageRows) // of the page that begins the window, some are seen no more
		}
		token := l.CacheBytes(d.held)
		f.Token += token
		f.Context += token * int64((rows+transformer.PageRows-1)/transformer.PageRows*transformer.PageRows)
		f.MemoryRow += memoryBytes(l)
	}
}
