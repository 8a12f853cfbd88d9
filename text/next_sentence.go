// Whether a text follows another.

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

// NextSentence says how likely texts follow others, with a model of BERT's second task (Devlin et al., 2019).
type NextSentence struct{ *base }

func nextSentence() record {
	return record{
		KindInfo: KindInfo{Type: "NextSentence", Task: "text-classification", Options: forTexts},
		kind:     KindNextSentence, use: models.UseNextSentence, open: opening(OpenNextSentenceFS),
		fits:  func(m *models.Model) bool { return m.Encoder != nil && m.NextSentence != nil },
		lacks: "has no head for next sentences",
	}
}

// OpenNextSentence opens the model in a folder.
func OpenNextSentence(dir string, opts ...Option) (*NextSentence, error) {
	return openIn(dir, OpenNextSentenceFS, opts)
}

// OpenNextSentenceFS is OpenNextSentence for a file system whose root is the folder.
func OpenNextSentenceFS(fsys fs.FS, opts ...Option) (*NextSentence, error) {
	f, err := openFitting(fsys, nextSentence(), opts)
	if err != nil {
		return nil, err
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	return &NextSentence{f}, nil
}

// Follows is the probability that the second text of each pair follows the first.
func (s *NextSentence) Follows(ctx context.Context, pairs [][2]string) ([]float32, error) {
	out := make([]float32, len(pairs))
	err := s.logits(ctx, pairs, func(i int, logits []float32) {
		softmax(logits)
		out[i] = logits[0]
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Logits is what the model gives each pair: a logit for that the second text follows, and one for that it does not.
func (s *NextSentence) Logits(ctx context.Context, pairs [][2]string) ([][2]float32, error) {
	out := make([][2]float32, len(pairs))
	if err := s.logits(ctx, pairs, func(i int, logits []float32) { out[i] = [2]float32(logits) }); err != nil {
		return nil, err
	}
	return out, nil
}

func (s *NextSentence) logits(ctx context.Context, pairs [][2]string, use func(i int, logits []float32)) error {
	inputs := make([]Input, len(pairs))
	for i, p := range pairs {
		inputs[i] = Input{Text: p[0], Second: p[1], Pair: true}
	}
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows[0].IDs) == 0 {
				return fmt.Errorf("%w: pair %d has no tokens", fault.ErrInput, in.Number)
			}
			return nil
		},
		Compute: s.headOf(s.model.NextSentence, false),
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
	_, err := s.serveInputs(ctx, c, inputs, "", s.limit, tokenizer.Options{}, InputOptions{})
	return err
}

// Warm computes a pair.
func (p *NextSentence) Warm(ctx context.Context) error {
	_, err := p.Follows(ctx, [][2]string{{hello, hello}})
	return warmed(err)
}
