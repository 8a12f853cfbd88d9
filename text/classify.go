// Labels of texts, and scores of pairs.

package text

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Label is a label with its score: a probability, unless the model is one of
// regression.
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
func OpenClassifier(dir string, opts ...Option) (*Classifier, error) {
	return open(dir, OpenClassifierFS, opts)
}

// OpenClassifierFS is OpenClassifier for a file system whose root is the folder.
func OpenClassifierFS(fsys fs.FS, opts ...Option) (*Classifier, error) {
	f, err := openClassifying(fsys, opts, "Classifier", nil)
	if err != nil {
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
	case f.model.Config.MultiLabel || f.model.Classifier.Out() == 1:
		c.activation = sigmoid
	default:
		c.activation = softmax
	}
	return c, nil
}

// openClassifying opens a folder that has a classifier of texts, with fields in the place of those of
// tokenizer_config.json.
func openClassifying(fsys fs.FS, opts []Option, pipeline string, fields map[string]json.RawMessage) (*base, error) {
	f, err := openFolderWith(fsys, pipeline, opts, true, fields)
	if err != nil {
		return nil, err
	}
	if pipeline == "Reranker" && f.model.LM != nil && f.model.Encoder == nil && f.model.Config.ModelType == "qwen3" {
		return f, nil
	}
	if f.instruction != "" {
		return nil, check.Option("Instruction", f.instruction, "the model is no language model")
	}
	if f.model.Encoder == nil || f.model.Classifier == nil {
		return nil, folder.Errorf("a %s of %s has no classifier of texts", strings.Join(f.model.Config.Architectures, ", "), f.model.Config.ModelType)
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
	}
	return f, nil
}

// Labels are the model's labels in their order.
func (c *Classifier) Labels() []string { return slices.Clone(c.model.Config.Labels) }

// Classify gives each text all labels with their scores, the best first. An
// empty text gets what the model makes of its special tokens.
func (c *Classifier) Classify(ctx context.Context, texts []string) ([][]Label, error) {
	labels, _, err := c.ClassifyInputs(ctx, Texts(texts), ClassifyOptions{})
	return labels, err
}

// ClassifyPairs is Classify for pairs of texts, such as premise and hypothesis.
func (c *Classifier) ClassifyPairs(ctx context.Context, pairs [][2]string) ([][]Label, error) {
	inputs := make([]Input, len(pairs))
	for i, p := range pairs {
		inputs[i] = Input{Text: p[0], Second: p[1], Pair: true}
	}
	labels, _, err := c.ClassifyInputs(ctx, inputs, ClassifyOptions{})
	return labels, err
}

// ClassifyOptions says how one call gets labels. The zero value is as Classify does.
type ClassifyOptions struct {
	InputOptions
	Raw bool // scores are the model's logits
}

// ClassifyInputs is Classify with options, for texts, pairs and tokens.
func (c *Classifier) ClassifyInputs(ctx context.Context, inputs []Input, o ClassifyOptions) ([][]Label, Counts, error) {
	out := make([][]Label, len(inputs))
	counts, err := c.logits(ctx, inputs, o.InputOptions, func(i int, logits []float32) {
		if !o.Raw {
			c.activation(logits)
		}
		out[i] = ranked(logits, c.model.Config.Labels)
	})
	if err != nil {
		return nil, counts, err
	}
	return out, counts, nil
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
				return fmt.Errorf("%w: text %d has no tokens", ErrInput, in.Number)
			}
			return nil
		},
		Compute: f.headOf(f.model.Classifier, false),
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
	return f.serveInputs(ctx, c, inputs, "", f.limit, tokenizer.Options{}, o)
}

func sigmoid(x []float32) {
	for i, v := range x {
		x[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
}

func softmax(x []float32) {
	most, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - most))
	}
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v-most)) / sum)
	}
}

// Reranker scores texts for a query with a cross-encoder, a classifier of one
// label, or with a language model of the kind of Qwen3-Reranker, of which the score is the probability of yes
// against no; the logit of it if raw scores are asked for.
type Reranker struct {
	*base
	sigmoid bool
	judge   *judge // of a language model; nil: there is a classifier
}

// OpenReranker opens the model in a folder.
func OpenReranker(dir string, opts ...Option) (*Reranker, error) {
	return open(dir, OpenRerankerFS, opts)
}

// OpenRerankerFS is OpenReranker for a file system whose root is the folder.
func OpenRerankerFS(fsys fs.FS, opts ...Option) (*Reranker, error) {
	fields, err := models.TokenizerFields(fsys, "CrossEncoder")
	if err != nil {
		return nil, err
	}
	f, err := openClassifying(fsys, opts, "Reranker", fields)
	if err != nil {
		return nil, err
	}
	if f.model.Classifier == nil {
		j, err := openJudge(f)
		return &Reranker{base: f, sigmoid: true, judge: j}, err
	}
	if n := f.model.Classifier.Out(); n != 1 {
		return nil, folder.Errorf("a reranker has one label, this model has %d", n)
	}
	c, err := models.OpenCrossEncoder(fsys, f.model)
	if err != nil {
		return nil, err
	}
	r := &Reranker{base: f}
	if c == nil {
		c = new(models.CrossEncoder)
	}
	if c.MaxLength > 0 {
		f.limit = c.MaxLength
		if err := f.setLimit(0); err != nil {
			return nil, err
		}
	}
	if c.LowerCase {
		if f.tokenizer, err = f.tokenizer.WithLowercase(); err != nil {
			return nil, err
		}
	}
	r.sigmoid, err = r.readActivation(c.Activation)
	return r, err
}

// readActivation is whether scores go through a sigmoid: what config_sentence_transformers.json
// says, or else config.json in one of two places, and yes if nothing does. Classes that are not
// PyTorch's are code of the folder, which sentence-transformers does not run.
func (r *Reranker) readActivation(first string) (bool, error) {
	var config struct {
		Old json.RawMessage            `json:"sbert_ce_default_activation_function"`
		New map[string]json.RawMessage `json:"sentence_transformers"`
	}
	if err := folder.ReadJSON(r.fsys, "config.json", &config); err != nil {
		return false, err
	}
	second, ok := config.New["activation_fn"]
	if !ok {
		second = config.Old
	}
	names := []string{first, ""}
	if len(second) > 0 {
		if err := pyjson.Unmarshal(second, &names[1]); err != nil {
			return false, folder.FileError("config.json", "activation_fn", check.JSON(second), "of a reranker: %w", err)
		}
	}
	for _, name := range names {
		switch name {
		case "":
		case "torch.nn.modules.activation.Sigmoid", "torch.nn.Sigmoid":
			return true, nil
		case "torch.nn.modules.linear.Identity", "torch.nn.Identity":
			return false, nil
		default:
			if strings.HasPrefix(name, "torch.") {
				return false, folder.FileError("config.json", "activation_fn", strconv.Quote(name), "not supported for a reranker")
			}
			r.warning(fmt.Sprintf("activation_fn = %q: ignored, as by sentence-transformers, which runs no code of the folder", name))
		}
	}
	return true, nil
}

// Score is the score of each text for the query: higher is better.
func (r *Reranker) Score(ctx context.Context, query string, texts []string) ([]float32, error) {
	scores, _, err := r.ScoreTexts(ctx, query, texts, ClassifyOptions{})
	return scores, err
}

// ScoreTexts is Score with options.
func (r *Reranker) ScoreTexts(ctx context.Context, query string, texts []string, o ClassifyOptions) ([]float32, Counts, error) {
	scores := make([]float32, len(texts))
	inputs := make([]Input, len(texts))
	for i, t := range texts {
		inputs[i] = Input{Text: query, Second: t, Pair: true}
	}
	compute := r.logits
	if r.judge != nil {
		compute = func(ctx context.Context, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
			return r.judge.scores(ctx, r.base, inputs, o, use)
		}
	}
	counts, err := compute(ctx, inputs, o.InputOptions, func(i int, logits []float32) {
		if r.sigmoid && !o.Raw {
			sigmoid(logits)
		}
		scores[i] = logits[0]
	})
	if err != nil {
		return nil, counts, err
	}
	return scores, counts, nil
}

// Ranked is a text's number among those given, with its score.
type Ranked struct {
	Index int     `json:"index"`
	Score float32 `json:"score"`
}

// Rank is the texts in the order of their scores, the best first.
func (r *Reranker) Rank(ctx context.Context, query string, texts []string) ([]Ranked, error) {
	scores, err := r.Score(ctx, query, texts)
	if err != nil {
		return nil, err
	}
	out := make([]Ranked, len(scores))
	for i, s := range scores {
		out[i] = Ranked{i, s}
	}
	slices.SortStableFunc(out, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return out, nil
}
