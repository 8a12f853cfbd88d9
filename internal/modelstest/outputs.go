package modelstest

import (
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/transformer"
)

// head applies a head to hidden states. It returns results rows.
func (e *Expected) head(ws *models.Workspace, h models.Head, x []float32, in models.Tokens, results int) []float32 {
	e.t.Helper()
	y := make([]float32, results*h.Out())
	e.NoError(h.Forward(ws, y, x, in))
	return y
}

// pooled returns the name of a pooler's output: projection if there is such an output.
func (e *Expected) pooled(projection string) string {
	if e.Has(projection) {
		return projection
	}
	return "pooler_output"
}

// text compares the outputs of encoders of texts.
func (e *Expected) text(ws *models.Workspace, m *models.Model) {
	if m.Encoder == nil || m.LM != nil || m.Joint != nil || !e.Has("input_ids") {
		return
	}
	in := e.Tokens("input_ids", "attention_mask", "token_type_ids")
	n := in.Batch.Len()
	x := make([]float32, in.Batch.Rows()*m.Encoder.Dim())
	e.NoError(m.Encoder.Encode(ws, x, in.Tokens))
	if e.Has("last_hidden_state") {
		e.Check("last_hidden_state", in.Pad(x))
	}
	if name := e.pooled("text_embeds"); e.Has(name) && m.Heads[models.HeadPooler] != nil {
		e.Check(name, e.head(ws, m.Heads[models.HeadPooler], x, in.Tokens, n))
	}
	if e.Has("logits") {
		switch {
		case m.Heads[models.HeadClassifier] != nil:
			e.Check("logits", e.head(ws, m.Heads[models.HeadClassifier], x, in.Tokens, n))
		case m.Heads[models.HeadNextSentence] != nil && m.Heads[models.HeadMaskedLM] == nil:
			e.Check("logits", e.head(ws, m.Heads[models.HeadNextSentence], x, in.Tokens, n))
		case m.Heads[models.HeadTokenClassifier] != nil:
			e.Check("logits", in.Pad(e.head(ws, m.Heads[models.HeadTokenClassifier], x, in.Tokens, len(in.IDs))))
		case m.Heads[models.HeadMaskedLM] != nil:
			e.Check("logits", in.Pad(e.head(ws, m.Heads[models.HeadMaskedLM], x, in.Tokens, len(in.IDs))))
		}
	}
	if e.Has("start_logits") && m.Heads[models.HeadAnswer] != nil {
		e.answer(in, e.head(ws, m.Heads[models.HeadAnswer], x, in.Tokens, len(in.IDs)))
	}
	if e.Has("prediction_logits") && m.Heads[models.HeadMaskedLM] != nil {
		e.Check("prediction_logits", in.Pad(e.head(ws, m.Heads[models.HeadMaskedLM], x, in.Tokens, len(in.IDs))))
	}
	if e.Has("seq_relationship_logits") && m.Heads[models.HeadNextSentence] != nil {
		e.Check("seq_relationship_logits", e.head(ws, m.Heads[models.HeadNextSentence], x, in.Tokens, n))
	}
	e.sentence(ws, m, in)
	e.retrieval(ws, m, x, in)
}

// retrieval compares sparse vectors, and the vectors of each token.
func (e *Expected) retrieval(ws *models.Workspace, m *models.Model, x []float32, in Batch) {
	if e.Has("sparse_embedding") && m.Embedders.Sparse != nil {
		width := e.Shape("sparse_embedding")[1]
		y := make([]float32, in.Batch.Len()*width)
		e.NoError(m.Embedders.Sparse.Weigh(ws, x, in.Tokens, func(i int, v models.SparseVector) {
			for _, w := range v {
				y[i*width+w.Index] = w.Value
			}
		}))
		e.Check("sparse_embedding", y)
	}
	if e.Has("token_vectors") && m.Embedders.Tokens != nil {
		y := make([]float32, len(in.IDs)*m.Embedders.Tokens.Dim())
		e.NoError(m.Embedders.Tokens.Project(ws, y, x, len(in.IDs)))
		e.Check("token_vectors", in.Pad(y))
	}
}

// answer compares the logits of an answer starting and ending at each token, [rows, 2].
func (e *Expected) answer(in Batch, logits []float32) {
	for side, name := range []string{"start_logits", "end_logits"} {
		x := make([]float32, len(in.IDs))
		for i := range x {
			x[i] = logits[2*i+side]
		}
		e.Check(name, in.Pad(x))
	}
}

// sentence compares the vectors of whole texts.
func (e *Expected) sentence(ws *models.Workspace, m *models.Model, in Batch) {
	if e.Has("sentence_embedding") && m.Embedders.Sentence != nil {
		y := make([]float32, in.Batch.Len()*m.Embedders.Sentence.Dim())
		e.NoError(m.Embedders.Sentence.Embed(ws, y, in.Tokens))
		e.Check("sentence_embedding", y)
	}
}

// image compares the outputs of encoders of images.
func (e *Expected) image(ws *models.Workspace, m *models.Model) {
	if m.Image == nil || m.Joint != nil || !e.Has("pixel_values") {
		return
	}
	pixels, shape := e.Floats("pixel_values"), e.Shape("pixel_values")
	n, h, w := shape[0], shape[2], shape[3]
	rows, err := m.Image.Rows(h, w)
	e.NoError(err)
	x := make([]float32, n*rows*m.Image.Dim())
	e.NoError(m.Image.EncodeImages(ws, x, pixels, n, h, w))
	if e.Has("last_hidden_state") {
		e.Check("last_hidden_state", x)
	}
	if e.Has("logits") && m.Heads[models.HeadImageClassifier] != nil {
		e.Check("logits", e.head(ws, m.Heads[models.HeadImageClassifier], x, models.Tokens{Batch: transformer.Uniform(n, rows)}, n))
	}
	if name := e.pooled("image_embeds"); e.Has(name) && m.Heads[models.HeadImagePooler] != nil {
		e.Check(name, e.head(ws, m.Heads[models.HeadImagePooler], x, models.Tokens{Batch: transformer.Uniform(n, rows)}, n))
	}
}

// speech compares the outputs of encoders of samples, and the logits of characters.
func (e *Expected) speech(ws *models.Workspace, m *models.Model) {
	if m.Audio == nil || m.LM != nil {
		return
	}
	if e.Has("input_features") {
		e.spectrograms(ws, m)
	}
	if !e.Has("input_values") {
		return
	}
	samples, shape := e.Floats("input_values"), e.Shape("input_values")
	rows := m.Audio.Rows(shape[1])
	x := make([]float32, shape[0]*rows*m.Audio.Dim())
	e.NoError(m.Audio.EncodeAudio(ws, x, samples, shape[0], shape[1]))
	if e.Has("last_hidden_state") {
		e.Check("last_hidden_state", x)
	}
	if e.Has("logits") && m.Heads[models.HeadCTC] != nil {
		e.Check("logits", e.head(ws, m.Heads[models.HeadCTC], x, models.Tokens{Batch: transformer.Uniform(shape[0], rows)}, shape[0]*rows))
	}
}

// spectrograms compares the outputs of encoders of spectrograms, and the logits of tokens. It
// encodes each sound by itself and as a batch of two. Rows under padding are 0.
func (e *Expected) spectrograms(ws *models.Workspace, m *models.Model) {
	all, shape := e.Floats("input_features"), e.Shape("input_features") // [sounds, frames, features]
	sounds, frames, bins := shape[0], shape[1], shape[2]
	dim, most := m.Audio.Dim(), m.Audio.Rows(frames)
	hidden := make([]float32, sounds*most*dim)
	logits, head := []float32(nil), m.Heads[models.HeadCTC]
	for s := range sounds {
		n := frames
		if e.Has("attention_mask") {
			n = 0
			for _, valid := range e.Ints("attention_mask")[s*frames : (s+1)*frames] {
				n += valid
			}
		}
		x := make([]float32, bins*n) // [features, frames]
		for i, v := range all[s*frames*bins:][:n*bins] {
			x[i%bins*n+i/bins] = v
		}
		rows := m.Audio.Rows(n)
		y := make([]float32, 2*rows*dim)
		e.NoError(m.Audio.EncodeAudio(ws, y, append(slices.Clone(x), x...), 2, n)) // a batch of the same sound twice
		if !slices.Equal(y[:rows*dim], y[rows*dim:]) {
			e.t.Errorf("sound %d: two equal sounds of a batch differ", s)
		}
		copy(hidden[s*most*dim:], y[:rows*dim])
		if head != nil {
			z := e.head(ws, head, y[:rows*dim], models.Tokens{Batch: transformer.Uniform(1, rows)}, rows)
			logits = append(logits, append(z, make([]float32, (most-rows)*head.Out())...)...)
		}
	}
	e.Check("last_hidden_state", hidden)
	for s := range sounds {
		if m.Transducer != nil {
			e.emissions(ws, m, hidden[s*most*dim:(s+1)*most*dim], s)
		}
	}
	if head != nil {
		e.Check("logits", logits)
	}
}

// emissions compares the tokens that a transducer writes for hidden states, for all states at once
// and in pieces. Each token has the index of the hidden state at which it is written, and the
// number of states that it covers.
func (e *Expected) emissions(ws *models.Workspace, m *models.Model, hidden []float32, sound int) {
	name := "emissions_" + strconv.Itoa(sound)
	frames, dim := e.Ints("frames")[sound], m.Audio.Dim()
	hidden = hidden[:m.Audio.Rows(frames)*dim]
	hear := func(rows int) (all []int) {
		state := m.Transducer.Begin(m.Audio.Rows(frames + 1)) // transformers' features have a frame of padding
		for part := range slices.Chunk(hidden, rows*dim) {
			said, err := m.Transducer.Hear(ws, state, part)
			e.NoError(err)
			for _, s := range said {
				all = append(all, s.Token, s.Row, s.Rows)
			}
		}
		return all
	}
	got := hear(len(hidden) / dim)
	if pieces := hear(3); !slices.Equal(pieces, got) {
		e.t.Errorf("%s: %v in pieces, %v at once", name, pieces, got)
	}
	if e.Collect != nil {
		e.Collect(name, floatsOf(got))
	} else if e.Has(name) { // folders that only the comparison of models uses have no emissions
		if want := e.Ints(name); !slices.Equal(got, want) {
			e.t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// joint compares the vectors of texts and images, and their logits.
func (e *Expected) joint(ws *models.Workspace, m *models.Model) {
	if m.Joint == nil {
		return
	}
	in := e.Tokens("input_ids", "attention_mask", "")
	texts := make([]float32, in.Batch.Len()*m.Joint.Dim())
	e.NoError(m.Joint.EmbedTexts(ws, texts, in.Tokens))
	e.Check("text_embeds", texts)
	shape := e.Shape("pixel_values")
	images := make([]float32, shape[0]*m.Joint.Dim())
	e.NoError(m.Joint.EmbedImages(ws, images, e.Floats("pixel_values"), shape[0], shape[2], shape[3]))
	e.Check("image_embeds", images)
	logits := make([]float32, shape[0]*in.Batch.Len())
	e.NoError(m.Joint.Compare(ws, logits, images, texts))
	e.Check("logits_per_image", logits)
}
