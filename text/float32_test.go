package text

import (
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// TestFloat32: with Float32 all weights of a GGUF file in blocks are float32, the footprint says
// so, and results are those of weights that were float32 in the first place; without it, blocks
// stay.
func TestFloat32(t *testing.T) {
	t.Parallel()
	const file = "../models/testdata/gguf/gemma3/q8_0.gguf"
	open := func(o models.Options) *Generator { return tftest.Must(OpenGenerator(file, Options{Model: o}))(t) }
	first := func(g *Generator) float64 {
		all := tftest.Must(Collect(g.Generate(t.Context(), "a b c d e f", GenerateOptions{MaxTokens: 1, LogProbs: true})))(t)
		return float64(all.Tokens[0].LogProb)
	}
	stored, wide := open(models.Options{}), open(models.Options{Float32: true})
	named := open(models.Options{WeightFormats: []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}})
	var bytes int64
	for _, h := range wide.Holdings() {
		if h.Format != kernels.FormatF32 {
			t.Errorf("%s is held in %v", h.Name, h.Format)
		}
		bytes += 4 * int64(h.Elements)
	}
	if f, s := wide.Footprint().Weights, stored.Footprint().Weights; f < bytes || f < 3*s {
		t.Errorf("%d bytes of weights, those of linear layers and tables take %d; as stored all take %d", f, bytes, s)
	}
	if x, y := first(wide), first(named); x != y {
		t.Errorf("%g, and with a pattern %g", x, y)
	}
	if x, y := first(wide), first(stored); x == y || math.Abs(x-y) > 0.5 {
		t.Errorf("%g in float32, %g with blocks", x, y)
	}
	of := func(g *Generator) string { return tftest.Must(g.Fingerprint(t.Context()))(t) }
	if x, y := of(wide), of(stored); x == y || !strings.Contains(y, "-f32-") {
		t.Errorf("fingerprints %s and %s", x, y)
	}
	plain := tftest.Must(OpenEmbedder("testdata/embed", Options{}))(t)
	same := tftest.Must(OpenEmbedder("testdata/embed", Options{Model: models.Options{Float32: true}}))(t)
	if x, y := tftest.Must(plain.Fingerprint(t.Context()))(t), tftest.Must(same.Fingerprint(t.Context()))(t); x != y {
		t.Errorf("fingerprints %s and %s of a folder in float32", x, y)
	}
	if _, err := OpenGenerator(file, Options{Model: models.Options{Float32: true, WeightFormat: kernels.FormatBF16}}); err == nil {
		t.Error("Float32 with bf16")
	}
}
