// This file resizes images as Qwen 2 VL and its successors read them: each as a whole, in about its
// own shape and size.

package vision

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/pyjson"
)

// whole has the additional fields of the class for Qwen 2 VL.
type whole struct {
	side        int // of the square of patches that becomes a token, in pixels
	least, most int // pixels of an image
}

// mostShape is the largest ratio of the sides of an image.
const mostShape = 200

// configureWhole reads the additional fields of the class for Qwen 2 VL, in which size has numbers
// of pixels of an area.
func (p *Processor) configureWhole(c *config) error {
	p.crop = false
	patch, merge := c.Patch.Or(14), c.Merge.Or(2)
	for _, f := range []struct {
		name  string
		n     pyjson.Optional[int]
		limit int
	}{{"patch_size", patch, 1 << 7}, {"merge_size", merge, 1 << 4}} {
		if f.n.Null || f.n.Value < 1 || f.n.Value > f.limit {
			return configError(f.name, "%d, want 1 to %d", f.n.Value, f.limit)
		}
	}
	if frames := c.Frames.Or(2); frames.Null || frames.Value != 2 {
		return configError("temporal_patch_size", "%d, want 2", frames.Value)
	}
	area := map[string]*int{"shortest_edge": nil, "longest_edge": nil}
	text := json.RawMessage(`{"shortest_edge": 3136, "longest_edge": 1003520}`)
	if c.Size.Given() { // null is the class's own size
		text = c.Size.Value
	}
	if err := pyjson.Unmarshal(text, &area); err != nil {
		return configError("size", "%s: want an object of numbers", text)
	}
	w := &whole{side: patch.Value * merge.Value}
	for _, f := range []struct {
		name, of string
		n        *int
		to       *int
	}{{"min_pixels", "shortest_edge", c.LeastPixels, &w.least}, {"max_pixels", "longest_edge", c.MostPixels, &w.most}} {
		n := area[f.of]
		if f.n != nil {
			n = f.n
		}
		if n == nil || *n < 1 || *n > mostTiled {
			return configError("size", "%s, or %s: want an area of 1 to %d pixels", f.of, f.name, mostTiled)
		}
		*f.to = *n
	}
	for name := range area {
		if name != "shortest_edge" && name != "longest_edge" {
			return configError("size", "%s: want shortest_edge and longest_edge", text)
		}
	}
	p.whole, p.patch = w, w.side // the sides of an image are multiples of that of a token
	return nil
}

// size returns the size of an image of w times h pixels in whole tokens, with about the same shape,
// and within the limits of its area.
func (s *whole) size(w, h int) (width, height int, err error) {
	if shape := float64(max(w, h)) / float64(min(w, h)); shape > mostShape {
		return 0, 0, fmt.Errorf("%w: %d x %d pixels, one side is more than %d times as long as the other", fault.ErrImage, w, h, mostShape)
	}
	side := float64(s.side)
	tokens := func(n float64, round func(float64) float64) int { return int(round(n / side)) }
	down, across := tokens(float64(h), math.RoundToEven), tokens(float64(w), math.RoundToEven)
	switch area := down * across * s.side * s.side; {
	case area > s.most:
		beta := math.Sqrt(float64(h*w) / float64(s.most))
		down, across = max(1, tokens(float64(h)/beta, math.Floor)), max(1, tokens(float64(w)/beta, math.Floor))
	case area < s.least:
		beta := math.Sqrt(float64(s.least) / float64(h*w))
		down, across = tokens(float64(float64(h)*beta), math.Ceil), tokens(float64(float64(w)*beta), math.Ceil)
	}
	if across > mostTiled/s.side/s.side/down { // both are at least 1, as least is
		return 0, 0, fmt.Errorf("%w: %d x %d pixels become %d x %d tokens of %d x %d pixels, want at most %d pixels", fault.ErrImage, w, h, across, down, s.side, s.side, mostTiled)
	}
	return across * s.side, down * s.side, nil
}
