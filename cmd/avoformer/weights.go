// The flag -weights, and what it costs.

package main

import (
	"fmt"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/text"
)

const weightsUsage = "`format` of the weights: f32, bf16, f16 or int8"

// weightsOption is the option of a -weights flag.
func weightsOption(name string) (text.Option, error) {
	f, err := kernels.ParseFormat(name)
	if err != nil {
		return nil, usagef("-weights: %v", err)
	}
	return text.Weights(f), nil
}

// checkWeights compares vectors with those of the weights in float32.
func (a *app) checkWeights(m *text.Embedder, in *lines, e *embedding, dir string, p *progress) error {
	exact, err := text.OpenEmbedder(dir, e.options()...)
	if err != nil {
		return err
	}
	least, sum := 2.0, 0.0
	worst := 0
	for {
		first := in.n
		texts, err := in.chunk(chunkLines, nil)
		if err != nil {
			return err
		}
		if len(texts) == 0 {
			break
		}
		got, err := e.vectors(a.ctx, m, texts)
		if err != nil {
			return err
		}
		want, err := e.vectors(a.ctx, exact, texts)
		if err != nil {
			return err
		}
		for i := range got {
			c := cosine(got[i], want[i])
			if sum += c; c < least {
				least, worst = c, first+i+1
			}
		}
		p.tell(in.n, in.bytes)
	}
	p.done()
	if in.n == 0 {
		return fmt.Errorf("no texts to compare")
	}
	_, err = fmt.Fprintf(a.out, "%s beside f32 on %d texts: mean cosine %.6f, least %.6f (line %d)\n", e.weights, in.n, sum/float64(in.n), least, worst)
	return err
}
