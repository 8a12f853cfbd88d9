package modelstest

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/avoformer/avoformer/generation"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// generation compares logits and greedy tokens of language models.
func (e *Expected) generation(ws *models.Workspace, m *models.Model) {
	if m.LM == nil {
		return
	}
	memory, memories := e.Memory(ws, m)
	ids, mask := "input_ids", "attention_mask"
	if memory != nil {
		ids, mask = "decoder_input_ids", "decoder_attention_mask"
	}
	in := e.Tokens(ids, mask, "")
	if e.Has("last_hidden_state") {
		x := make([]float32, len(in.IDs)*m.LM.Dim())
		e.NoError(m.LM.Hidden(ws, x, in.IDs, in.Batch, memory, nil))
		e.Check("last_hidden_state", in.Pad(x))
	}
	if e.Has("logits") {
		e.Check("logits", in.Pad(e.Logits(ws, m, in, memory)))
	}
	e.sentence(ws, m, in)
	e.Greedy(ws, m, memories)
}

// tiles is the name of the pixels of a text's images, [images, 3, height, width]. Each image fills
// placeholders of image_input_ids.
const tiles = "pixels"

// reading compares the logits of a text with images.
func (e *Expected) reading(ws *models.Workspace, m *models.Model) {
	if m.Images == nil {
		return
	}
	pixels, shape, ids := e.Floats(tiles), e.Shape(tiles), e.Ints("image_input_ids")
	rows, err := m.Images.Rows(shape[2], shape[3])
	e.NoError(err)
	dim, size := m.Images.Dim(), len(pixels)/shape[0]
	var soft []models.Soft
	for i, at := 0, 0; i < shape[0]; i++ {
		x := make([]float32, rows*dim) // [rows, D]
		e.NoError(m.Images.EncodeImages(ws, x, pixels[i*size:(i+1)*size], 1, shape[2], shape[3]))
		for at < len(ids) && ids[at] != m.Images.Token {
			at++
		}
		if end := at + rows; end > len(ids) || slices.ContainsFunc(ids[at:end], func(id int) bool { return id != m.Images.Token }) {
			e.t.Fatalf("image %d has %d soft tokens, and no place for them from token %d on", i, rows, at)
		}
		across := 0
		if m.Images.Side > 0 {
			across = shape[3] / m.Images.Side
		}
		soft = append(soft, models.Soft{At: at, X: x, Across: across})
		at += rows
	}
	x := make([]float32, len(ids)*m.LM.Dim())
	e.NoError(m.LM.(models.SoftReader).HiddenSoft(ws, x, ids, transformer.Ragged(len(ids)), soft, nil))
	y := make([]float32, len(ids)*m.LM.Vocab())
	e.NoError(m.LM.Logits(ws, y, x))
	e.Check("image_logits", y)
}

// Logits returns the logits of the next token after each token of in.
func (e *Expected) Logits(ws *models.Workspace, m *models.Model, in Batch, memory *models.Memory) []float32 {
	e.t.Helper()
	x := make([]float32, len(in.IDs)*m.LM.Dim())
	e.NoError(m.LM.Hidden(ws, x, in.IDs, in.Batch, memory, nil))
	y := make([]float32, len(in.IDs)*m.LM.Vocab())
	e.NoError(m.LM.Logits(ws, y, x))
	return y
}

// Prompts returns the prompts, and the expected result of greedy decoding for each.
func (e *Expected) Prompts(m *models.Model) (prompts, want [][]int) {
	var names []string
	for _, name := range e.File.Names() {
		if strings.HasPrefix(name, "greedy_") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		prompt := []int{m.Config.DecoderStart}
		if own := "prompt_" + strings.TrimPrefix(name, "greedy_"); e.Has("decoder_prompt") {
			prompt = e.Ints("decoder_prompt")
		} else if e.Has(own) {
			prompt = e.Ints(own)
		}
		prompts, want = append(prompts, prompt), append(want, e.Ints(name))
	}
	return prompts, want
}

// Greedy decodes each prompt on its own, with its memory if there are memories.
func (e *Expected) Greedy(ws *models.Workspace, m *models.Model, memories []models.Memory) {
	e.t.Helper()
	prompts, want := e.Prompts(m)
	for i, prompt := range prompts {
		var memory *models.Memory
		if memories != nil {
			memory = &memories[i]
		}
		got, err := generation.Collect(generation.Generate(e.t.Context(), generation.StartLM(ws, m.LM, memory, 1), prompt,
			generation.SamplerConfig{}, generation.Limits{MaxTokens: len(want[i])}))
		e.NoError(err)
		if e.Collect != nil {
			e.Collect(fmt.Sprintf("greedy_%d", i), floatsOf(got))
			continue
		}
		e.outputs++
		if !slices.Equal(got, want[i]) {
			e.t.Errorf("greedy_%d: %v, want %v", i, got, want[i])
		}
	}
}

// floatsOf returns tokens as numbers.
func floatsOf(tokens []int) []float32 {
	x := make([]float32, len(tokens))
	for i, token := range tokens {
		x[i] = float32(token)
	}
	return x
}

// Memory returns the outputs of the encoder, if there is one: for all sequences together, and for
// each.
func (e *Expected) Memory(ws *models.Workspace, m *models.Model) (*models.Memory, []models.Memory) {
	var all models.Memory
	dim := 0
	switch {
	case m.Audio != nil:
		input := "input_features" // [sounds, features, frames]
		if e.Has("input_values") {
			input = "input_values" // [sounds, samples]
		}
		features, shape := e.Floats(input), e.Shape(input)
		n, frames := shape[0], shape[len(shape)-1]
		rows := m.Audio.Rows(frames)
		dim = m.Audio.Dim()
		all = models.Memory{X: make([]float32, n*rows*dim), Batch: transformer.Uniform(n, rows)}
		e.NoError(m.Audio.EncodeAudio(ws, all.X, features, n, frames))
		e.Check("encoder_last_hidden_state", all.X)
	case m.Encoder != nil:
		in := e.Tokens("input_ids", "attention_mask", "")
		dim = m.Encoder.Dim()
		all = models.Memory{X: make([]float32, len(in.IDs)*dim), Batch: in.Batch}
		e.NoError(m.Encoder.Encode(ws, all.X, in.Tokens))
		e.Check("encoder_last_hidden_state", in.Pad(all.X))
	default:
		return nil, nil
	}
	var each []models.Memory
	for i := range all.Batch.Len() {
		each = append(each, models.Memory{X: all.X[all.Batch.Start(i)*dim : all.Batch.Start(i+1)*dim], Batch: transformer.Uniform(1, all.Batch.Length(i))})
	}
	return &all, each
}
