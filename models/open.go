package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models/internal/block"
	"github.com/avoformer/avoformer/models/internal/configuration"
	"github.com/avoformer/avoformer/models/internal/lora"
	"github.com/avoformer/avoformer/models/internal/sentence"
	"github.com/avoformer/avoformer/models/internal/weightfile"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Opening folders: which files there are, and what they hold together.

// Open loads the model in the folder dir, which has config.json and
// model.safetensors, or shards of it with model.safetensors.index.json; without
// these, pytorch_model.bin or its shards, from which no code is executed. Instead, dir may be
// a folder of the hub's cache: a snapshot with its links, or the model's folder, whose
// refs/main chooses the snapshot.
//
// It may also be a GGUF file of an architecture that doc/models.md lists, or the first part of one that was
// split. Its weights keep the format that the file has them in, those of the embedding and the head too, as far as
// [transformer.FromGGUF] can. Where blocks are multiplied as integers, the rows that they are multiplied with are
// rounded to integers as well; [Options] with the format float32 for the pattern "*" avoids it. A file with a
// pooling_type makes vectors of texts, of length 1, and no text.
//
// The weights are packed for the kernels active now; no file is needed afterwards.
func Open(dir string, o Options) (*Model, error) {
	dir = hub.Folder(dir)
	info, err := hub.Stat(dir)
	switch {
	case err != nil:
		return nil, check.Errorf(fault.ErrFolder, "%w", err)
	case !info.IsDir() && gguf.Is(dir):
		return openGGUF(dir, o)
	case !info.IsDir():
		return nil, check.Errorf(fault.ErrFolder, "%s is not a folder%s", dir, asPointer(dir))
	}
	o.path = dir
	m, err := OpenFS(os.DirFS(dir), o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return m, nil
}

// asPointer is what to add about a file where a GGUF file should be.
func asPointer(path string) string {
	f, err := regular.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if !hub.IsPointer(f) {
		return ""
	}
	return ", " + hub.ErrPointer.Error()
}

// OpenFS is [Open] for a file system whose root is the folder, such as an embedded one.
func OpenFS(fsys fs.FS, o Options) (*Model, error) {
	doc, err := sentence.StaticConfig(fsys)
	if errors.Is(err, fs.ErrNotExist) && configuration.Exists(fsys, lora.PEFTConfig) {
		return nil, check.InFile("config.json", fault.ErrFolder, fmt.Errorf("there is %s instead: an adapter, which Options.Adapters adds to its model", lora.PEFTConfig))
	}
	if err != nil {
		return nil, err
	}
	generation, err := configuration.ReadJSON(fsys, "generation_config.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, build, err := checkpoint(doc, generation)
	if err != nil {
		return nil, err
	}
	dir, err := sentence.StaticFolder(fsys)
	if err != nil {
		return nil, err
	}
	weights, err := weightfile.OpenWeights(fsys, dir)
	if err != nil {
		return nil, err
	}
	defer weights.Close()
	if c.fp8, err = weights.JoinFP8(doc); err != nil {
		return nil, check.InFile(weights.Name, fault.ErrFormat, err)
	}
	m, err := c.build(build, lora.Base{Weights: weights, File: weights.Name, Path: o.path}, o)
	if err != nil {
		return nil, err
	}
	beside, err := sentence.Open(fsys, doc, m.sentenceParts())
	if err != nil {
		return nil, err
	}
	m.Embedders = beside.Embedders
	m.Warnings = append(m.Warnings, o.warn(beside.Warnings...)...)
	return m, nil
}

// New returns the model that config, the text of a config.json, describes, with weights from
// anywhere: transformer.Random(1) is enough to try out and to time an architecture.
func New(config []byte, weights transformer.Weights, o Options) (*Model, error) {
	doc, err := configuration.Parse("config.json", config)
	if err != nil {
		return nil, err
	}
	c, build, err := checkpoint(doc, configuration.Document{})
	if err != nil {
		return nil, err
	}
	return c.build(build, lora.Base{Weights: weights, File: "weights"}, o)
}

// checkpoint reads what all configurations have, and finds the architecture.
func checkpoint(doc, generation configuration.Document) (*Checkpoint, Builder, error) {
	config, err := common(doc, generation)
	if err != nil {
		return nil, nil, err
	}
	build, ok := builderOf(config.ModelType)
	if !ok {
		return nil, nil, &fault.Error{Kind: fault.ErrModelType, File: doc.Name, Field: "model_type", Value: strconv.Quote(config.ModelType), Err: fmt.Errorf("want one of %s", strings.Join(ModelTypes(), ", "))}
	}
	return &Checkpoint{doc: doc, Config: config}, build, nil
}

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
	c.images = o.Images
	m, err := build(c)
	if err != nil {
		return nil, err
	}
	if o.Images && m.Images == nil {
		return nil, check.Option("Images", true, "the images of %s are not supported", c.Config.ModelType)
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

// haveBeside gives the model the names of the adapters that are kept separate from its weights. It returns an error if the model cannot have any.
func (m *Model) haveBeside(names []string) error {
	if len(names) == 0 {
		return nil
	}
	d, ok := m.LM.(*block.Decoder)
	if !ok || m.Encoder != nil || m.Audio != nil || d.AttendsToMemory() {
		return check.Option("Name", names[0], "adapters with a name are supported only for decoders, not for %s", m.Config.ModelType)
	}
	d.Adapters, m.Adapters = names, names
	return nil
}

// measure fills in the model's Footprint. It returns an error if that is above the limit.
func (c *Checkpoint) measure(m *Model, o Options) error {
	f := &m.Footprint
	if c.Loader.Failed() {
		return nil // Finish reports it
	}
	f.Weights, f.Loading = c.Loader.Bytes(nil)
	if d, ok := m.LM.(*block.Decoder); ok {
		b := d.HistoryBytes(m.Config.MaxLength)
		f.State, f.Token, f.Context, f.MemoryRow = b.State, b.Token, b.Text, b.MemoryRow
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
