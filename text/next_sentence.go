// This file has pipelines that say whether a text follows another.

package text

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// NextSentence says how likely it is that a text follows another one, with a model of BERT's second
// task (Devlin et al., 2019).
type NextSentence struct{ *base }

// KindNextSentence is the kind of a [NextSentence].
const KindNextSentence Kind = "next-sentence"

func nextSentence() record {
	return record{
		KindInfo: KindInfo{Type: "NextSentence", Task: "text-classification", Options: forTexts},
		kind:     KindNextSentence, use: models.UseNextSentence, open: opening(openNextSentence),
		lacks: "has no head for next sentences",
	}
}

// OpenNextSentence opens the model in a folder.
func OpenNextSentence(dir string, o Options) (*NextSentence, error) {
	return openIn(dir, o, openNextSentence)
}

func openNextSentence(fsys fs.FS, o Options) (*NextSentence, error) {
	f, err := openFitting(fsys, nextSentence(), o)
	if err != nil {
		return nil, err
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	return &NextSentence{f}, nil
}

// Follows returns for each pair the probability that its second text follows the first. A single
// text is a fault.ErrInput.
func (s *NextSentence) Follows(ctx context.Context, pairs []Input, o InputOptions) (Results[float32], error) {
	out := make([]float32, len(pairs))
	counts, err := s.logits(ctx, pairs, o, func(i int, logits []float32) {
		softmax(logits)
		out[i] = logits[0]
	})
	return results(out, counts, err)
}

// Logits returns the two logits of each pair: that its second text follows the first, and that it
// does not.
func (s *NextSentence) Logits(ctx context.Context, pairs []Input, o InputOptions) (Results[[2]float32], error) {
	out := make([][2]float32, len(pairs))
	counts, err := s.logits(ctx, pairs, o, func(i int, logits []float32) { out[i] = [2]float32(logits) })
	return results(out, counts, err)
}

func (s *NextSentence) logits(ctx context.Context, pairs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
	for i, p := range pairs {
		if !p.Pair && p.IDs == nil {
			return Counts{}, fmt.Errorf("%w: input %d is a single text, want a pair", fault.ErrInput, i)
		}
	}
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows[0].IDs) == 0 {
				return fmt.Errorf("%w: pair %d has no tokens", fault.ErrInput, in.Number)
			}
			return nil
		},
		Compute: s.headOf(s.model.Heads[models.HeadNextSentence], false),
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
	return s.serveInputs(ctx, c, pairs, "", s.limit, tokenizer.Options{}, o)
}

// Warm computes a pair.
func (p *NextSentence) Warm(ctx context.Context) error {
	_, err := p.Follows(ctx, Pairs([2]string{hello, hello}), InputOptions{})
	return warmed(err)
}
