// This file has the command info, which describes a folder or a GGUF file.

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/hub"
	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer/gguf"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// folderInfo is the output of info.
type folderInfo struct {
	Folder      string            `json:"folder"`
	ModelType   string            `json:"model_type,omitempty"`
	Class       []string          `json:"architectures,omitempty"`
	Weights     int64             `json:"weights"` // number of weights
	WeightBytes int64             `json:"weight_bytes"`
	Types       map[string]int64  `json:"weight_types"`
	Layers      int               `json:"layers,omitempty"`
	Dim         int               `json:"dim,omitempty"`
	Vocab       int               `json:"vocab,omitempty"`
	MaxLength   int               `json:"max_length,omitempty"` // the number of tokens after which pipelines cut texts
	Labels      []string          `json:"labels,omitempty"`
	Tokenizer   string            `json:"tokenizer"`
	Uses        []string          `json:"uses"`
	Images      []string          `json:"images,omitempty"`      // the commands that read images in addition to text
	ImageBytes  int64             `json:"image_bytes,omitempty"` // the bytes of the weights that only images need
	Unsupported map[string]string `json:"unsupported,omitempty"`
	Warnings    []string          `json:"warnings,omitempty"`
	Memory      *models.Footprint `json:"memory,omitempty"`
	Batches     int64             `json:"batches,omitempty"` // bytes for texts that are computed at the same time
	Here        *memoryHere       `json:"here,omitempty"`
	Advice      string            `json:"advice,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`

	options models.Options
	held    string // the value of -weights
	threads int

	asWritten bool // use tokenizer.json as it is
}

// memoryHere has the numbers of bytes that are left for the model, of the memory that the process
// may use.
type memoryHere struct {
	Limit   int64 `json:"limit"`
	Limited bool  `json:"limited_by_cgroup"`
	Cache   int64 `json:"cache,omitempty"` // the default for keys and values
	Kept    int64 `json:"kept,omitempty"`  // the default for those of finished texts, a part of Cache
}

func info(a *app, args []string) error {
	f := a.flags("info")
	asJSON := f.json("a line")
	weights := f.String("weights", stored, "print the memory for this "+weightsUsage)
	cache := f.String("cache", "f32", "print the memory for keys and values in this `format`: f32, bf16, f16 or int8")
	threads := f.Int("threads", replica.Threads(), "print the memory of batches for so many `threads`, those of all replicas together")
	fingerprint := f.Bool("fingerprint", false, "print the fingerprint, too; all files of the model are read for it")
	f.asWritten()
	var task string
	f.taskVar(&task)
	rest, err := f.parse(args, 1, 1)
	if err != nil {
		return err
	}
	if *threads < 1 {
		return usagef("-threads %d, want at least 1", *threads)
	}
	o := models.Options{HeadersOnly: true, Adapters: ofTask(task)}
	if err := setWeights(&o, *weights); err != nil {
		return err
	}
	if o.CacheFormat, err = parseCache(*cache); err != nil {
		return err
	}
	type found struct {
		info *folderInfo
		no   error // the reason why the model is not supported
	}
	i, err := interruptible(a, func() (found, error) {
		i := &folderInfo{Folder: hub.Folder(rest[0]), Types: map[string]int64{}, Unsupported: map[string]string{}, options: o, held: *weights, threads: *threads, asWritten: a.asWritten}
		if stat, err := os.Stat(i.Folder); err != nil {
			return found{}, err
		} else if stat.IsDir() {
			i.weights()
		} else if err := i.ggufWeights(); err != nil {
			return found{}, err
		}
		no := i.model()
		if *fingerprint && no == nil {
			return found{i, nil}, i.identify(a.ctx)
		}
		return found{i, no}, nil
	})
	if err != nil {
		return err
	}
	if i.no != nil && i.info.Weights == 0 && i.info.Tokenizer == "" {
		return i.no // without a model there is nothing else to describe
	}
	show := i.info.print
	if *asJSON {
		show = func(a *app) error { return a.printJSON(i.info) }
	}
	if i.no == nil && len(i.info.Uses) == 0 && len(i.info.Unsupported) > 0 {
		i.no = &fault.Error{Kind: fault.ErrFolder, Err: errors.New("no command works with it")}
	}
	return errors.Join(show(a), i.no)
}

// weights counts the weights in a folder's files, from their headers.
func (i *folderInfo) weights() {
	files, _ := filepath.Glob(filepath.Join(i.Folder, "*.safetensors"))
	for _, name := range files {
		base := filepath.Base(name)
		if !strings.HasPrefix(base, "model") {
			continue
		}
		f, err := safetensors.Open(name)
		if err != nil {
			i.Unsupported[base] = oneLine(err)
			continue
		}
		for _, tensor := range f.Names() {
			t, _ := f.Info(tensor)
			n := int64(1)
			for _, d := range t.Shape {
				n *= int64(d)
			}
			i.Weights += n
			i.Types[string(t.DType)] += n
		}
		f.Close()
		if stat, err := os.Stat(name); err == nil {
			i.WeightBytes += stat.Size()
		}
	}
}

// ggufWeights counts the weights in a GGUF file.
func (i *folderInfo) ggufWeights() error {
	f, err := gguf.Open(i.Folder)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, part := range hub.Parts(i.Folder) {
		if stat, err := os.Stat(part); err == nil {
			i.WeightBytes += stat.Size()
		}
	}
	for _, tensor := range f.Names() {
		t, _ := f.Info(tensor)
		i.Weights += int64(t.Len())
		i.Types[t.Type.String()] += int64(t.Len())
	}
	return nil
}

// model describes the model of the folder, or records the error of models.Open.
func (i *folderInfo) model() error {
	t, err := (tokenizer.Opening{AsWritten: i.asWritten}).Open(i.Folder)
	if err != nil {
		i.Unsupported["tokenizer"] = oneLine(err)
	} else {
		i.Tokenizer, i.Warnings = fmt.Sprintf("%d tokens, %d added", t.Size(), len(t.AddedTokens())), t.Warnings()
	}
	m, err := models.Open(i.Folder, i.options)
	if err != nil {
		i.Unsupported["model"] = oneLine(err)
		return err
	}
	c := m.Config
	i.Warnings, i.Memory = append(i.Warnings, m.Warnings...), &m.Footprint
	i.Batches = replica.Workspaces(m.BatchWidth(), i.threads, replica.BatchTokens)
	if limit, limited := replica.Memory(); limit > 0 {
		i.Here = &memoryHere{Limit: limit, Limited: limited}
		if m.LM != nil {
			i.Here.Cache, i.Here.Kept = replica.Cache(limit, m.Footprint.Weights+replica.Steps(m.LM.Dim(), m.LM.Vocab(), 1), 1)
		}
	}
	i.ModelType, i.Class, i.Layers, i.Dim, i.Vocab, i.MaxLength, i.Labels = c.ModelType, c.Architectures, c.Layers, c.Dim, c.Vocab, c.MaxLength, c.Labels
	i.Advice = adviseFast(m, i.options, machine.FastBF16())
	if n := i.limit(); n > 0 {
		i.MaxLength = n
	}
	if m.Serves(models.UseImages) || m.Heads[models.HeadCTC] != nil {
		delete(i.Unsupported, "tokenizer") // models of images need no tokenizer, and models of characters have another file
	}
	for _, kind := range text.KindsFor(m) {
		use := kind.Info().Command
		if use == "" || slices.Contains(i.Uses, use) {
			continue
		}
		if err := i.tries(kind); err != nil {
			i.Unsupported[use] = oneLine(err)
		} else {
			i.Uses = append(i.Uses, use)
		}
	}
	return nil
}

// limit returns the most tokens of a text that the folder's pipeline computes, 0 if there is no
// limit. It may be less than the positions of the model.
func (i *folderInfo) limit() int {
	kind, err := text.KindOf(i.Folder)
	if err != nil {
		return 0
	}
	p, err := text.OpenKind(kind, i.Folder, text.Options{Model: models.Options{HeadersOnly: true, Adapters: i.options.Adapters}})
	if err != nil {
		return 0
	}
	return p.MaxTokens()
}

// identify sets the fingerprint of the folder's pipeline.
func (i *folderInfo) identify(ctx context.Context) error {
	kind, err := text.KindOf(i.Folder)
	if err != nil {
		return err
	}
	o := text.Options{Model: i.options, TokenizerAsWritten: i.asWritten}
	if !slices.Contains(kind.Info().Options, "CacheFormat") {
		o.Model.CacheFormat = kernels.FormatF32
	}
	p, err := text.OpenKind(kind, i.Folder, o)
	if err != nil {
		return err
	}
	i.Fingerprint, err = p.Fingerprint(ctx)
	return err
}

// tries opens a pipeline that generates text. The pipeline reads more files than the model:
// generation_config.json, and the chat template.
func (i *folderInfo) tries(kind text.Kind) error {
	if !slices.Contains(kind.Info().Options, "CacheFormat") {
		return nil
	}
	p, err := text.OpenKind(kind, i.Folder, text.Options{Model: models.Options{HeadersOnly: true, Adapters: i.options.Adapters}})
	if err != nil {
		return err
	}
	var sampling error
	switch p := p.(type) {
	case *text.Generator:
		if _, err = p.Prompt([]text.Message{{Role: "user", Content: "Hello"}}, text.PromptOptions{}); err != nil {
			i.Unsupported["chat"] = oneLine(err)
		}
		_, sampling = p.Defaults()
		i.pictures()
	case *text.Translator:
		_, sampling = p.Defaults()
	}
	if sampling != nil {
		i.Unsupported["sampling"] = oneLine(sampling)
	}
	return nil
}

// pictures describes how a model of text reads images, if it can.
func (i *folderInfo) pictures() {
	g, err := text.OpenGenerator(i.Folder, text.Options{Model: models.Options{HeadersOnly: true, Images: true}, TokenizerAsWritten: i.asWritten})
	if errors.Is(err, fault.ErrOption) {
		return
	}
	if err != nil {
		i.Unsupported["images"] = oneLine(err)
		return
	}
	i.Images = []string{"generate -image"}
	if g.ReadsPages() {
		i.Images = append(i.Images, "read")
	}
	if m := i.Memory; m != nil {
		i.ImageBytes = g.Footprint().Weights - m.Weights
	}
}

func (i *folderInfo) print(a *app) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(a.out, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("folder", "%s", i.Folder)
	if i.ModelType != "" {
		line("model", "%s, %s", i.ModelType, strings.Join(i.Class, ", "))
		line("shape", "%d layers, %d wide%s", i.Layers, i.Dim, i.texts())
	}
	var types []string
	for _, t := range slices.Sorted(maps.Keys(i.Types)) {
		types = append(types, fmt.Sprintf("%s %d", t, i.Types[t]))
	}
	if len(types) > 0 {
		line("weights", "%d in %.1f MB (%s)", i.Weights, float64(i.WeightBytes)/1e6, strings.Join(types, ", "))
	}
	if m := i.Memory; m != nil {
		line("memory", "%.1f MB of weights with -weights %s, %.1f MB while loading%s%s", float64(m.Weights)/1e6, i.held, float64(m.Loading)/1e6, i.cache(), i.batches())
	}
	if h := i.Here; h != nil {
		line("here", "%s allows %.0f MB%s", map[bool]string{true: "the cgroup", false: "the machine"}[h.Limited], float64(h.Limit)/1e6, h.cache())
	}
	if i.Tokenizer != "" {
		line("tokenizer", "%s", i.Tokenizer)
	}
	if i.Fingerprint != "" {
		line("fingerprint", "%s", i.Fingerprint)
	}
	if len(i.Labels) > 0 {
		line("labels", "%s", strings.Join(i.Labels, ", "))
	}
	if len(i.Uses) > 0 {
		line("works with", "%s", strings.Join(i.Uses, ", "))
	}
	if i.Images != nil {
		line("images", "%s; the encoder of images takes %.1f MB of weights more", strings.Join(i.Images, ", "), float64(i.ImageBytes)/1e6)
	}
	if i.Advice != "" {
		line("advice", "%s", i.Advice)
	}
	for _, what := range slices.Sorted(maps.Keys(i.Unsupported)) {
		line("not", "%s: %s", what, i.Unsupported[what])
	}
	for _, w := range i.Warnings {
		line("warning", "%s", oneLine(errors.New(w)))
	}
	return nil
}

// cache describes the default limit for keys and values.
func (h *memoryHere) cache() string {
	if h.Cache == 0 {
		return ""
	}
	return fmt.Sprintf(", which leave at most %.0f MB for keys and values (serve -cache-memory), %.0f of them for finished texts that are kept (-cache-kept)",
		float64(h.Cache)/1e6, float64(h.Kept)/1e6)
}

// batches describes the memory for texts that are computed at the same time.
func (i *folderInfo) batches() string {
	if i.Batches == 0 {
		return ""
	}
	return fmt.Sprintf("; about %.0f MB for batches on %d threads", float64(i.Batches)/1e6, i.threads)
}

// cache describes the memory that texts fill while they are generated.
func (i *folderInfo) cache() string {
	m, said := i.Memory, ""
	if m.Token > 0 {
		said = fmt.Sprintf("; cache (%v): %.1f KB a token", i.options.CacheFormat, float64(m.Token)/1e3)
	}
	if m.State > 0 {
		said += fmt.Sprintf("; state: %.1f MB a text", float64(m.State)/1e6)
	}
	if m.Context > 0 {
		said += fmt.Sprintf(", %.1f MB for %d", float64(m.Context)/1e6, i.MaxLength)
	}
	if m.MemoryRow > 0 {
		said += fmt.Sprintf(", %.1f KB for each that is read", float64(m.MemoryRow)/1e3)
	}
	return said
}

// texts describes the model's limit for texts, if it reads texts.
func (i *folderInfo) texts() string {
	if i.Vocab == 0 {
		return ""
	}
	length := "of any length"
	if i.MaxLength > 0 {
		length = fmt.Sprintf("at most %d long", i.MaxLength)
	}
	return fmt.Sprintf(", %d tokens, %s", i.Vocab, length)
}
