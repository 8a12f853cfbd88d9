// Batches without padding.

package text

import (
	"slices"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/tokenizer"
	"github.com/avoformer/avoformer/transformer"
)

// tokensOf is a batch as models take it.
func tokensOf(batch []*tokenizer.Encoding) models.Tokens {
	lengths := make([]int, len(batch))
	types, hidden := false, false
	in := models.Tokens{}
	for i, e := range batch {
		lengths[i] = len(e.IDs)
		in.IDs = append(in.IDs, e.IDs...)
		types = types || slices.ContainsFunc(e.TypeIDs, func(t int) bool { return t != 0 })
		hidden = hidden || slices.Contains(e.Attention, false)
	}
	if hidden {
		for _, e := range batch {
			n := slices.Index(e.Attention, false)
			if n < 0 {
				n = len(e.IDs)
			}
			in.Visible = append(in.Visible, n)
		}
	}
	if types {
		for _, e := range batch {
			in.Types = append(in.Types, e.TypeIDs...)
		}
	}
	in.Batch = transformer.Ragged(lengths...)
	return in
}

func (f *folder) workspace(threads kernels.Threads) *models.Workspace {
	ws := f.pool.Get().(*models.Workspace)
	ws.Threads = threads
	return ws
}
