package models_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
	"github.com/avoformer/avoformer/transformer/safetensors"
)

// own is the project's model folders. AVOFORMER_HF names others.
const own = "testdata/folders"

// allowance is how many times the noise that a folder states for an output, the
// difference between float32 and float64 there, may be the difference here.
const allowance = 20

// TestFolders loads each folder, computes every output that its expected.safetensors
// has, and compares, on every tier.
func TestFolders(t *testing.T) {
	root, given := os.LookupEnv("AVOFORMER_HF")
	if !given {
		root = own
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	folders, compared := 0, 0
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		if _, err := os.Stat(filepath.Join(dir, "config.json")); err != nil {
			if _, err := os.Stat(filepath.Join(dir, "modules.json")); err != nil {
				continue // an index of the folders, a script
			}
		}
		folders++
		t.Run(e.Name(), func(t *testing.T) {
			tftest.EachTier(t, func(t *testing.T) { compared += compareFolder(t, dir) })
		})
	}
	if folders == 0 {
		t.Fatalf("no model folders under %s", root)
	}
	t.Logf("%d folders, %d outputs compared", folders, compared)
}

// expected is what a folder's expected.safetensors holds.
type expected struct {
	t       reporter
	file    *safetensors.File
	noise   map[string]float64
	used    map[string]bool
	outputs int
	// collect, unless nil, takes the outputs, which are not compared.
	collect func(name string, output []float32)
}

// compareFolder compares all outputs of a folder, and returns their number.
func compareFolder(t *testing.T, dir string) int {
	e := openExpected(t, dir)
	var o models.Options
	if strings.HasSuffix(dir, "-mxfp4") { // what stays in blocks is multiplied as integers
		o.WeightFormats = []models.NamedFormat{{Pattern: "*", Format: kernels.FormatF32}}
	}
	m, err := models.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Warnings) > 0 {
		t.Errorf("warnings: %q", m.Warnings)
	}
	e.all(m)
	return e.outputs
}

// compute computes everything that is expected.
func (e *expected) compute(m *models.Model) {
	ws := new(models.Workspace)
	e.text(ws, m)
	e.image(ws, m)
	e.joint(ws, m)
	e.speech(ws, m)
	e.generation(ws, m)
}

// all compares everything that is expected.
func (e *expected) all(m *models.Model) {
	e.compute(m)
	for _, name := range e.file.Names() {
		if !e.used[name] {
			e.t.Errorf("%s is not compared", name)
		}
	}
	if e.outputs == 0 {
		e.t.Errorf("nothing compared")
	}
}

// openExpected opens the expected.safetensors of a folder until the test ends.
func openExpected(t reporter, dir string) *expected {
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
	e := &expected{t: t, file: file, noise: map[string]float64{}, used: map[string]bool{}}
	for name, text := range about.Noise {
		if e.noise[name], err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func (e *expected) has(name string) bool { _, ok := e.file.Info(name); return ok }

// floats is an input, or an output that is expected.
func (e *expected) floats(name string) []float32 {
	e.used[name] = true
	x, err := e.file.Float32(name)
	if err != nil {
		e.t.Fatal(err)
	}
	return x
}

func (e *expected) ints(name string) []int {
	e.used[name] = true
	x, err := e.file.Int64(name)
	if err != nil {
		e.t.Fatal(err)
	}
	y := make([]int, len(x))
	for i, v := range x {
		y[i] = int(v)
	}
	return y
}

func (e *expected) shape(name string) []int { info, _ := e.file.Info(name); return info.Shape }

func (e *expected) ok(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// check compares an output. A shape of fewer rows than expected is filled by padded.
func (e *expected) check(name string, got []float32) {
	e.t.Helper()
	if e.collect != nil {
		e.collect(name, got)
		return
	}
	want := e.floats(name)
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

// batch is the rows of padded input, [sequences, length], that a mask admits.
type batch struct {
	models.Tokens
	rows   []int // of the padded input
	padded int   // number of rows with padding
}

// tokens is the named input without its padding.
func (e *expected) tokens(ids, mask, types string) batch {
	b := batch{}
	all := e.ints(ids)
	b.padded = len(all)
	keep := make([]int, len(all))
	for i := range keep {
		keep[i] = 1
	}
	if e.has(mask) {
		keep = e.ints(mask)
	}
	var kinds []int
	if e.has(types) {
		kinds = e.ints(types)
	}
	shape := e.shape(ids)
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

// pad is x, [rows, width], with rows of 0 for padding.
func (b batch) pad(x []float32) []float32 {
	width := len(x) / max(len(b.rows), 1)
	y := make([]float32, b.padded*width)
	for r, to := range b.rows {
		copy(y[to*width:(to+1)*width], x[r*width:(r+1)*width])
	}
	return y
}

// head applies a head to hidden states, with results rows.
func (e *expected) head(ws *models.Workspace, h models.Head, x []float32, in models.Tokens, results int) []float32 {
	e.t.Helper()
	y := make([]float32, results*h.Out())
	e.ok(h.Forward(ws, y, x, in))
	return y
}

// pooled is the name of what a pooler gives: projection where there is that output.
func (e *expected) pooled(projection string) string {
	if e.has(projection) {
		return projection
	}
	return "pooler_output"
}

// text compares what encoders give.
func (e *expected) text(ws *models.Workspace, m *models.Model) {
	if m.Encoder == nil || m.LM != nil || m.Joint != nil || !e.has("input_ids") {
		return
	}
	in := e.tokens("input_ids", "attention_mask", "token_type_ids")
	n := in.Batch.Len()
	x := make([]float32, in.Batch.Rows()*m.Encoder.Dim())
	e.ok(m.Encoder.Encode(ws, x, in.Tokens))
	if e.has("last_hidden_state") {
		e.check("last_hidden_state", in.pad(x))
	}
	if name := e.pooled("text_embeds"); e.has(name) && m.Heads[models.HeadPooler] != nil {
		e.check(name, e.head(ws, m.Heads[models.HeadPooler], x, in.Tokens, n))
	}
	if e.has("logits") {
		switch {
		case m.Heads[models.HeadClassifier] != nil:
			e.check("logits", e.head(ws, m.Heads[models.HeadClassifier], x, in.Tokens, n))
		case m.Heads[models.HeadNextSentence] != nil && m.Heads[models.HeadMaskedLM] == nil:
			e.check("logits", e.head(ws, m.Heads[models.HeadNextSentence], x, in.Tokens, n))
		case m.Heads[models.HeadTokenClassifier] != nil:
			e.check("logits", in.pad(e.head(ws, m.Heads[models.HeadTokenClassifier], x, in.Tokens, len(in.IDs))))
		case m.Heads[models.HeadMaskedLM] != nil:
			e.check("logits", in.pad(e.head(ws, m.Heads[models.HeadMaskedLM], x, in.Tokens, len(in.IDs))))
		}
	}
	if e.has("start_logits") && m.Heads[models.HeadAnswer] != nil {
		e.answer(in, e.head(ws, m.Heads[models.HeadAnswer], x, in.Tokens, len(in.IDs)))
	}
	if e.has("prediction_logits") && m.Heads[models.HeadMaskedLM] != nil {
		e.check("prediction_logits", in.pad(e.head(ws, m.Heads[models.HeadMaskedLM], x, in.Tokens, len(in.IDs))))
	}
	if e.has("seq_relationship_logits") && m.Heads[models.HeadNextSentence] != nil {
		e.check("seq_relationship_logits", e.head(ws, m.Heads[models.HeadNextSentence], x, in.Tokens, n))
	}
	e.sentence(ws, m, in)
	e.retrieval(ws, m, x, in)
}

// retrieval compares sparse vectors, and those of each token.
func (e *expected) retrieval(ws *models.Workspace, m *models.Model, x []float32, in batch) {
	if e.has("sparse_embedding") && m.Embedders.Sparse != nil {
		width := e.shape("sparse_embedding")[1]
		y := make([]float32, in.Batch.Len()*width)
		e.ok(m.Embedders.Sparse.Weigh(ws, x, in.Tokens, func(i int, v models.SparseVector) {
			for _, w := range v {
				y[i*width+w.Index] = w.Value
			}
		}))
		e.check("sparse_embedding", y)
	}
	if e.has("token_vectors") && m.Embedders.Tokens != nil {
		y := make([]float32, len(in.IDs)*m.Embedders.Tokens.Dim())
		e.ok(m.Embedders.Tokens.Project(ws, y, x, len(in.IDs)))
		e.check("token_vectors", in.pad(y))
	}
}

// answer compares the logits of an answer starting and ending at each token, [rows, 2].
func (e *expected) answer(in batch, logits []float32) {
	for side, name := range []string{"start_logits", "end_logits"} {
		x := make([]float32, len(in.IDs))
		for i := range x {
			x[i] = logits[2*i+side]
		}
		e.check(name, in.pad(x))
	}
}

// sentence compares the vectors of whole texts.
func (e *expected) sentence(ws *models.Workspace, m *models.Model, in batch) {
	if e.has("sentence_embedding") && m.Embedders.Sentence != nil {
		y := make([]float32, in.Batch.Len()*m.Embedders.Sentence.Dim())
		e.ok(m.Embedders.Sentence.Embed(ws, y, in.Tokens))
		e.check("sentence_embedding", y)
	}
}

// image compares what encoders of images give.
func (e *expected) image(ws *models.Workspace, m *models.Model) {
	if m.Image == nil || m.Joint != nil || !e.has("pixel_values") {
		return
	}
	pixels, shape := e.floats("pixel_values"), e.shape("pixel_values")
	n, h, w := shape[0], shape[2], shape[3]
	rows, err := m.Image.Rows(h, w)
	e.ok(err)
	x := make([]float32, n*rows*m.Image.Dim())
	e.ok(m.Image.EncodeImages(ws, x, pixels, n, h, w))
	if e.has("last_hidden_state") {
		e.check("last_hidden_state", x)
	}
	if e.has("logits") && m.Heads[models.HeadImageClassifier] != nil {
		e.check("logits", e.head(ws, m.Heads[models.HeadImageClassifier], x, models.Tokens{Batch: transformer.Uniform(n, rows)}, n))
	}
	if name := e.pooled("image_embeds"); e.has(name) && m.Heads[models.HeadImagePooler] != nil {
		e.check(name, e.head(ws, m.Heads[models.HeadImagePooler], x, models.Tokens{Batch: transformer.Uniform(n, rows)}, n))
	}
}

// speech compares what encoders of samples give, and the logits of characters.
func (e *expected) speech(ws *models.Workspace, m *models.Model) {
	if m.Audio == nil || !e.has("input_values") {
		return
	}
	samples, shape := e.floats("input_values"), e.shape("input_values")
	rows := m.Audio.Rows(shape[1])
	x := make([]float32, shape[0]*rows*m.Audio.Dim())
	e.ok(m.Audio.EncodeAudio(ws, x, samples, shape[0], shape[1]))
	if e.has("last_hidden_state") {
		e.check("last_hidden_state", x)
	}
	if e.has("logits") && m.Heads[models.HeadCTC] != nil {
		e.check("logits", e.head(ws, m.Heads[models.HeadCTC], x, models.Tokens{Batch: transformer.Uniform(shape[0], rows)}, shape[0]*rows))
	}
}

// joint compares the vectors of texts and images, and what they have in common.
func (e *expected) joint(ws *models.Workspace, m *models.Model) {
	if m.Joint == nil {
		return
	}
	in := e.tokens("input_ids", "attention_mask", "")
	texts := make([]float32, in.Batch.Len()*m.Joint.Dim())
	e.ok(m.Joint.EmbedTexts(ws, texts, in.Tokens))
	e.check("text_embeds", texts)
	shape := e.shape("pixel_values")
	images := make([]float32, shape[0]*m.Joint.Dim())
	e.ok(m.Joint.EmbedImages(ws, images, e.floats("pixel_values"), shape[0], shape[2], shape[3]))
	e.check("image_embeds", images)
	logits := make([]float32, shape[0]*in.Batch.Len())
	e.ok(m.Joint.Compare(ws, logits, images, texts))
	e.check("logits_per_image", logits)
}
