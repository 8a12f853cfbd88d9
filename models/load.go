package models

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/lora"
	"github.com/avoformer/avoformer/transformer"
)

// From a checkpoint to a model: the account of its configuration, its weights and its memory.

// build makes the model with weights and the adapters of o. Tensors whose names match ignored may
// be left over.
func (c *Checkpoint) build(build Builder, b lora.Base, o Options, ignored ...string) (*Model, error) {
	if c.doc.Has("_name_or_path") {
		_ = c.doc.Field("_name_or_path", &b.Name) // for a remark only
	}
	var wanted []lora.Wanted
	for _, a := range o.Adapters {
		wanted = append(wanted, lora.Wanted(a))
	}
	adapters, err := lora.Open(wanted, b)
	if err != nil {
		return nil, err
	}
	defer adapters.Close()
	warnings := o.warn(adapters.Warnings()...)
	c.Loader = transformer.NewLoader(b.Weights)
	if c.rename != nil {
		c.Loader.Rename(c.rename)
	}
	c.Loader.Ignore(ignored...)
	if err := adapters.AddTo(c.Loader); err != nil {
		return nil, err
	}
	m, err := c.load(build, o)
	if misfit := new(transformer.LoadError); b.File != "" && errors.As(err, &misfit) {
		return nil, check.InFile(b.File, fault.ErrFormat, err)
	}
	if err != nil {
		return nil, err
	}
	m.Warnings = append(warnings, m.Warnings...)
	return m, m.haveBeside(adapters.Names)
}

// load makes the model with the weights of c.Loader.
func (c *Checkpoint) load(build Builder, o Options) (*Model, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c.Loader.Pack(o.format)
	c.Loader.Limit(o.MemoryLimit)
	if o.hasPrompts() {
		c.Loader.PackMany(o.prompts)
	}
	var err error
	if c.doc, err = c.doc.AccountFor(c.Config.ModelType); err != nil {
		return nil, err
	}
	if c.fp8 {
		c.doc.Note("quantization_config")
	}
	m, err := build(c)
	if err != nil {
		return nil, err
	}
	if m.Warnings, err = c.doc.Settle(m.idle); err != nil {
		return nil, err
	}
	if c.widened != nil {
		m.Warnings = append(m.Warnings, c.widened(c.Loader.Holdings())...)
	}
	o.warn(m.Warnings...)
	m.Holdings = c.Loader.Holdings()
	m.Config = c.Config
	if d, ok := m.LM.(*block.Decoder); ok {
		d.CacheFormat = o.CacheFormat
	}
	if err := c.measure(m, o); err != nil {
		return nil, err
	}
	finish := c.Loader.Finish
	if o.HeadersOnly {
		finish = c.Loader.Check
	}
	if err := finish(); err != nil {
		return nil, err
	}
	return m, nil
}

// idle reports whether a field has no effect on a model of these parts.
func (m *Model) idle(d configuration.Document, name string) bool {
	switch name {
	case "is_causal": // makes causal attention bidirectional
		encoder, ok := m.Encoder.(interface{ BothWays() bool })
		return m.LM == nil && (m.Encoder == nil || ok && encoder.BothWays())
	case "attention_chunk_size", "sliding_window": // decide how much caches keep
		return m.LM == nil
	case "layer_types":
		var kinds []string
		return m.LM == nil || d.Field(name, &kinds) == nil && !slices.ContainsFunc(kinds, func(kind string) bool { return kind != configuration.FullAttention })
	}
	return false
}

// haveBeside tells the model of the adapters beside its weights, or returns an error if it cannot have any.
func (m *Model) haveBeside(names []string) error {
	if len(names) == 0 {
		return nil
	}
	d, ok := m.LM.(*block.Decoder)
	if !ok || m.Encoder != nil || m.Audio != nil || d.AttendsToMemory() {
		return check.Option("Name", names[0], "adapters with a name are supported for language models that are decoders alone, not for %s", m.Config.ModelType)
	}
	d.Adapters, m.Adapters = names, names
	return nil
}

// measure fills in the model's Footprint. It returns an error if that is above the limit.
func (c *Checkpoint) measure(m *Model, o Options) error {
	f := &m.Footprint
	if c.Loader.Failed() {
		return nil // which Finish tells
	}
	f.Weights, f.Loading = c.Loader.Bytes(nil)
	if d, ok := m.LM.(*block.Decoder); ok {
		f.Token, f.Context, f.MemoryRow = d.HistoryBytes(m.Config.MaxLength)
	}
	if o.MemoryLimit <= 0 || f.Loading <= o.MemoryLimit {
		return nil
	}
	return &fault.Error{Kind: fault.ErrMemory, Field: "MemoryLimit", Value: fmt.Sprint(o.MemoryLimit),
		Err: fmt.Errorf("loading takes %d bytes, the weights %d of them%s", f.Loading, f.Weights, c.smaller(f.Weights, o))}
}

// smaller says what would take less than some bytes of weights.
func (c *Checkpoint) smaller(weights int64, o Options) string {
	var ways []string
	for _, f := range []kernels.Format{kernels.FormatBF16, kernels.FormatInt8, kernels.FormatQ4_0} {
		other := o
		other.WeightFormat = f
		if n, _ := c.Loader.Bytes(other.format); n < weights {
			ways = append(ways, fmt.Sprintf("%d in %v", n, f))
		}
	}
	note := ""
	if ways != nil {
		note = "; they would take " + strings.Join(ways, ", ")
	}
	if o.hasPrompts() {
		note += "; without PromptFormat there is no second copy"
	}
	return note
}
