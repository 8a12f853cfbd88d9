package models

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/gguf"
)

// Opening folders: which files there are, and what they hold together.

// Open loads the model in the folder dir, which has config.json and
// model.safetensors, or shards of it with model.safetensors.index.json; without these,
// pytorch_model.bin or its shards, of which nothing is executed. A folder of
// the hub's cache may be given too: a snapshot with its links, or the model's folder,
// of which refs/main chooses the snapshot; or a GGUF file, see [OpenGGUF].
//
// The weights are packed for the kernels active now; no file is needed afterwards.
func Open(dir string) (*Model, error) { return Options{}.Open(dir) }

// OpenFS is Open for a file system whose root is the folder, such as an embedded one.
func OpenFS(fsys fs.FS) (*Model, error) { return Options{}.OpenFS(fsys) }

// New is the model that config, the text of a config.json, describes, with weights from
// anywhere: transformer.Random(1) is enough for trying out and timing an architecture.
func New(config []byte, weights transformer.Weights) (*Model, error) {
	return Options{}.New(config, weights)
}

// Open is the function Open with options.
func (o Options) Open(dir string) (*Model, error) {
	dir = hub.Folder(dir)
	info, err := hub.Stat(dir)
	switch {
	case err != nil:
		return nil, check.Errorf(ErrFolder, "%w", err)
	case !info.IsDir() && gguf.Is(dir):
		return o.openGGUF(dir)
	case !info.IsDir():
		return nil, check.Errorf(ErrFolder, "%s is no folder%s", dir, asPointer(dir))
	}
	o.path = dir
	m, err := o.OpenFS(os.DirFS(dir))
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

// OpenFS is the function OpenFS with options.
func (o Options) OpenFS(fsys fs.FS) (*Model, error) {
	doc, err := staticConfig(fsys)
	if errors.Is(err, fs.ErrNotExist) && exists(fsys, peftConfig) {
		return nil, check.InFile("config.json", ErrFolder, fmt.Errorf("there is %s instead: an adapter, which Options.Adapters adds to its model", peftConfig))
	}
	if err != nil {
		return nil, err
	}
	generation, err := readJSON(fsys, "generation_config.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, build, err := checkpoint(doc, generation)
	if err != nil {
		return nil, err
	}
	dir, err := staticFolder(fsys)
	if err != nil {
		return nil, err
	}
	weights, err := openWeights(fsys, dir)
	if err != nil {
		return nil, err
	}
	defer weights.Close()
	if c.fp8, err = weights.joinFP8(doc); err != nil {
		return nil, check.InFile(weights.name, ErrFormat, err)
	}
	m, err := c.build(build, base{Weights: weights, file: weights.name, path: o.path}, o)
	if err != nil {
		return nil, err
	}
	beside, err := openSentenceFiles(fsys, doc, m.sentenceParts())
	if err != nil {
		return nil, err
	}
	m.Sentence, m.Sparse, m.Vectors = beside.Sentence, beside.Sparse, beside.Vectors
	m.Warnings = append(m.Warnings, o.warn(beside.Warnings...)...)
	return m, nil
}

// New is the function New with options.
func (o Options) New(config []byte, weights transformer.Weights) (*Model, error) {
	doc, err := parse("config.json", config)
	if err != nil {
		return nil, err
	}
	c, build, err := checkpoint(doc, Document{})
	if err != nil {
		return nil, err
	}
	return c.build(build, base{Weights: weights, file: "weights"}, o)
}

// checkpoint reads what all configurations have, and finds the architecture.
func checkpoint(doc, generation Document) (*Checkpoint, Builder, error) {
	config, err := common(doc, generation)
	if err != nil {
		return nil, nil, err
	}
	build, ok := builderOf(config.ModelType)
	if !ok {
		return nil, nil, &check.Error{Kind: ErrModelType, File: doc.Name, Field: "model_type", Value: strconv.Quote(config.ModelType), Err: fmt.Errorf("want one of %s", strings.Join(ModelTypes(), ", "))}
	}
	return &Checkpoint{JSON: doc, Config: config}, build, nil
}

// build makes the model with weights and the adapters of o. Tensors whose names match ignored may
// be left over.
func (c *Checkpoint) build(build Builder, b base, o Options, ignored ...string) (*Model, error) {
	if c.JSON.Has("_name_or_path") {
		_ = c.JSON.Field("_name_or_path", &b.name) // for a remark only
	}
	var wanted []wantedAdapter
	for _, a := range o.Adapters {
		wanted = append(wanted, wantedAdapter(a))
	}
	adapters, err := openAdapters(wanted, b)
	if err != nil {
		return nil, err
	}
	defer adapters.Close()
	warnings := o.warn(adapters.warnings()...)
	c.Loader = transformer.NewLoader(b.Weights)
	if c.rename != nil {
		c.Loader.Rename(c.rename)
	}
	c.Loader.Ignore(ignored...)
	if err := adapters.addTo(c.Loader); err != nil {
		return nil, err
	}
	m, err := c.load(build, o)
	if misfit := new(transformer.LoadError); b.file != "" && errors.As(err, &misfit) {
		return nil, check.InFile(b.file, ErrFormat, err)
	}
	if err != nil {
		return nil, err
	}
	m.Warnings = append(warnings, m.Warnings...)
	return m, m.haveBeside(adapters.names)
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
	if o.Exact {
		c.Loader.Exact()
	}
	var err error
	if c.JSON, err = c.JSON.accountFor(c.Config.ModelType); err != nil {
		return nil, err
	}
	if c.fp8 {
		c.JSON.note("quantization_config")
	}
	m, err := build(c)
	if err != nil {
		return nil, err
	}
	if m.Warnings, err = c.JSON.settle(m.idle); err != nil {
		return nil, err
	}
	if c.widened != nil {
		m.Warnings = append(m.Warnings, c.widened(c.Loader.Holdings())...)
	}
	o.warn(m.Warnings...)
	m.Holdings = c.Loader.Holdings()
	m.Config = c.Config
	if d, ok := m.LM.(*decoder); ok {
		d.held = o.Cache
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
func (m *Model) idle(d Document, name string) bool {
	switch name {
	case "is_causal": // makes causal attention bidirectional
		encoder, ok := m.Encoder.(interface{ BothWays() bool })
		return m.LM == nil && (m.Encoder == nil || ok && encoder.BothWays())
	case "attention_chunk_size", "sliding_window": // decide how much caches keep
		return m.LM == nil
	case "layer_types":
		var kinds []string
		return m.LM == nil || d.Field(name, &kinds) == nil && !slices.ContainsFunc(kinds, func(kind string) bool { return kind != fullAttention })
	}
	return false
}

// OpenGGUF loads the model in a GGUF file of one of the architectures llama (Mistral's and Mixtral's
// too), qwen2, qwen2moe, qwen3, qwen3moe, gemma, gemma2, gemma3, phi2, phi3, gpt-oss, granite, granitemoe, smollm3, olmo2,
// cohere2, gptneox, starcoder2 and lfm2, or bert, nomic-bert, nomic-bert-moe, jina-bert-v2, modern-bert, t5 and t5encoder. [Open] does so for a file.
// A file with a pooling_type makes vectors of texts, of length 1, and no text. Of a file that was split, path is
// the first part.
//
// Weights keep the format that the file has them in, the embedding and the head too, as far
// as [transformer.FromGGUF] can. Where blocks are multiplied as integers, so are the rows
// that they are multiplied with; [Options] with the format float32 for the pattern "*" avoids it.
func OpenGGUF(path string) (*Model, error) { return Options{}.openGGUF(path) }

func (o Options) openGGUF(path string) (*Model, error) {
	file, err := gguf.Open(path)
	if err != nil {
		return nil, check.InFile(path, ErrFolder, err)
	}
	defer file.Close()
	m, err := o.readGGUF(file)
	if err != nil {
		return nil, check.InFile(path, ErrFormat, err)
	}
	return m, nil
}

func (o Options) readGGUF(file *gguf.File) (*Model, error) {
	r := newGGUFReader(file)
	doc, err := r.document()
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{JSON: doc, llamaCpp: true}
	if c.Config, err = common(doc, Document{}); err != nil {
		return nil, err
	}
	build, ok := builderOf(c.Config.ModelType)
	if !ok {
		return nil, &check.Error{Kind: ErrModelType, Field: "general.architecture", Value: strconv.Quote(r.arch)}
	}
	c.rename, c.widened, c.neighbours, o.asStored = r.names(), r.widened, r.neighbours(), true
	ignored := []string{"rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"} // are read already
	if r.pool != nil {
		ignored = append(ignored, "output.weight")
	}
	m, err := c.build(build, base{Weights: r.weights, gguf: r.arch}, o, ignored...)
	if err != nil {
		return nil, err
	}
	if r.pool != nil {
		m.Sentence = normalizedSentences(m.Encoder, r.pool)
	}
	m.Warnings = append(m.Warnings, o.warn(append(r.unread(), r.guessed(m.LM != nil && len(m.Config.EOSTokens) == 0)...)...)...)
	return m, nil
}

// QuantizeGGUF writes the model in the GGUF file at path, or in its parts, with weights in another format: those that
// o.Formats and o.Weights choose by their names in the file, so that the file opens as the model with these weights. Of a format
// whose blocks do not divide the rows of a weight, the weight gets the one that llama.cpp takes instead: q5_0 for q4_k, q5_1
// for q5_k, q8_0 for q6_k, f16 where 32 does not divide them; o.Warn is told. Everything else, the tokenizer among it, stays as it
// is. Other fields of o do not count. Formats that GGUF files do not have, and patterns that no weight matches, are errors that match ErrOption.
func QuantizeGGUF(w io.Writer, path string, o Options) error {
	file, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := o.check(); err != nil {
		return err
	}
	o = Options{Weights: o.Weights, Formats: o.Formats, Warn: o.Warn, asStored: true}
	if o.Weights == kernels.FormatF32 && len(o.Formats) == 0 {
		return check.Errorf(ErrOption, "weights in %v: want a format of fewer bits", o.Weights)
	}
	q := quantizer{file: file, weights: o.Weights, formatOf: o.format, warn: func(w string) { o.warn(w) }}
	for _, f := range o.Formats {
		q.patterns = append(q.patterns, ggufPattern{f.Pattern, f.Format})
	}
	return q.write(w, path)
}

// haveBeside tells the model of the adapters beside its weights, or returns an error if it cannot have any.
func (m *Model) haveBeside(names []string) error {
	if len(names) == 0 {
		return nil
	}
	d, ok := m.LM.(*decoder)
	if !ok || m.Encoder != nil || m.Audio != nil || d.AttendsToMemory() {
		return check.Option("Name", names[0], "adapters with a name are supported for language models that are decoders alone, not for %s", m.Config.ModelType)
	}
	d.adapters, m.Adapters = names, names
	return nil
}

// measure fills in the model's Footprint. It returns an error if that is above the limit.
func (c *Checkpoint) measure(m *Model, o Options) error {
	f := &m.Footprint
	if c.Loader.Failed() {
		return nil // which Finish tells
	}
	f.Weights, f.Loading = c.Loader.Bytes(nil)
	if d, ok := m.LM.(*decoder); ok {
		f.Token, f.Context, f.MemoryRow = d.historyBytes(m.Config.MaxLength)
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

// OpenCrossEncoder reads the files of sentence-transformers beside m; nil if the folder was not saved by its CrossEncoder,
// or not with modules.json: sentence-transformers then asks for none of them.
func OpenCrossEncoder(fsys fs.FS, m *Model) (*CrossEncoder, error) {
	return openCrossEncoder(fsys, m.Encoder, m.Config.ModelType)
}

// sentenceParts are the parts of m that the files of sentence-transformers build on.
func (m *Model) sentenceParts() sentenceParts {
	p := sentenceParts{ModelType: m.Config.ModelType, Encoder: m.Encoder, Classifies: m.Classifier != nil, MaskedLM: m.MaskedLM}
	_, p.Static = m.Encoder.(*staticEncoder)
	if d, ok := m.LM.(*decoder); ok {
		p.Causal = causalEncoder{d}
	}
	return p
}
