package models

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/llamacpp"
	"github.com/avoformer/avoformer/models/internal/lora"
	"github.com/avoformer/avoformer/transformer"
)

// From a checkpoint to a model.

// A source is the tensors of a checkpoint.
type source struct {
	lora.Base
	llamacpp.Convention
	files  []fs.FileInfo            // of the weights; nil: they are not in files
	rename func(name string) string // from the model's names to those of the tensors; nil: they are the same
	spare  []string                 // patterns of the tensors that may be left over
	// remarks makes warnings of what is held; nil: there are none.
	remarks func(held []transformer.Holding) []string
}

// open makes the model of the tensors of s and the adapters of the options.
func (c *Checkpoint) open(s source) (*Model, error) {
	if err := c.options.check(); err != nil {
		return nil, err
	}
	if o := c.options; o.Importance != "" {
		return nil, check.Option("Importance", o.Importance, "only QuantizeGGUF reads importance matrices")
	}
	if c.doc.Has("_name_or_path") {
		_ = c.doc.Field("_name_or_path", &s.Name) // for a remark only
	}
	adapters, err := c.openAdapters(s.Base)
	if err != nil {
		return nil, err
	}
	defer adapters.Close()
	warnings := c.options.warn(adapters.Warnings()...)
	if c.Loader, err = s.loader(adapters, c.options); err != nil {
		return nil, err
	}
	c.convention = s.Convention
	ready, err := c.options.ready(s.files)
	if err != nil {
		return nil, err
	}
	c.Loader.Ready(ready)
	m, err := c.load(s, adapters.Names)
	if misfit := new(transformer.LoadError); s.File != "" && errors.As(err, &misfit) {
		return nil, check.InFile(s.File, fault.ErrFormat, err)
	}
	if err != nil {
		return nil, err
	}
	m.Warnings = append(warnings, m.Warnings...)
	if m.Ready = ready; ready == nil {
		return m, nil
	}
	if ready.Old != nil {
		m.Warnings = append(m.Warnings, c.options.warn(fmt.Sprintf("%s does not count: %v", ready.Path, ready.Old))...)
	}
	if ready.Err != nil {
		m.Warnings = append(m.Warnings, c.options.warn(fmt.Sprintf("no ready file in %s: %v", ready.Dir, ready.Err))...)
	}
	return m, nil
}

// loader returns the loader of the tensors, which adapters change, for the formats and the limit of
// o.
func (s source) loader(adapters *lora.Adapters, o Options) (*transformer.Loader, error) {
	l := transformer.NewLoader(s.Weights)
	if s.rename != nil {
		l.Rename(s.rename)
	}
	l.Ignore(s.spare...)
	l.Pack(o.format)
	if o.hasPrompts() {
		l.PackMany(o.prompts)
	}
	l.Limit(o.MemoryLimit)
	return l, adapters.AddTo(l)
}

// load plans the model, settles the account of the fields of config.json, compares the memory that
// the weights take with the limit, and checks, reads and packs them. names are those of the
// adapters that stay beside the weights.
func (c *Checkpoint) load(s source, names []string) (*Model, error) {
	m, err := c.plan()
	if err != nil {
		return nil, err
	}
	if m.Warnings, err = c.doc.Settle(m.idle); err != nil {
		return nil, err
	}
	if m.Config, m.Holdings = c.Config, c.Loader.Holdings(); s.remarks != nil {
		m.Warnings = append(m.Warnings, s.remarks(m.Holdings)...)
	}
	c.options.warn(m.Warnings...)
	if err := m.setCacheFormat(c.options.CacheFormat); err != nil {
		return nil, err
	}
	if err := m.holdAdapters(names); err != nil {
		return nil, err
	}
	if err := c.measure(m); err != nil {
		return nil, err
	}
	if planned := c.options.Planned; planned != nil && !c.Loader.Failed() {
		if err := planned(m); err != nil {
			return nil, err
		}
	}
	if c.options.HeadersOnly {
		return m, c.Loader.Check()
	}
	return m, c.Loader.Finish()
}

// plan makes the parts of the model, whose weights are read later.
func (c *Checkpoint) plan() (m *Model, err error) {
	if c.doc, err = c.doc.AccountFor(c.Config.ModelType); err != nil {
		return nil, err
	}
	if m, err = c.build(c); err != nil {
		return nil, err
	}
	if c.options.Images && m.Images == nil {
		return nil, check.Option("Images", true, "the images of %s are not supported", c.Config.ModelType)
	}
	if p, ok := m.LM.(MultiTokenPredictor); c.options.MTP && (!ok || p.Predictor() == nil) {
		return nil, check.Option("MTP", true, "%s has no layers here that predict further tokens", c.Config.ModelType)
	}
	return m, nil
}

// idle reports whether a field has no effect on a model of these parts.
func (m *Model) idle(d configuration.Document, name string) bool {
	switch name {
	case "is_causal": // makes causal attention bidirectional
		encoder, ok := m.Encoder.(CausalTeller)
		return m.LM == nil && (m.Encoder == nil || ok && encoder.BothWays())
	case "attention_chunk_size", "sliding_window": // decide how much caches keep
		return m.LM == nil
	case "layer_types":
		var kinds []string
		return m.LM == nil || d.Field(name, &kinds) == nil && !slices.ContainsFunc(kinds, func(kind string) bool { return kind != configuration.FullAttention })
	}
	return false
}

// measure fills in the model's Footprint. It returns an error if that is above the limit.
func (c *Checkpoint) measure(m *Model) error {
	f := &m.Footprint
	if c.Loader.Failed() {
		return nil // Finish reports it
	}
	f.Weights, f.Loading = c.Loader.Bytes(nil)
	b, warnings := m.histories()
	f.State, f.Token, f.Context, f.MemoryRow = b.State, b.Token, b.Text, b.MemoryRow
	m.Warnings = append(m.Warnings, c.options.warn(warnings...)...)
	o := c.options
	if o.MemoryLimit <= 0 || f.Loading <= o.MemoryLimit {
		return nil
	}
	return &fault.Error{Kind: fault.ErrMemory, Field: "MemoryLimit", Value: fmt.Sprint(o.MemoryLimit),
		Err: fmt.Errorf("loading takes %d bytes, the weights %d of them%s", f.Loading, f.Weights, c.smaller(f.Weights))}
}

// smaller says what would take less than some bytes of weights.
func (c *Checkpoint) smaller(weights int64) string {
	var ways []string
	for _, f := range []kernels.Format{kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ4_0} {
		other := c.options
		other.WeightFormat, other.Float32 = f, false
		if n, _ := c.Loader.Bytes(other.format); n < weights {
			ways = append(ways, fmt.Sprintf("%d in %v", n, f))
		}
	}
	note := ""
	if ways != nil {
		note = "; they would take " + strings.Join(ways, ", ")
	}
	if c.options.hasPrompts() {
		note += "; without PromptFormat there is no second copy"
	}
	return note
}
