package block

import (
	"math"

	"github.com/avoformer/avoformer/transformer"
)

// PerLayer makes the per-layer embeddings of Gemma 3n and later: a vector of each token for each
// layer.
type PerLayer struct {
	Layers, Width int
	Project       *transformer.Linear    // from the vectors of the tokens to Layers*Width
	Norm          *transformer.Norm      // of Width, of what Project gives
	Tokens        *transformer.Embedding // [vocabulary, Layers*Width], added to that; nil: none
	Padded        bool                   // a token beyond the table has the first vector of it; else it is an error
}

// Forward sets dst, [Layers, rows, Width], for tokens and their vectors x, [rows, D].
func (p *PerLayer) Forward(ws *transformer.Workspace, dst []float32, tokens []int, x []float32) error {
	defer ws.Release(ws.Mark())
	rows, all := len(tokens), p.Layers*p.Width
	y := ws.Alloc(rows * all)
	if err := p.Project.Forward(ws, y, x); err != nil { // [rows, layers*P]
		return err
	}
	ws.Threads.Scale(y, y, float32(1/math.Sqrt(float64(p.Project.In))))
	if err := p.Norm.Forward(ws, y, y); err != nil { // [rows*layers, P]
		return err
	}
	if p.Tokens != nil {
		if err := p.Tokens.Add(ws, y, p.within(tokens)); err != nil { // y += vectors of the tokens  [rows, layers*P]
			return err
		}
		ws.Threads.Scale(y, y, float32(1/math.Sqrt2))
	}
	for r := range rows {
		for i := range p.Layers {
			copy(dst[(i*rows+r)*p.Width:][:p.Width], y[r*all+i*p.Width:])
		}
	}
	return nil
}

// within returns tokens, with token 0 for those beyond a padded table.
func (p *PerLayer) within(tokens []int) []int {
	if !p.Padded {
		return tokens
	}
	var own []int
	for i, t := range tokens {
		if t < p.Tokens.Vocab {
			continue
		}
		if own == nil {
			own = append(own, tokens...)
		}
		own[i] = 0
	}
	if own == nil {
		return tokens
	}
	return own
}
