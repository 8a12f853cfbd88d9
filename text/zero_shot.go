// This file labels texts with labels that a model was not trained on, by entailment.

package text

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/elementary"
	"github.com/avoformer/avoformer/text/internal/folder"
	"github.com/avoformer/avoformer/text/tokenizer"
)

// ZeroShotOptions says how ZeroShot scores labels. The zero value is as transformers' pipeline
// does.
type ZeroShotOptions struct {
	InputOptions
	// Template makes a hypothesis of a label, as Python's str.format does: it has {} or {0} where
	// the label goes, and {{ and }} for braces; empty: "This example is {}."
	Template string
	// Independent scores each label by itself, so that several may be true (multi_label): the
	// probability of entailment against that of contradiction. Otherwise the scores of a text have
	// the sum 1.
	Independent bool
}

// ZeroShot scores labels that the caller names, with a model of natural language inference: each
// text is the premise, and what the template makes of each label the hypothesis (Yin et al., 2019,
// "Benchmarking Zero-shot Text Classification"). The best label of a text comes first. The model's
// own label of entailment is the one that begins with "entail", in lower or upper case; that of
// contradiction is its first one, or the last if the first is entailment. Of texts that are too
// long the premise is cut.
func (c *Classifier) ZeroShot(ctx context.Context, texts, labels []string, o ZeroShotOptions) (Results[[]Label], error) {
	var none Results[[]Label]
	hypothesis, err := hypotheses(cmp.Or(o.Template, "This example is {}."))
	if err != nil {
		return none, err
	}
	if len(labels) == 0 {
		return none, fmt.Errorf("%w: no labels", fault.ErrInput)
	}
	entailment := -1
	for i, l := range c.model.Config.Labels {
		if strings.HasPrefix(strings.ToLower(l), "entail") {
			entailment = i
			break
		}
	}
	if entailment < 0 || len(c.model.Config.Labels) < 2 {
		return none, folder.Errorf("labels %q: none begins with \"entail\", as those of models for natural language inference do", c.model.Config.Labels)
	}
	contradiction := 0
	if entailment == 0 {
		contradiction = len(c.model.Config.Labels) - 1
	}
	var inputs []Input
	for _, t := range texts {
		for _, l := range labels {
			inputs = append(inputs, Input{Text: t, Second: hypothesis(l), Pair: true})
		}
	}
	o.strategy = tokenizer.OnlyFirst
	scores := make([]float32, len(inputs))
	alone := o.Independent || len(labels) == 1
	counts, err := c.logits(ctx, inputs, o.InputOptions, func(i int, logits []float32) {
		if scores[i] = logits[entailment]; alone {
			scores[i] = float32(1 / (1 + elementary.Exp(float64(logits[contradiction])-float64(logits[entailment]))))
		}
	})
	if err != nil {
		return none, err
	}
	out := make([][]Label, len(texts))
	for i := range out {
		s := scores[i*len(labels):][:len(labels)]
		if !alone {
			softmax(s)
		}
		out[i] = ranked(s, labels)
	}
	return Results[[]Label]{out, counts.joined(len(labels))}, nil
}

// hypotheses returns what makes hypotheses of labels by a template.
func hypotheses(template string) (of func(label string) string, err error) {
	const wants = "want {} or {0} where the label goes, and {{ and }} for braces"
	parts := []string{""} // of the text, between which the label goes
	field := ""
	for rest := template; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "{{"), strings.HasPrefix(rest, "}}"):
			parts[len(parts)-1] += rest[:1]
			rest = rest[2:]
		case rest[0] == '{':
			name, after, closed := strings.Cut(rest, "}")
			if name += "}"; !closed || name != "{}" && name != "{0}" || field == "{}" || field != "" && field != name {
				return nil, check.Option("Template", template, wants)
			}
			field, rest, parts = name, after, append(parts, "")
		case rest[0] == '}':
			return nil, check.Option("Template", template, wants)
		default:
			n := strings.IndexAny(rest+"{", "{}")
			parts[len(parts)-1] += rest[:n]
			rest = rest[n:]
		}
	}
	if field == "" {
		return nil, check.Option("Template", template, wants)
	}
	return func(label string) string { return strings.Join(parts, label) }, nil
}

// joined returns the counts of inputs of which each became n.
func (c Counts) joined(n int) Counts {
	j := newCounts(len(c.Tokens) / n)
	j.Wait = c.Wait
	for i := range c.Tokens {
		j.Tokens[i/n] += c.Tokens[i]
		j.Windows[i/n] = max(j.Windows[i/n], c.Windows[i])
		j.Cut[i/n] = j.Cut[i/n] || c.Cut[i]
	}
	return j
}
