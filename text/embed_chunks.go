// Vectors of the parts of a text.

package text

import (
	"context"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// EmbedChunks is late chunking (Günther et al., 2024, "Late Chunking: Contextual Chunk Embeddings
// Using Long-Context Embedding Models"): it returns a vector of each chunk of a text, of Dim
// elements, made of hidden states that have seen the whole text, in one pass. Chunks are ranges of
// the text's bytes, in any order; they may overlap. A token belongs to the chunk in which its first
// byte lies; special tokens and those of the prompt belong to none. The vector of a chunk without
// tokens is zero. The Counts are those of the one text.
//
// The model must make means of hidden states, else the error matches fault.ErrInput. If the text is
// longer than the model's limit, the error matches fault.ErrTooLong, whatever the options say about
// long texts.
func (e *Embedder) EmbedChunks(ctx context.Context, text string, chunks []tokenizer.Offset, o EmbedOptions) (Results[[]float32], error) {
	var none Results[[]float32]
	if !e.pool.PoolsMean() {
		return none, fmt.Errorf("%w: chunks of a model whose vectors are not means of hidden states", fault.ErrInput)
	}
	for i, c := range chunks {
		if c.Start < 0 || c.End < c.Start || c.End > len(text) {
			return none, fmt.Errorf("%w: chunk %d is bytes %d to %d of %d", fault.ErrInput, i, c.Start, c.End, len(text))
		}
	}
	prompt, limit, err := e.prompt(o.Prompt)
	if err != nil {
		return none, err
	}
	shape, err := e.shape(o)
	if err != nil {
		return none, err
	}
	var states []float32 // [tokens, D]
	var tokens *tokenizer.Encoding
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows) > 1 || in.Windows[0].Cut > 0 {
				return fmt.Errorf("%w: chunks need the whole text, and the model takes at most %d tokens", fault.ErrTooLong, e.limitOf(limit))
			}
			return nil
		},
		Kind:    -1,
		Compute: e.fromStates(e.states),
		Finish: func(in *queue.Input, results [][]float32) {
			states, tokens = append([]float32(nil), results[0]...), in.Windows[0]
		},
	}
	encoding := e.encoding()
	encoding.Offsets = tokenizer.Bytes
	n, err := e.serveInputs(ctx, c, Texts(text), prompt, e.limitOf(limit), encoding, o.InputOptions)
	if err != nil {
		return none, err
	}
	vectors, err := e.poolChunks(states, tokens, len(prompt), chunks, shape)
	return results(vectors, n, err)
}

// poolChunks returns the vectors of chunks of what follows a prompt of some bytes.
func (e *Embedder) poolChunks(states []float32, tokens *tokenizer.Encoding, prompt int, chunks []tokenizer.Offset, s shape) ([][]float32, error) {
	dim := e.model.Encoder.Dim()
	out := make([][]float32, len(chunks))
	var rows []float32 // [rows of all chunks, D]
	var lengths, of []int
	for i, c := range chunks {
		out[i] = make([]float32, s.dim)
		n := 0
		for t, at := range tokens.Offsets {
			if first := at.Start - prompt; !tokens.Special[t] && first >= c.Start && first < c.End {
				rows = append(rows, states[t*dim:(t+1)*dim]...)
				n++
			}
		}
		if n > 0 {
			lengths, of = append(lengths, n), append(of, i)
		}
	}
	if len(of) == 0 {
		return out, nil
	}
	ws := e.workspace()
	defer e.base.pool.Put(ws)
	batch := transformer.Ragged(lengths...)
	vectors := make([]float32, len(of)*s.pool.Dim()) // [chunks, width]
	if err := s.pool.Pool(ws, vectors, rows, batch); err != nil {
		return nil, err
	}
	if err := check.Finite(vectors); err != nil {
		return nil, err
	}
	one := []*tokenizer.Encoding{tokens}
	for i, to := range of {
		out[to] = s.joined(one, [][]float32{vectors[i*s.pool.Dim() : (i+1)*s.pool.Dim()]})
	}
	return out, nil
}
