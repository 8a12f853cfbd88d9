// Labels of texts, and scores of pairs.

package text

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Label is a label with its score: a probability, unless the model is one of regression.
type Label struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
}

// Classifier gives texts labels.
type Classifier struct {
	*base
	activation func(logits []float32)
}

// OpenClassifier opens the model in a folder.
func OpenClassifier(dir string, o Options) (*Classifier, error) {
	return openIn(dir, o, openClassifier)
}

func openClassifier(fsys fs.FS, o Options) (*Classifier, error) {
	f, err := openFitting(fsys, classifier(), o)
	if err != nil {
		return nil, err
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	c := &Classifier{base: f}
	var config struct {
		Problem any `json:"problem_type"`
	}
	if err := folder.ReadJSON(f.fsys, "config.json", &config); err != nil {
		return nil, err
	}
	switch {
	case config.Problem == "regression":
		c.activation = func([]float32) {}
	case f.model.Config.MultiLabel || f.model.Heads[models.HeadClassifier].Out() == 1:
		c.activation = sigmoid
	default:
		c.activation = softmax
	}
	return c, nil
}

// KindClassifier is the kind of a [Classifier].
const KindClassifier Kind = "classifier"

func classifier() record {
	return record{
		KindInfo: KindInfo{Type: "Classifier", Task: "text-classification", Command: "classify", Options: forTexts},
		kind:     KindClassifier, use: models.UseLabels, open: opening(openClassifier),
		lacks: "has no classifier of texts",
	}
}

// Warm computes a text.
func (c *Classifier) Warm(ctx context.Context) error {
	_, err := c.Classify(ctx, Texts(hello), ClassifyOptions{})
	return warmed(err)
}

// Labels returns the model's labels in their order.
func (c *Classifier) Labels() []string { return slices.Clone(c.model.Config.Labels) }

// ClassifyOptions says how one call labels inputs.
type ClassifyOptions struct {
	InputOptions
	Raw bool // scores are the model's logits
}

// Classify returns all labels of each input with their scores, the best first. The scores of an
// empty text are those of the special tokens.
func (c *Classifier) Classify(ctx context.Context, inputs []Input, o ClassifyOptions) (Results[[]Label], error) {
	out := make([][]Label, len(inputs))
	counts, err := c.logits(ctx, inputs, o.InputOptions, func(i int, logits []float32) {
		if !o.Raw {
			c.activation(logits)
		}
		out[i] = ranked(logits, c.model.Config.Labels)
	})
	return results(out, counts, err)
}

// ranked is scores with their labels, the best first.
func ranked(scores []float32, labels []string) []Label {
	out := make([]Label, len(scores))
	for i, s := range scores {
		out[i] = Label{fmt.Sprintf("LABEL_%d", i), s}
		if i < len(labels) {
			out[i].Label = labels[i]
		}
	}
	slices.SortStableFunc(out, func(a, b Label) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

// logits hands the classifier's output for each of the inputs to use, on several goroutines.
func (f *base) logits(ctx context.Context, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
	c := &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows[0].IDs) == 0 {
				return fmt.Errorf("%w: text %d has no tokens", fault.ErrInput, in.Number)
			}
			return nil
		},
		Compute: f.headOf(f.model.Heads[models.HeadClassifier], false),
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
	return f.serveInputs(ctx, c, inputs, "", f.limit, tokenizer.Options{}, o)
}

func sigmoid(x []float32) {
	for i, v := range x {
		x[i] = float32(1 / (1 + elementary.Exp(-float64(v))))
	}
}

func softmax(x []float32) {
	most, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += elementary.Exp(float64(v - most))
	}
	for i, v := range x {
		x[i] = float32(elementary.Exp(float64(v-most)) / sum)
	}
}
