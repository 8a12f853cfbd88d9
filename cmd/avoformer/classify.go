// This file has the commands classify and rerank, which print labels, and scores for a query.

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/text"
)

// imageFiles are the extensions of image files.
var imageFiles = []string{".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"}

func classify(a *app, args []string) error {
	f := a.flags("classify")
	words := f.String("words", "", "label words, with this `aggregation` of their tokens: simple, none, first, average or max")
	input := f.input()
	top := f.Uint("top", 0, "print only so many labels of each input, the best")
	pixels := f.Int("pixels", 0, "most pixels of an image; default: 50 million")
	common := f.scoring("of -check too")
	rest, err := f.parse(args, 1, -1)
	if err != nil {
		return err
	}
	o, without, err := common.options()
	if err != nil {
		return err
	}
	if len(rest) > 1 && !*common.check && slices.Contains(imageFiles, strings.ToLower(filepath.Ext(rest[1]))) {
		o.MaxPixels = *pixels
		return a.classifyImages(rest[0], rest[1:], int(*top), o)
	}
	if len(rest) > 2 {
		return usagef("%s", f.usage)
	}
	if *common.check && *words != "" {
		return usagef("-check compares the labels of texts, not of -words")
	}
	in, err := input.open(arg(rest, 1))
	if err != nil {
		return err
	}
	defer in.Close()
	if *common.check {
		score, err := a.classifying(rest[0], o)
		if err != nil {
			return err
		}
		exact, err := a.classifying(rest[0], without)
		if err != nil {
			return err
		}
		return a.checkScores(in, common, score, exact)
	}
	label, err := a.labeler(rest[0], *words, int(*top), o)
	if err != nil {
		return err
	}
	if a.shown {
		in.progress.hide()
	}
	return in.eachChunk(chunkLines, func(_ int, texts []string) error {
		if err := label(texts); err != nil {
			return err
		}
		return a.out.Flush()
	})
}

// labeler returns a function that prints the labels of texts, or of their words if words is not
// empty.
func (a *app) labeler(dir, words string, top int, o text.Options) (func(texts []string) error, error) {
	if words != "" {
		how := slices.Index([]string{"simple", "none", "first", "average", "max"}, words)
		if how < 0 {
			return nil, usagef("-words %q, want simple, none, first, average or max", words)
		}
		c, err := openModel(a, text.OpenTokenClassifier, dir, o)
		return func(texts []string) error {
			found, err := c.Entities(a.ctx, texts, text.EntityOptions{Aggregation: text.Aggregation(how)})
			for i := 0; i < len(texts) && err == nil; i++ {
				err = a.printJSON(map[string]any{"text": texts[i], "entities": found.Outputs[i]})
			}
			return err
		}, err
	}
	classify, err := a.classifying(dir, o)
	return func(texts []string) error {
		labels, err := classify(texts)
		for i := 0; i < len(texts) && err == nil; i++ {
			err = a.printJSON(map[string]any{"text": texts[i], "labels": best(labels[i], top)})
		}
		return err
	}, err
}

func (a *app) classifying(dir string, o text.Options) (scoring, error) {
	c, err := openModel(a, text.OpenClassifier, dir, o)
	return func(texts []string) ([][]text.Label, error) {
		r, err := c.Classify(a.ctx, text.Texts(texts...), text.ClassifyOptions{})
		return r.Outputs, err
	}, err
}

func best(labels []text.Label, top int) []text.Label {
	if top > 0 && top < len(labels) {
		return labels[:top]
	}
	return labels
}

func (a *app) classifyImages(dir string, files []string, top int, o text.Options) error {
	c, err := openModel(a, text.OpenImageClassifier, dir, o)
	if err != nil {
		return err
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		labels, err := c.Classify(a.ctx, [][]byte{data})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := a.printJSON(map[string]any{"image": name, "labels": best(labels[0], top)}); err != nil {
			return err
		}
	}
	return nil
}

func rerank(a *app, args []string) error {
	f := a.flags("rerank")
	input := f.input()
	top := f.Uint("top", 0, "print only so many lines, the best")
	prompt := f.String("prompt", "", "`name` of a prompt in the folder, which goes before the query")
	common := f.scoring("a line for each: score, index from 0, text; of -check")
	rest, err := f.parse(args, 2, 3)
	if err != nil {
		return err
	}
	if rest[1] == "" { // such as a variable that is not set in the shell
		return usagef("rerank needs a query; it is empty")
	}
	o, without, err := common.options()
	if err != nil {
		return err
	}
	in, err := input.open(arg(rest, 2))
	if err != nil {
		return err
	}
	defer in.Close()
	if *common.check {
		return a.checkReranker(rest[0], rest[1], *prompt, in, common, o, without)
	}
	r, err := openModel(a, text.OpenReranker, rest[0], o)
	if err != nil {
		return err
	}
	texts, err := in.all()
	if err != nil {
		return err
	}
	ranked, err := r.Rank(a.ctx, rest[1], texts, text.RerankOptions{Prompt: *prompt})
	if err != nil {
		return ofLine(0, err)
	}
	for i, x := range ranked.Outputs {
		if *top > 0 && uint(i) == *top {
			break
		}
		if *common.json {
			err = a.printJSON(map[string]any{"score": x.Score, "index": x.Index, "text": texts[x.Index]})
		} else {
			_, err = fmt.Fprintf(a.out, "%.6f\t%d\t%s\n", x.Score, x.Index+1, texts[x.Index])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkReranker compares scores with those from weights in float32, which without selects.
func (a *app) checkReranker(dir, query, prompt string, in *lines, common scoringFlags, o, without text.Options) error {
	open := func(o text.Options) (scoring, error) {
		r, err := openModel(a, text.OpenReranker, dir, o)
		return func(texts []string) ([][]text.Label, error) {
			scores, err := r.Score(a.ctx, query, texts, text.RerankOptions{Prompt: prompt})
			labels := make([][]text.Label, len(scores.Outputs))
			for i, s := range scores.Outputs {
				labels[i] = []text.Label{{Score: s}}
			}
			return labels, err
		}, err
	}
	score, err := open(o)
	if err != nil {
		return err
	}
	exact, err := open(without)
	if err != nil {
		return err
	}
	return a.checkScores(in, common, score, exact)
}
