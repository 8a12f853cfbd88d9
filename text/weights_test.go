package text

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
)

// TestWeightFormats holds one layer in int8: its weights alone, and vectors between those of float32 and of int8.
func TestWeightFormats(t *testing.T) {
	const dir = "testdata/embed"
	embed := func(o models.Options) (*Embedder, []float32) {
		t.Helper()
		e, err := OpenEmbedder(dir, Options{Model: o})
		if err != nil {
			t.Fatal(err)
		}
		v, err := outputs(e.Embed(t.Context(), Texts("hello world"), EmbedOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		return e, v[0]
	}
	_, f32 := embed(models.Options{})
	_, int8s := embed(models.Options{WeightFormat: kernels.FormatInt8})
	one, mixed := embed(models.Options{WeightFormats: []models.NamedFormat{{Pattern: "encoder.layer.1.*", Format: kernels.FormatInt8}}})
	_, kept := embed(models.Options{WeightFormat: kernels.FormatInt8, WeightFormats: []models.NamedFormat{{Pattern: "encoder.layer.*", Format: kernels.FormatF32}}})
	if slices.Equal(mixed, f32) || slices.Equal(mixed, int8s) {
		t.Error("one layer in int8 makes no difference, or the same as all")
	}
	if !slices.Equal(kept, f32) {
		t.Error("the format of single weights does not count before that of all")
	}
	layers := 0
	for _, h := range one.Holdings() {
		in := strings.HasPrefix(h.Name, "encoder.layer.1.")
		if in != (h.Format == kernels.FormatInt8) || h.Elements < 1 {
			t.Errorf("%+v", h)
		}
		if in {
			layers++
		}
	}
	if layers == 0 {
		t.Error("no holdings of the layer")
	}
	if _, err := OpenEmbedder(dir, Options{Model: models.Options{WeightFormats: []models.NamedFormat{{Pattern: "layers.1.*", Format: kernels.FormatInt8}}}}); !errors.Is(err, fault.ErrOption) || !strings.Contains(err.Error(), "layers.1.*") {
		t.Errorf("a pattern that matches nothing: error %v", err)
	}
	if _, err := OpenEmbedder(dir, Options{Model: models.Options{WeightFormats: []models.NamedFormat{{Pattern: "[", Format: kernels.FormatInt8}}}}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a malformed pattern: error %v", err)
	}
}
