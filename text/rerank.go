// This file scores texts for a query.

package text

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/internal/queue"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// Reranker scores texts for a query with a cross-encoder: a classifier of one label, modules of
// sentence-transformers that make a score of a vector, or a language model. The score of a language
// model of the kind of Qwen3-Reranker and mxbai-rerank-v2 is the probability of yes against no, and
// its raw score the difference of their logits; one that sentence-transformers' CrossEncoder saved
// is asked by the folder's chat template, and its files say which logits count. jina-reranker-v3
// reads a list of texts together with the query: its scores are cosines of vectors at the ends of
// the texts and of the query.
type Reranker struct {
	*base
	activation func(logits []float32)
	cross      *models.CrossEncoder // what the files of sentence-transformers say; it is empty if there are none
	scorer     scorer
	ranker     *ranker // of a model of lists; nil: there is none
}

// scorer hands the logit of each pair to use. All pairs have the same query; the prompt is what
// goes before it, or tells a language model what is asked.
type scorer func(ctx context.Context, prompt string, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error)

// KindReranker is the kind of a [Reranker].
const KindReranker Kind = "reranker"

func reranker() record {
	return record{
		KindInfo: KindInfo{Type: "Reranker", Task: "text-ranking", Command: "rerank", Options: append(slices.Clone(forTexts), "Instruction")},
		kind:     KindReranker, use: models.UseScore, open: opening(openReranker),
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
	r := &Reranker{base: f, cross: new(models.CrossEncoder), activation: sigmoid}
	c, warnings, err := models.OpenCrossEncoder(fsys, f.model)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		r.warning(w)
	}
	if c != nil {
		r.cross = c
	}
	asked := models.TraitsOf(f.model.Config.ModelType).Judge
	switch {
	case r.cross.Logits != nil:
	case asked != nil && f.model.Serves(models.UseText) && r.cross.Modules == nil:
		j, err := openJudge(f, asked)
		if err != nil {
			return nil, err
		}
		r.scorer = j.scores
		return r, nil
	case f.model.Heads[models.HeadRanking] != nil:
		r.ranker, err = openRanker(f)
		return r, err
	case f.options.Instruction != "":
		return nil, check.Option("Instruction", f.options.Instruction, "the model is not a language model")
	case r.cross.Modules != nil:
	default:
		if c := f.model.Heads[models.HeadClassifier]; f.model.Serves(models.UseLabels) && c.Out() != 1 {
			return nil, folder.Errorf("a reranker has one label, this model has %d", c.Out())
		}
		if err := reranker().check(f.model); err != nil {
			return nil, err
		}
	}
	return r, r.openCross()
}

// openCross applies what the files of sentence-transformers say.
func (r *Reranker) openCross() error {
	f, c := r.base, r.cross
	if err := f.setLimit(0); err != nil {
		return err
	}
	if c.MaxLength > 0 {
		f.limit = c.MaxLength
		if err := f.setLimit(0); err != nil {
			return err
		}
	}
	var err error
	if c.LowerCase {
		if f.tokenizer, err = f.tokenizer.WithLowercase(); err != nil {
			return err
		}
	}
	if r.activation, err = r.readActivation(c.Activation); err != nil {
		return err
	}
	switch {
	case c.Logits != nil && c.Logits.Chat:
		r.scorer, err = openChatScores(f, c.Logits)
	case c.Logits != nil:
		r.scorer = f.scoring(lastLogits(f, c.Logits.True, c.Logits.False))
	case c.Modules != nil:
		r.scorer = f.scoring(pooled(c.Modules, 0))
	default:
		r.scorer = f.scoring(f.headOf(f.model.Heads[models.HeadClassifier], false))
	}
	return err
}

// scoring returns a scorer of pairs that the tokenizer joins, with the prompt before the query.
func (f *base) scoring(compute queue.Computation) scorer {
	return func(ctx context.Context, prompt string, inputs []Input, o InputOptions, use func(i int, logits []float32)) (Counts, error) {
		return f.serveInputs(ctx, scores(compute, use), inputs, prompt, f.limit, tokenizer.Options{}, o)
	}
}

// scores returns a call that hands a logit of each input to use.
func scores(compute queue.Computation, use func(i int, logits []float32)) *queue.Call {
	return &queue.Call{
		Check: func(in *queue.Input) error {
			if len(in.Windows[0].IDs) == 0 {
				return fmt.Errorf("%w: text %d has no tokens", fault.ErrInput, in.Number)
			}
			return nil
		},
		Compute: compute,
		Finish:  func(in *queue.Input, results [][]float32) { use(in.Number, results[0]) },
	}
}

// activations make scores of logits, by their names in torch.nn.
var activations = map[string]func(x []float32){
	"Identity":   func([]float32) {},
	"Sigmoid":    sigmoid,
	"Tanh":       func(x []float32) { kernels.Threads(1).Tanh(x, x) },
	"ReLU":       func(x []float32) { kernels.Threads(1).ReLU(x, x) },
	"GELU":       func(x []float32) { kernels.Threads(1).GELU(x, x) },
	"SiLU":       func(x []float32) { kernels.Threads(1).SiLU(x, x) },
	"Softplus":   func(x []float32) { kernels.Threads(1).Softplus(x, x) },
	"LogSigmoid": func(x []float32) { negate(x); kernels.Threads(1).Softplus(x, x); negate(x) },
}

func negate(x []float32) {
	for i := range x {
		x[i] = -x[i]
	}
}

// readActivation returns what makes scores of logits: what config_sentence_transformers.json says,
// or else config.json in one of two places, and a sigmoid if nothing does. Classes that are not
// PyTorch's are code of the folder, which sentence-transformers does not run.
func (r *Reranker) readActivation(first string) (func(x []float32), error) {
	var config struct {
		Old json.RawMessage            `json:"sbert_ce_default_activation_function"`
		New map[string]json.RawMessage `json:"sentence_transformers"`
	}
	if err := folder.ReadJSON(r.fsys, "config.json", &config); err != nil {
		return nil, err
	}
	second, ok := config.New["activation_fn"]
	if !ok {
		second = config.Old
	}
	names := []struct{ file, class string }{{"config_sentence_transformers.json", first}, {file: "config.json"}}
	if len(second) > 0 {
		if err := pyjson.Unmarshal(second, &names[1].class); err != nil {
			return nil, folder.FileError("config.json", "activation_fn", check.JSON(second), "of a reranker: %w", err)
		}
	}
	for _, name := range names {
		switch {
		case name.class == "":
			continue
		case !strings.HasPrefix(name.class, "torch."):
			r.warning(fmt.Sprintf("activation_fn = %q: ignored, as by sentence-transformers, which runs no code of the folder", name.class))
			continue
		}
		at := strings.LastIndex(name.class, ".")
		where, class, home := name.class[:at], name.class[at+1:], "torch.nn.modules.activation"
		if class == "Identity" {
			home = "torch.nn.modules.linear"
		}
		act, ok := activations[class]
		if !ok || where != home && where != "torch.nn.modules" && where != "torch.nn" {
			return nil, folder.FileError(name.file, "activation_fn", strconv.Quote(name.class), "not supported for a reranker")
		}
		return act, nil
	}
	return sigmoid, nil
}

// RerankOptions says how one call scores texts.
type RerankOptions struct {
	InputOptions
	// Prompt is the name of one of the prompts that the folder of a cross-encoder has; "" is its
	// default prompt, if it has one. It goes before the query, or tells a language model what is
	// asked, in place of Options.Instruction.
	Prompt string
	Raw    bool // scores are the model's logits
	// Apart scores each text by itself. Without it, jina-reranker-v3 reads a list of texts at once,
	// so that scores depend on the other texts and their order. Other models score texts by
	// themselves anyway.
	Apart bool
}

// Score returns the score of each text for the query; higher is better. Without texts there are no
// scores. The query and the texts may be empty: the model then scores the special tokens or the
// template around them.
func (r *Reranker) Score(ctx context.Context, query string, texts []string, o RerankOptions) (Results[float32], error) {
	if r.ranker != nil {
		if o.Prompt != "" {
			return Results[float32]{}, fmt.Errorf("%w: no prompt %q, the folder has none", fault.ErrInput, o.Prompt)
		}
		scores, counts, err := r.ranker.scores(ctx, r.base, query, texts, o)
		return results(scores, counts, err)
	}
	prompt, err := r.prompt(o.Prompt)
	if err != nil {
		return Results[float32]{}, err
	}
	scores := make([]float32, len(texts))
	inputs := make([]Input, len(texts))
	for i, t := range texts {
		inputs[i] = Input{Text: query, Second: t, Pair: true}
	}
	counts, err := r.scorer(ctx, prompt, inputs, o.InputOptions, func(i int, logits []float32) {
		if !o.Raw {
			r.activation(logits)
		}
		scores[i] = logits[0]
	})
	return results(scores, counts, err)
}

// Prompts returns the names of the folder's prompts.
func (r *Reranker) Prompts() []string { return slices.Sorted(maps.Keys(r.cross.Prompts)) }

// prompt returns the prompt of a name as RerankOptions has it.
func (r *Reranker) prompt(name string) (string, error) {
	if name == "" {
		return cmp.Or(r.options.Instruction, r.cross.DefaultPrompt), nil
	}
	prompt, ok := r.cross.Prompts[name]
	if !ok {
		return "", fmt.Errorf("%w: no prompt %q, the folder has %q", fault.ErrInput, name, r.Prompts())
	}
	return prompt, nil
}

// Ranked is a text's number among those given, with its score.
type Ranked struct {
	Index int     `json:"index"`
	Score float32 `json:"score"`
}

// Rank returns the texts in the order of their scores, the best first. The Counts are in the order
// of the texts as given.
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
