// Package modelstest has the code that tests of models share: the folders of tiny models in
// models/testdata, comparisons with results of transformers, and damaged files.
package modelstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// A folder states the noise of each output: the difference there between float32 and float64. A
// result may differ from the expected one by allowance times the noise.
const allowance = 20

// Reporter has the methods of *testing.T that a comparison needs.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(f func())
	Context() context.Context
}

// Expected holds a folder's expected.safetensors.
type Expected struct {
	t       Reporter
	File    *safetensors.File
	noise   map[string]float64
	Used    map[string]bool
	outputs int
	// Collect, unless nil, is called with each output. Outputs are then not compared.
	Collect func(name string, output []float32)
}

// Compare compares all outputs of a folder, and returns their number.
func Compare(t *testing.T, dir string) int {
	e := OpenExpected(t, dir)
	o := models.Options{Images: e.ReadsImages()}
	config, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	quantized := bytes.Contains(config, []byte(`"quantization_config"`))
	if quantized { // weights that stay in blocks are multiplied as integers
		o.WeightFormats = []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}
	}
	m, err := models.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Warnings) > 0 && !quantized { // warnings of tensors that are not held in blocks, or not rounded
		t.Errorf("warnings: %q", m.Warnings)
	}
	e.All(m)
	return e.outputs
}

// Compute computes all outputs that are expected.
func (e *Expected) Compute(m *models.Model) {
	ws := new(models.Workspace)
	e.text(ws, m)
	e.image(ws, m)
	e.joint(ws, m)
	e.speech(ws, m)
	e.generation(ws, m)
	e.reading(ws, m)
}

// All computes and compares all outputs that are expected.
func (e *Expected) All(m *models.Model) {
	e.Compute(m)
	for _, name := range e.File.Names() {
		if !e.Used[name] {
			e.t.Errorf("%s is not compared", name)
		}
	}
	if e.outputs == 0 {
		e.t.Errorf("nothing compared")
	}
}

// OpenExpected opens the expected.safetensors of a folder. It stays open until the test ends.
func OpenExpected(t Reporter, dir string) *Expected {
	file, err := safetensors.Open(filepath.Join(dir, "expected.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	var about struct {
		Noise map[string]string `json:"noise"`
	}
	if err := json.Unmarshal([]byte(file.Metadata()["about"]), &about); err != nil {
		t.Fatalf("metadata: %v", err)
	}
	e := &Expected{t: t, File: file, noise: map[string]float64{}, Used: map[string]bool{}}
	for name, text := range about.Noise {
		if e.noise[name], err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// ReadsImages reports whether the model must be opened with its image reader.
func (e *Expected) ReadsImages() bool { return e.Has(tiles) }

func (e *Expected) Has(name string) bool { _, ok := e.File.Info(name); return ok }

// Floats returns an input or an expected output.
func (e *Expected) Floats(name string) []float32 {
	e.Used[name] = true
	x, err := e.File.Float32(name)
	if err != nil {
		e.t.Fatal(err)
	}
	return x
}

func (e *Expected) Ints(name string) []int {
	e.Used[name] = true
	x, err := e.File.Int64(name)
	if err != nil {
		e.t.Fatal(err)
	}
	y := make([]int, len(x))
	for i, v := range x {
		y[i] = int(v)
	}
	return y
}

func (e *Expected) Shape(name string) []int { info, _ := e.File.Info(name); return info.Shape }

func (e *Expected) NoError(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// Check compares an output. Pad can add rows to an output that has fewer rows than expected.
func (e *Expected) Check(name string, got []float32) {
	e.t.Helper()
	if e.Collect != nil {
		e.Collect(name, got)
		return
	}
	want := e.Floats(name)
	e.outputs++
	noise, ok := e.noise[name]
	if !ok || !(noise > 0) {
		e.t.Errorf("%s: no noise stated", name)
		return
	}
	if len(got) != len(want) {
		e.t.Errorf("%s: %d elements, want %d", name, len(got), len(want))
		return
	}
	worst, at := 0.0, 0
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= worst) {
			worst, at = d, i
		}
	}
	if !(worst <= allowance*noise) {
		e.t.Errorf("%s: element %d is %v, want %v: %.3g off, %.1f times the noise", name, at, got[at], want[at], worst, worst/noise)
	}
}

// Batch holds the rows of padded input, [sequences, length], that a mask admits.
type Batch struct {
	models.Tokens
	rows   []int // their indices in the padded input
	padded int   // number of rows, with padding
}

// Tokens returns the named input without its padding.
func (e *Expected) Tokens(ids, mask, types string) Batch {
	b := Batch{}
	all := e.Ints(ids)
	b.padded = len(all)
	keep := make([]int, len(all))
	for i := range keep {
		keep[i] = 1
	}
	if e.Has(mask) {
		keep = e.Ints(mask)
	}
	var kinds []int
	if e.Has(types) {
		kinds = e.Ints(types)
	}
	shape := e.Shape(ids)
	var lengths []int
	for s := range shape[0] {
		n := 0
		for i := s * shape[1]; i < (s+1)*shape[1]; i++ {
			if keep[i] == 0 {
				continue
			}
			n++
			b.rows = append(b.rows, i)
			b.IDs = append(b.IDs, all[i])
			if kinds != nil {
				b.Types = append(b.Types, kinds[i])
			}
		}
		lengths = append(lengths, n)
	}
	b.Batch = transformer.Ragged(lengths...)
	return b
}

// Pad returns x, [rows, width], with rows of 0 for padding.
func (b Batch) Pad(x []float32) []float32 {
	width := len(x) / max(len(b.rows), 1)
	y := make([]float32, b.padded*width)
	for r, to := range b.rows {
		copy(y[to*width:(to+1)*width], x[r*width:(r+1)*width])
	}
	return y
}
