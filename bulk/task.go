// The tasks: vectors, scores and labels of texts.

package bulk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/textline"
	"github.com/avoformer/avoformer/text"
)

// A Task computes columns of texts.
type Task struct {
	// Name identifies the task, and whatever its results depend on in addition to the model, such
	// as a prompt. Manifests hold it.
	Name string
	// Fingerprint, unless nil, is that of the model, such as [text.Embedder.Fingerprint]. Manifests
	// hold it too, and a run does not continue one of another fingerprint.
	Fingerprint func(ctx context.Context) (string, error)
	// Columns are those that it makes.
	Columns []Column
	// Compute makes the values of texts, each as long as Columns. It is called by several
	// goroutines.
	Compute func(ctx context.Context, texts []string) ([]Result, error)
}

// A Result is what a task made of a text.
type Result struct {
	Values []any
	Tokens int  // that were computed
	Cut    bool // the text was cut, as text.Counts.Cut says
	// Windows is how many the text was computed in: more than one of a text that was split.
	Windows int
	Err     error
}

// counted are the columns after those of a task.
var counted = []Column{{Name: "tokens", Kind: Int32}, {Name: "cut", Kind: Bool}, {Name: "windows", Kind: Int32}}

// append appends the values of a task's columns and of counted.
func (r Result) append(values []any) []any {
	return append(append(values, r.Values...), int32(r.Tokens), r.Cut, int32(r.Windows))
}

// Embed makes vectors of e, with the prompt of a name; "" is the folder's default.
func Embed(e *text.Embedder, prompt string, v Vectors) (Task, error) {
	if err := v.check(); err != nil {
		return Task{}, err
	}
	if prompt != "" && !slices.Contains(e.Prompts(), prompt) {
		return Task{}, check.Errorf(fault.ErrOption, "no prompt %q, the folder has %q", prompt, e.Prompts())
	}
	return Task{
		Name:        fmt.Sprintf("embed prompt=%q vectors=%s", prompt, v),
		Fingerprint: e.Fingerprint,
		Columns:     v.columns(e.Dim()),
		Compute: func(ctx context.Context, texts []string) ([]Result, error) {
			r, err := e.Embed(ctx, text.Texts(texts...), text.EmbedOptions{Prompt: prompt})
			return results(r, err, v.values)
		},
	}, nil
}

// Rank makes a column "score" of how well texts answer the query.
func Rank(r *text.Reranker, query string) Task {
	return Task{
		Name:        fmt.Sprintf("rank query=%q", query),
		Fingerprint: r.Fingerprint,
		Columns:     []Column{{Name: "score", Kind: Float32}},
		Compute: func(ctx context.Context, texts []string) ([]Result, error) {
			r, err := r.Score(ctx, query, texts, text.RerankOptions{Apart: true}) // so that results do not depend on where a page ends
			return results(r, err, func(score float32) ([]any, error) { return []any{score}, nil })
		},
	}
}

// Classify makes the columns "label" and "score", the best label with its score, and "labels", all
// of them as JSON.
func Classify(c *text.Classifier) Task {
	return Task{
		Name:        "classify",
		Fingerprint: c.Fingerprint,
		Columns:     []Column{{Name: "label", Kind: String}, {Name: "score", Kind: Float32}, {Name: "labels", Kind: JSON}},
		Compute: func(ctx context.Context, texts []string) ([]Result, error) {
			r, err := c.Classify(ctx, text.Texts(texts...), text.ClassifyOptions{})
			return results(r, err, func(labels []text.Label) ([]any, error) {
				return []any{labels[0].Label, labels[0].Score, string(appendLabels(nil, labels))}, nil
			})
		},
	}
}

// appendLabels appends labels as JSON, with null for scores that JSON has not.
func appendLabels(dst []byte, labels []text.Label) []byte {
	return appendList(dst, len(labels), func(dst []byte, i int) []byte {
		dst = append(append(append(dst, `{"label":`...), textline.Quote(labels[i].Label)...), `,"score":`...)
		return append(appendFloat(dst, float64(labels[i].Score), 32), '}')
	})
}

// results returns the results of the texts that n counts, whose columns have the values of its
// outputs.
func results[T any](n text.Results[T], err error, values func(output T) ([]any, error)) ([]Result, error) {
	if err != nil {
		return nil, err
	}
	out := make([]Result, len(n.Outputs))
	for i := range out {
		out[i] = Result{Tokens: n.Tokens[i], Cut: n.Cut[i], Windows: n.Windows[i]}
		out[i].Values, out[i].Err = values(n.Outputs[i])
	}
	return out, nil
}

// Each computes texts. If they fail together, it computes halves of them, down to single texts. A
// text that its own content makes fail, or that is not UTF-8, has an Err. The error that Each
// returns is that of the context, or one that has other causes.
func (t Task) Each(ctx context.Context, texts []string) ([]Result, error) {
	out := make([]Result, len(texts))
	var good []string
	for i, s := range texts {
		if !utf8.ValidString(s) {
			out[i].Err = errUTF8
		} else {
			good = append(good, s)
		}
	}
	if len(good) == 0 {
		return out, nil
	}
	results, err := t.each(ctx, good)
	if err != nil || len(good) == len(texts) {
		return results, err
	}
	for i := range out {
		if out[i].Err == nil {
			out[i], results = results[0], results[1:]
		}
	}
	return out, nil
}

// each is Each of UTF-8, at least one.
func (t Task) each(ctx context.Context, texts []string) ([]Result, error) {
	out, err := t.Compute(ctx, texts)
	if err == nil && len(out) != len(texts) {
		return nil, fmt.Errorf("bulk: the task %q gave %d results of %d texts", t.Name, len(out), len(texts))
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(texts) == 1 && (errors.Is(err, fault.ErrInput) || errors.Is(err, fault.ErrNotFinite)):
		if at, ok := errors.AsType[*text.InputError](err); ok {
			err = at.Err // a dead letter has its own number
		}
		return []Result{{Err: err}}, nil
	case len(texts) == 1:
		return nil, err
	}
	half := len(texts) / 2
	first, err := t.each(ctx, texts[:half])
	if err != nil {
		return nil, err
	}
	second, err := t.each(ctx, texts[half:])
	return append(first, second...), err
}
