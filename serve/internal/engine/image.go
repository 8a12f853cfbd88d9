// This file computes labels and vectors of images.

package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/avoformer/avoformer/internal/replica"
	"github.com/avoformer/avoformer/text"
)

// atOnce returns the number of requests whose images are computed at a time. They share the threads
// of their model. A model decodes at a time only images that together have at most the pixels of
// the largest allowed image.
func atOnce() int { return max(2, replica.Threads()) }

// ClassifyImages returns the labels of image files with their logits, the best first. model is the
// name of a model; "" is the first classifier of images. Errors have a kind.
func (e *Engine) ClassifyImages(ctx context.Context, model string, files [][]byte) ([][]text.Label, error) {
	var out [][]text.Label
	err := look(ctx, e, model, text.KindImageClassifier, files, func(p *text.ImageClassifier) error {
		logits, err := p.Logits(ctx, files)
		names := p.Labels()
		for _, scores := range logits {
			labels := make([]text.Label, len(scores))
			for i, s := range scores {
				labels[i] = text.Label{Label: names[i], Score: s}
			}
			slices.SortStableFunc(labels, func(a, b text.Label) int { return cmp.Compare(b.Score, a.Score) })
			out = append(out, labels)
		}
		return err
	})
	return out, err
}

// EmbedImages returns the vectors of image files. model is the name of a model; "" is the first
// embedder of images. Errors have a kind.
func (e *Engine) EmbedImages(ctx context.Context, model string, files [][]byte) (out [][]float32, err error) {
	err = look(ctx, e, model, text.KindImageEmbedder, files, func(p *text.ImageEmbedder) error {
		out, err = p.Embed(ctx, files)
		return err
	})
	return out, err
}

// look reserves files and calls with with a model. It waits while too many requests compute images.
func look[P text.Pipeline](ctx context.Context, e *Engine, model string, kind text.Kind, files [][]byte, with func(p P) error) error {
	switch most := e.config.Batch; {
	case len(files) == 0:
		return Errorf(Empty, "no images are given")
	case len(files) > most:
		return Errorf(TooLarge, "%d images are given, at most %d are possible in one request", len(files), most)
	}
	done, err := e.reserve(len(files))
	if err != nil {
		return err
	}
	defer done()
	p, release, err := use[P](ctx, e, model, kind)
	if err != nil {
		return AsError(err)
	}
	defer release()
	r := RecordOf(ctx)
	began := r.start()
	select {
	case e.looking <- struct{}{}:
		defer func() { <-e.looking }()
	case <-ctx.Done():
		return AsError(context.Cause(ctx))
	}
	r.Wait += time.Since(began)
	err = with(p)
	r.Compute = time.Since(began)
	if err != nil {
		return AsError(err)
	}
	r.Texts += len(files)
	return nil
}
