// This file has positions with several axes: those of images among the rows of a sequence.

package transformer

import (
	"slices"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// A Position is where a row is: its time, its row and its column. All three are the same for a
// token. An image has one time, at which its rows and columns begin to count; what follows an image
// comes after its last row and its last column.
type Position [3]int

// An imageGrid is an image among the rows of a history.
type imageGrid struct {
	at     int // its first row
	start  int // the position of that row on all axes
	rows   int // so far, at least 1
	across int
}

// end returns the position after the image. It is at most the position after as many tokens of
// text.
func (g imageGrid) end() int {
	across := min(g.across, g.rows)
	return g.start + max((g.rows+across-1)/across, across)
}

// imageGrids are the images of a history, in order.
type imageGrids []imageGrid

// position returns the position of a row.
func (g imageGrids) position(row int) Position {
	p := row
	if i := g.before(row); i >= 0 {
		last := g[i]
		j := row - last.at
		if j < last.rows {
			return Position{last.start, last.start + j/last.across, last.start + j%last.across}
		}
		p = last.end() + j - last.rows
	}
	return Position{p, p, p}
}

// before returns the number of the last image that begins at a row or before it, -1 if there is
// none.
func (g imageGrids) before(row int) int {
	i := len(g) - 1
	for i >= 0 && g[i].at > row {
		i--
	}
	return i
}

// until returns a copy with the images in the first rows.
func (g imageGrids) until(rows int) imageGrids {
	part := slices.Clone(g[:g.before(rows-1)+1])
	if n := len(part) - 1; n >= 0 {
		part[n].rows = min(part[n].rows, rows-part[n].at)
	}
	return part
}

// add adds vectors of an image from a row on.
func (g *imageGrids) add(row, rows int, s Soft) error {
	n := len(*g) - 1
	if s.Before == 0 {
		if n >= 0 && (*g)[n].at+(*g)[n].rows > row {
			return check.Errorf(fault.ErrShape, "an image at row %d, before the end of an earlier one", row)
		}
		*g = append(*g, imageGrid{row, g.position(row)[0], rows, s.Across})
		return nil
	}
	if n < 0 || (*g)[n].at+(*g)[n].rows != row || (*g)[n].rows != s.Before || (*g)[n].across != s.Across {
		return check.Errorf(fault.ErrShape, "soft tokens after %d of the same image in %d columns, which did not pass", s.Before, s.Across)
	}
	(*g)[n].rows += rows
	return nil
}
