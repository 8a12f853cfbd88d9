// This file has the tasks: vectors, scores and labels of texts.

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
	// Name identifies the task and everything that its results depend on in addition to the model,
	// such as a prompt. Manifests contain it.
	Name string
	// Fingerprint, unless nil, returns the fingerprint of the model, as [text.Embedder.Fingerprint]
	// does. Manifests contain it, and a run does not continue a run with another fingerprint.
	Fingerprint func(ctx context.Context) (string, error)
	// Columns are the columns of results.
	Columns []Column
	// Compute returns the results of texts. The values of each have the length of Columns. Several
	// goroutines call it at a time.
	Compute func(ctx context.Context, texts []string) ([]Result, error)
}

// A Result is the result of a task for one text.
type Result struct {
	Values []any
	Tokens int  // number of tokens that were computed
	Cut    bool // the text was cut, as text.Counts.Cut defines
	// Windows is the number of windows in which the text was computed. It is more than 1 if the
	// text was split.
	Windows int
	Err     error
}

// counted has the columns after those of a task.
var counted = []Column{{Name: "tokens", Kind: Int32}, {Name: "cut", Kind: Bool}, {Name: "windows", Kind: Int32}}

// append appends the values of the task's columns and of counted.
func (r Result) append(values []any) []any {
	return append(append(values, r.Values...), int32(r.Tokens), r.Cut, int32(r.Windows))
}

// Embed returns a task that computes vectors with e. prompt is the name of a prompt; "" is the
// folder's default.
func Embed(e *text.Embedder, prompt string, v Vectors) (Task, error) {
	if err := v.check(); err != nil {
		return Task{}, err
	}
	if prompt != "" && !slices.Contains(e.Prompts(), prompt) {
		return Task{}, check.Errorf(fault.ErrOption, "there is no prompt %q; the folder has %q", prompt, e.Prompts())
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

// Rank returns a task with a column "score", which says how well a text answers the query.
func Rank(r *text.Reranker, query string) Task {
	return Task{
		Name:        fmt.Sprintf("rank query=%q", query),
		Fingerprint: r.Fingerprint,
		Columns:     []Column{{Name: "score", Kind: Float32}},
		Compute: func(ctx context.Context, texts []string) ([]Result, error) {
			r, err := r.Score(ctx, query, texts, text.RerankOptions{Apart: true}) // so that results do not depend on the other texts of a call
			return results(r, err, func(score float32) ([]any, error) { return []any{score}, nil })
		},
	}
}

// Classify returns a task with the columns "label" and "score", the best label with its score, and
// "labels", all labels as JSON.
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

// appendLabels appends labels as JSON, with null for scores that are not finite.
func appendLabels(dst []byte, labels []text.Label) []byte {
	return appendList(dst, len(labels), func(dst []byte, i int) []byte {
		dst = append(append(append(dst, `{"label":`...), textline.Quote(labels[i].Label)...), `,"score":`...)
		return append(appendFloat(dst, float64(labels[i].Score), 32), '}')
	})
}

// results converts n to results of texts. values returns the values of the columns for an output.
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

// Each computes texts. If computing them together fails, it computes them by halves, down to single
// texts. If a text fails because of its content, or is not UTF-8, its Result has an Err. Each
// returns an error of the context, or an error that does not depend on the texts.
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

// each does the work of Each for at least one text, all in UTF-8.
func (t Task) each(ctx context.Context, texts []string) ([]Result, error) {
	out, err := t.Compute(ctx, texts)
	if err == nil && len(out) != len(texts) {
		return nil, fmt.Errorf("bulk: the task %q returned %d results for %d texts", t.Name, len(out), len(texts))
	}
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case len(texts) == 1 && (errors.Is(err, fault.ErrInput) || errors.Is(err, fault.ErrNotFinite)):
		if at, ok := errors.AsType[*text.InputError](err); ok {
			err = at.Err // without the index, which is always 0 here
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
