// This file measures how -weights changes vectors: for all weights, and for each part of the model.

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text"
	"github.com/avoformer/avoformer/transformer"
)

// checkedParts is the number of texts that measure each part.
const checkedParts = 100

// drift is the distance of vectors from those with weights in float32.
type drift struct {
	n, worst   int // the number of texts, and the line of the worst one
	sum, least float64
}

// add adds the vectors of texts. first is the line of the first text.
func (d *drift) add(got, want [][]float32, first int) {
	for i := range got {
		c := cosine(got[i], want[i])
		if d.sum += c; d.n == 0 || c < d.least {
			d.least, d.worst = c, first+i
		}
		d.n++
	}
}

func (d *drift) String() string {
	return fmt.Sprintf("mean cosine %.6f, least %.6f (line %d)", d.sum/float64(d.n), d.least, d.worst)
}

// printDrift prints the drift of a part, or of the whole model if part is "". It prints a line that
// begins with label, or JSON.
func (a *app) printDrift(e *embedding, label, part string, d *drift) error {
	if !e.json {
		_, err := fmt.Fprintln(a.out, label, d)
		return err
	}
	said := map[string]any{"weights": e.weights, "texts": d.n, "mean": d.sum / float64(d.n), "least": d.least, "index": d.worst - 1}
	if part != "" {
		said["part"] = part
	}
	return a.printJSON(said)
}

// checkWeights compares vectors with those from weights in float32, and prints how much each part
// of the model changes them.
func (a *app) checkWeights(m *text.Embedder, in *lines, e *embedding, dir string) error {
	exact, err := openModel(a, text.OpenEmbedder, dir, e.without())
	if err != nil {
		return err
	}
	var all drift
	var texts []string // the first texts, and their vectors
	var vectors [][]float32
	err = in.eachChunk(chunkLines, func(first int, chunk []string) error {
		got, err := e.vectors(a.ctx, m, chunk)
		if err != nil {
			return err
		}
		want, err := e.vectors(a.ctx, exact, chunk)
		if err != nil {
			return err
		}
		all.add(got, want, first+1)
		n := min(len(chunk), checkedParts-len(texts))
		texts, vectors = append(texts, chunk[:n]...), append(vectors, want[:n]...)
		return nil
	})
	if err != nil {
		return err
	} else if in.N == 0 {
		return errNoTexts
	}
	if err := a.printDrift(e, fmt.Sprintf("%s compared with f32 on %d texts:", e.weights, in.N), "", &all); err != nil {
		return err
	}
	changed := changedHoldings(exact.Holdings(), m.Holdings())
	for _, by := range []struct {
		what string
		of   func(name string) string
	}{{"layers", layerOf}, {"matrices", kindOf}} {
		if err := a.checkParts(by.what, partsOf(changed, by.of), texts, vectors, e, dir); err != nil {
			return err
		}
	}
	return nil
}

// modelPart is a group of a model's weights.
type modelPart struct {
	name    string
	weights []models.NamedFormat
	drift   drift
}

// checkParts measures and prints the drift of each part if only that part has its format. The part
// with the largest drift comes first.
func (a *app) checkParts(what string, parts []*modelPart, texts []string, want [][]float32, e *embedding, dir string) error {
	if len(parts) < 2 {
		return nil
	}
	for _, part := range parts {
		o := e.without()
		o.Model.WeightFormats = part.weights
		m, err := openModel(a, text.OpenEmbedder, dir, o)
		if err != nil {
			return err
		}
		got, err := e.vectors(a.ctx, m, texts)
		if err != nil {
			return err
		}
		part.drift.add(got, want, 1)
	}
	slices.SortStableFunc(parts, func(x, y *modelPart) int { return cmp.Compare(x.drift.sum, y.drift.sum) })
	if !e.json {
		fmt.Fprintf(a.out, "%s, one at a time, on %d texts, the largest change first:\n", what, len(texts))
	}
	for _, part := range parts {
		if err := a.printDrift(e, fmt.Sprintf("  %-50s", part.name), part.name, &part.drift); err != nil {
			return err
		}
	}
	return nil
}

// changedHoldings returns the holdings of y whose format differs in x.
func changedHoldings(x, y []transformer.Holding) []transformer.Holding {
	of := map[string]kernels.Format{}
	for _, h := range x {
		of[h.Name] = h.Format
	}
	return slices.DeleteFunc(slices.Clone(y), func(h transformer.Holding) bool { return of[h.Name] == h.Format })
}

// partsOf groups weights by a part of their names, which the function of returns, in the order of
// the weights.
func partsOf(weights []transformer.Holding, of func(name string) string) []*modelPart {
	var parts []*modelPart
	for _, w := range weights {
		name := of(w.Name)
		i := slices.IndexFunc(parts, func(p *modelPart) bool { return p.name == name })
		if i < 0 {
			i = len(parts)
			parts = append(parts, &modelPart{name: name})
		}
		parts[i].weights = append(parts[i].weights, models.NamedFormat{Pattern: w.Name, Format: w.Format})
	}
	return parts
}

// layerOf returns the pattern of all weights in the layer of the named weight. kindOf returns the
// pattern of the same weight in all layers.
func layerOf(name string) string {
	before, layer, _ := cutLayer(name)
	if layer == "" {
		return name
	}
	return before + layer + ".*"
}

func kindOf(name string) string {
	before, layer, after := cutLayer(name)
	if layer == "" {
		return name
	}
	return before + "*" + after
}

// cutLayer cuts a name before and after the number of its layer.
func cutLayer(name string) (before, layer, after string) {
	at := 0
	for part := range strings.SplitSeq(name, ".") {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			return name[:at], part, name[at+len(part):]
		}
		at += len(part) + 1
	}
	return name, "", ""
}
