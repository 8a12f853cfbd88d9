// Images that LFM2-VL reads: in the grid of tiles that is most like their shape, and as a whole in
// about their own.

package vision

import (
	"math"
	"slices"
)

// grid is the additional fields of LFM2-VL's class.
type grid struct {
	patch, square           int // side of a patch in pixels, and of a square of them that becomes a token
	leastTiles, mostTiles   int // of an image that is cut
	leastTokens, mostTokens int // of the whole image
	tile                    int // side of a tile
	tolerance               float64
	whole                   bool // follows the tiles
}

// side returns the pixels on the side of a token.
func (g *grid) side() int { return g.patch * g.square }

// rounded returns the multiple of a token's side that is nearest to n, an even one of two.
func (g *grid) rounded(n int) int {
	return int(math.RoundToEven(float64(n)/float64(g.side()))) * g.side()
}

// large reports whether an image is cut.
func (g *grid) large(w, h int) bool {
	area := max(g.patch, g.rounded(w)) * max(g.patch, g.rounded(h))
	return float64(area) > float64(g.mostTokens*g.side()*g.side())*g.tolerance
}

// wholeSize returns the size of an image as a whole: whole tokens, and not more or fewer than are
// allowed.
func (g *grid) wholeSize(w, h int) (width, height int) {
	side := g.side()
	least, most := g.leastTokens*side*side, g.mostTokens*side*side
	width, height = max(side, g.rounded(w)), max(side, g.rounded(h))
	switch {
	case width*height > most:
		scale := math.Sqrt(float64(h*w) / float64(most))
		down := func(n int) int { return max(side, int(math.Floor(float64(n)/scale/float64(side)))*side) }
		return down(w), down(h)
	case width*height < least:
		scale := math.Sqrt(float64(least) / float64(h*w))
		up := func(n int) int { return int(math.Ceil(float64(float64(n)*scale)/float64(side))) * side }
		return up(w), up(h)
	}
	return width, height
}

// shape returns the numbers of columns and rows of tiles for an image: those whose ratio is nearest
// to the image's, and of several the last one that does not have more than twice as many pixels.
func (g *grid) shape(w, h int) (columns, rows int) {
	var all [][2]int // columns and rows
	for x := 1; x <= g.mostTiles; x++ {
		for y := 1; y <= g.mostTiles; y++ {
			if n := x * y; g.leastTiles <= n && n <= g.mostTiles {
				all = append(all, [2]int{x, y})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b [2]int) int { return a[0]*a[1] - b[0]*b[1] })
	best, off := [2]int{1, 1}, math.Inf(1)
	for _, s := range all {
		d := math.Abs(float64(w)/float64(h) - float64(s[0])/float64(s[1]))
		if d < off || d == off && float64(w*h) > 0.5*float64(g.tile*g.tile*s[0]*s[1]) {
			best, off = s, d
		}
	}
	return best[0], best[1]
}
