// Vectors of each token, before they are pooled.

package text

import (
	"context"
	"fmt"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
)

// Prompt is the text of a prompt, by its name as EmbedOptions has it.
func (e *Embedder) Prompt(name string) (string, error) {
	prompt, _, err := e.prompt(name)
	return prompt, err
}

// EmbedTokens returns the hidden states of all tokens of each input, [tokens][width of the model], special tokens and
// those of the prompt included, before they are pooled, cut or scaled. If LongSplit makes several windows of an input, the
// error matches fault.ErrInput.
func (e *Embedder) EmbedTokens(ctx context.Context, inputs []Input, o EmbedOptions) (Results[[][]float32], error) {
	if err := o.forTokens(); err != nil {
		return Results[[][]float32]{}, err
	}
	before, limit, err := e.prompt(o.Prompt)
	if err != nil {
		return Results[[][]float32]{}, err
	}
	out := make([][][]float32, len(inputs))
	dim := e.model.Encoder.Dim()
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows) > 1 {
				return fmt.Errorf("%w: text %d has %d windows, whose tokens have no vectors in common", fault.ErrInput, in.Number, len(in.Windows))
			}
			return nil
		},
		Kind:    -1,
		Compute: e.fromStates(e.states),
		Finish: func(in *queue.Input, results [][]float32) {
			rows := append([]float32(nil), results[0]...) // [tokens, D]
			vectors := make([][]float32, len(rows)/dim)
			for i := range vectors {
				vectors[i] = rows[i*dim : (i+1)*dim : (i+1)*dim]
			}
			out[in.Number] = vectors
		},
	}
	n, err := e.serveInputs(ctx, c, inputs, before, e.limitOf(limit), e.encoding(), o.InputOptions)
	return results(out, n, err)
}

// states are the hidden states x, [rows, D], window by window: [tokens, D] of each.
func (e *Embedder) states(_ *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
	dim := e.model.Encoder.Dim()
	for i := range in.Batch.Len() {
		result(i, x[in.Batch.Start(i)*dim:in.Batch.Start(i+1)*dim])
	}
	return nil
}
