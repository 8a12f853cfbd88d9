// Words for the blanks of a text.

package text

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// MaskFiller says what the masked tokens of texts could be, with a model that was trained to fill
// them.
type MaskFiller struct {
	*base
	mask int
}

// Filling is a token in place of a mask.
type Filling struct {
	Token string  `json:"token_str"`
	ID    int     `json:"token"`
	Score float32 `json:"score"` // the probability
	// Text is the text with the token in it: without special tokens, unless there are other masks.
	Text string `json:"sequence"`
}

// KindMaskFiller is the kind of a [MaskFiller].
const KindMaskFiller Kind = "mask-filler"

func maskFiller() record {
	return record{
		KindInfo: KindInfo{Type: "MaskFiller", Task: "fill-mask", Options: forTexts},
		kind:     KindMaskFiller, use: models.UseMasks, open: opening(openMaskFiller),
		lacks: "has no head for masked words",
	}
}

// OpenMaskFiller opens the model in a folder.
func OpenMaskFiller(dir string, o Options) (*MaskFiller, error) {
	return openIn(dir, o, openMaskFiller)
}

func openMaskFiller(fsys fs.FS, o Options) (*MaskFiller, error) {
	f, err := openFitting(fsys, maskFiller(), o)
	if err != nil {
		return nil, err
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	name := f.tokenizer.Config().Special["mask_token"]
	mask, ok := f.tokenizer.TokenID(name)
	if !ok {
		return nil, folder.FileError("tokenizer_config.json", "mask_token", fmt.Sprintf("%q", name), "want a token of the vocabulary")
	}
	return &MaskFiller{f, mask}, nil
}

// Mask returns the token that stands for a blank, such as [MASK].
func (m *MaskFiller) Mask() string { return m.tokenizer.Config().Special["mask_token"] }

// FillOptions says how one call fills masks.
type FillOptions struct {
	InputOptions
	Best int // tokens for each mask; 0: 5
}

// Fill returns the likeliest tokens for each mask of each input, the best first. A text without a
// mask is a fault.ErrInput.
func (m *MaskFiller) Fill(ctx context.Context, inputs []Input, o FillOptions) (Results[[][]Filling], error) {
	if o.Best < 0 {
		return Results[[][]Filling]{}, check.Option("Best", o.Best, "want at least 0")
	}
	k := cmp.Or(o.Best, 5)
	out := make([][][]Filling, len(inputs))
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if !slices.Contains(in.Windows[0].IDs, m.mask) {
				return fmt.Errorf("%w: text %d has no %s among its tokens", fault.ErrInput, in.Number, m.Mask())
			}
			return nil
		},
		Compute: m.fromStates(m.logits),
		Finish: func(in *queue.Input, results [][]float32) {
			out[in.Number] = m.fillings(in.Windows[0].IDs, results[0], k)
		},
	}
	counts, err := m.serveInputs(ctx, c, inputs, "", m.limit, tokenizer.Options{}, o.InputOptions)
	return results(out, counts, err)
}

// logits computes the logits of the masks of each window, [masks, vocabulary], from the hidden
// states x, [rows, D].
func (m *MaskFiller) logits(ws *models.Workspace, x []float32, in models.Tokens, result func(i int, x []float32)) error {
	dim, n := m.model.Encoder.Dim(), m.model.Heads[models.HeadMaskedLM].Out()
	var masks []int // rows
	for i, id := range in.IDs {
		if id == m.mask {
			copy(x[len(masks)*dim:][:dim], x[i*dim:])
			masks = append(masks, i)
		}
	}
	ids := make([]int, len(masks))
	for i := range ids {
		ids[i] = m.mask
	}
	y := ws.Alloc(len(masks) * n) // [masks, vocabulary]
	if err := m.model.Heads[models.HeadMaskedLM].Forward(ws, y, x[:len(masks)*dim], models.Tokens{IDs: ids, Batch: transformer.Uniform(1, len(masks))}); err != nil {
		return err
	}
	next := 0
	for i := range in.Batch.Len() {
		first := next
		for next < len(masks) && masks[next] < in.Batch.Start(i+1) {
			next++
		}
		result(i, y[first*n:next*n])
	}
	return nil
}

// fillings returns the fillings of the masks among a text's tokens.
func (m *MaskFiller) fillings(ids []int, logits []float32, k int) [][]Filling {
	n := m.model.Heads[models.HeadMaskedLM].Out()
	var out [][]Filling
	masks := len(logits) / n
	for i, id := range ids {
		if id != m.mask {
			continue
		}
		p := logits[len(out)*n:][:n]
		softmax(p)
		list := make([]Filling, 0, min(k, n))
		for _, token := range likeliest(p, k) {
			filled := slices.Clone(ids)
			filled[i] = token
			list = append(list, Filling{m.tokenizer.Decode([]int{token}, false), token, p[token], m.tokenizer.Decode(filled, masks == 1)})
		}
		out = append(out, list)
	}
	return out
}

// likeliest returns the places of the k largest, the largest first, of equal ones the first.
func likeliest(p []float32, k int) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[b], p[a]) })
	return order[:min(k, len(order))]
}

// Warm computes a mask.
func (p *MaskFiller) Warm(ctx context.Context) error {
	_, err := p.Fill(ctx, Texts(p.Mask()), FillOptions{})
	return warmed(err)
}
