// One short string for everything except the input that results depend on.

package text

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/internal/fingerprint"
	"github.com/avoformer/avoformer/internal/modelfiles"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/machine"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
)

// identity has the files and options that a pipeline was opened with.
type identity struct {
	files  []modelfiles.File
	failed error // of listing them
	format string

	mu    sync.Mutex
	value string // the fingerprint, once it is known
}

// identify notes the files that a pipeline is opened from, before they are read.
func identify(fsys fs.FS, o *Options) *identity {
	var id identity
	if g, ok := fsys.(folder.GGUF); ok {
		id.files, id.failed = modelfiles.Parts(g.Path)
		if o.Model.Images && id.failed == nil {
			id.failed = id.addProjector(g.Path, o.Model.Projector)
		}
	} else {
		id.files, id.failed = modelfiles.Folder(fsys)
	}
	if id.failed == nil {
		var paths []string
		for _, a := range o.Model.Adapters {
			if a.Task == "" { // the others are in the folder
				paths = append(paths, a.Path)
			}
		}
		var adapters []modelfiles.File
		adapters, id.failed = modelfiles.Adapters(paths...)
		id.files = append(id.files, adapters...)
	}
	id.format = o.format(machine.FastBF16, widens(fsys, o))
	return &id
}

// addProjector adds the file with the encoder of images for the GGUF file at path.
func (id *identity) addProjector(path, given string) error {
	projector, err := modelfiles.Projector(path, given)
	if err != nil {
		return err
	}
	files, err := modelfiles.Parts(projector)
	id.files = append(id.files, modelfiles.Under("images", files)...)
	return err
}

// widens reports whether Float32 is set for a model that may have weights in blocks: one in a GGUF
// file, or one that was quantized. It changes no results of other models.
func widens(fsys fs.FS, o *Options) bool {
	if !o.Model.Float32 {
		return false
	}
	if _, ok := fsys.(folder.GGUF); ok {
		return true
	}
	var config map[string]json.RawMessage
	err := folder.ReadJSON(fsys, "config.json", &config)
	_, quantized := config["quantization_config"]
	return quantized || err != nil
}

// fingerprint returns the pipeline's fingerprint. The first call reads the files.
func (id *identity) fingerprint(ctx context.Context) (string, error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.value != "" || id.failed != nil {
		return id.value, id.failed
	}
	digest, err := modelfiles.Digest(ctx, id.files)
	if err != nil {
		return "", err
	}
	id.value = fingerprint.New(digest, id.format)
	return id.value, nil
}

// neutral are the options on which no result depends, those that format counts elsewhere, and those
// about long texts that leave the windows of a text as they are.
var neutral = []string{"Projector", "BatchTokens", "OnBatch", "CacheMemory", "CacheKept", "CopyWeights", "MaxPixels", "Draft", "MTP", "Adapter.Name", "LongTruncate", "LongRefuse"}

// isFast reports whether weights are held in bf16_fast, the format whose results depend on what the
// machine multiplies it by.
func (o *Options) isFast() bool {
	m := &o.Model
	return m.WeightFormat == kernels.FormatBF16Fast || m.PromptFormat == kernels.FormatBF16Fast ||
		slices.ContainsFunc(m.WeightFormats, func(f models.NamedFormat) bool { return f.Format == kernels.FormatBF16Fast })
}

// format returns the format of the weights, with a checksum of the other options that change
// results, if there are any, and of what multiplies weights in bf16_fast. widened says that Float32
// changes results.
func (o *Options) format(fastBy func() string, widened bool) string {
	m := &o.Model
	var further []string
	for _, g := range append(o.some(), given{"TokenizerAsWritten", "", o.TokenizerAsWritten}) {
		if g.set && !slices.Contains(neutral, g.name) {
			further = append(further, fmt.Sprintf("%s %v", g.name, g.value))
		}
	}
	for _, f := range m.WeightFormats {
		further = append(further, fmt.Sprintf("WeightFormats %q %v", f.Pattern, f.Format))
	}
	if widened {
		further = append(further, "Float32")
	}
	for _, a := range m.Adapters {
		said := fmt.Sprintf("Adapter %q %v", a.Name, cmp.Or(a.Scale, 1))
		if a.Task != "" {
			said += fmt.Sprintf(" %q", a.Task)
		}
		further = append(further, said)
	}
	if o.isFast() {
		if by := fastBy(); by != "" {
			further = append(further, by)
		}
	}
	format := m.WeightFormat.String()
	if len(further) > 0 {
		sum := sha256.Sum256([]byte(strings.Join(further, "\n")))
		format += fmt.Sprintf("+%x", sum[:4])
	}
	return format
}
