// Scores of texts for a query.

package text

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
)

// Reranker scores texts for a query with a cross-encoder, which is a classifier of one label, or with a language model of the
// kind of Qwen3-Reranker and mxbai-rerank-v2: its score is the probability of yes against no, and its raw score the difference of
// their logits. jina-reranker-v3 reads a list of texts together with the query: its scores are cosines of vectors at the ends of
// the texts and of the query.
type Reranker struct {
	*base
	sigmoid bool
	judge   *judge  // of a language model; nil: there is none
	ranker  *ranker // of a model of lists; nil: there is none
}

// KindReranker is the kind of a [Reranker].
const KindReranker Kind = "reranker"

func reranker() record {
	return record{
		KindInfo: KindInfo{Type: "Reranker", Task: "text-ranking", Command: "rerank", Options: append(slices.Clone(forTexts), "Instruction")},
		kind:     KindReranker, use: models.UseScore, open: opening(openReranker),
		fits: func(m *models.Model) bool {
			return m.Encoder != nil && m.Heads[models.HeadClassifier] != nil && m.Heads[models.HeadClassifier].Out() == 1
		},
		lacks: "has no classifier of texts",
	}
}

// OpenReranker opens the model in a folder.
func OpenReranker(dir string, o Options) (*Reranker, error) {
	return openIn(dir, o, openReranker)
}

func openReranker(fsys fs.FS, o Options) (*Reranker, error) {
	fields, err := models.TokenizerFields(fsys, "CrossEncoder")
	if err != nil {
		return nil, err
	}
	f, err := openBase(fsys, reranker(), o, fields)
	if err != nil {
		return nil, err
	}
	if asked := models.TraitsOf(f.model.Config.ModelType).Judge; asked != nil && f.model.LM != nil && f.model.Encoder == nil {
		j, err := openJudge(f, asked)
		return &Reranker{base: f, sigmoid: true, judge: j}, err
	}
	if f.model.Heads[models.HeadRanking] != nil {
		r, err := openRanker(f)
		return &Reranker{base: f, ranker: r}, err
	}
	if f.options.Instruction != "" {
		return nil, check.Option("Instruction", f.options.Instruction, "the model is not a language model")
	}
	if c := f.model.Heads[models.HeadClassifier]; f.model.Encoder != nil && c != nil && c.Out() != 1 {
		return nil, folder.Errorf("a reranker has one label, this model has %d", c.Out())
	}
	if err := reranker().check(f.model); err != nil {
		return nil, err
	}
	if err := f.setLimit(0); err != nil {
		return nil, err
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

// RerankOptions says how one call scores texts.
type RerankOptions struct {
	InputOptions
	Raw bool // scores are the model's logits
	// Apart scores each text by itself. Without it, jina-reranker-v3 reads a list of texts at once, so that scores depend on
	// the other texts and their order. Other models score texts by themselves anyway.
	Apart bool
}

// Score returns the score of each text for the query; higher is better.
func (r *Reranker) Score(ctx context.Context, query string, texts []string, o RerankOptions) (Results[float32], error) {
	if r.ranker != nil {
		scores, counts, err := r.ranker.scores(ctx, r.base, query, texts, o)
		return results(scores, counts, err)
	}
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
	return results(scores, counts, err)
}

// Ranked is a text's number among those given, with its score.
type Ranked struct {
	Index int     `json:"index"`
	Score float32 `json:"score"`
}

// Rank returns the texts in the order of their scores, the best first. The Counts are in the order of the texts as given.
func (r *Reranker) Rank(ctx context.Context, query string, texts []string, o RerankOptions) (Results[Ranked], error) {
	scores, err := r.Score(ctx, query, texts, o)
	if err != nil {
		return Results[Ranked]{}, err
	}
	out := make([]Ranked, len(texts))
	for i, s := range scores.Outputs {
		out[i] = Ranked{i, s}
	}
	slices.SortStableFunc(out, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
	return Results[Ranked]{out, scores.Counts}, nil
}

// Warm computes a pair.
func (r *Reranker) Warm(ctx context.Context) error {
	_, err := r.Score(ctx, hello, []string{hello}, RerankOptions{})
	return warmed(err)
}
