package product

import (
	"math"
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// How a product is cut for several threads.

// partition cuts the product for t threads: into bands, of rows or of columns, and
// these into parts along the other dimension. Runs of neighbouring parts are handed
// out as one block (see par.Run).
func (g *call) partition(t int) {
	size := &tune.Used.Threads
	g.cutM, g.cutN = 1, 1
	g.tall, g.wide = g.m, g.n
	work := g.workOf()
	if !worthThreads(t, work*g.batch) || g.batch >= 4*size.Bands*t { // that many products are parts enough
		return
	}
	threads := max(1, t/g.batch)
	rows := dimension{size: g.m, unit: g.mr, price: priceRead}
	cols := dimension{size: g.n, unit: g.nr, price: priceRead}
	if g.copyA {
		rows.price = priceCopied
	}
	if g.converts() {
		rows.price, rows.kept = priceInt8, true
	}
	if ways[g.way].makes {
		cols.price = priceCopied
	}
	element := max(1, work/(g.m*g.n)) // of C
	best := math.Inf(1)
	for _, byRows := range []bool{false, true} {
		across, along := rows, cols
		if byRows {
			across, along = cols, rows
		}
		most := min(across.tiles(), work/size.PartWork+1)
		for bands := size.Bands * threads; bands >= 1; bands /= 2 {
			if bands > most {
				continue
			}
			band := across.cut(bands, byRows)
			n := (across.size + band - 1) / band
			part := max(size.PartWork/(element*band), 1)
			if across.price > priceRead && !across.kept { // for every block again: not over 6% of the time, if there are enough
				part = max(part, min(100, along.size*n/threads))
			}
			part = min((part+along.unit-1)/along.unit*along.unit, along.size)
			cost := cutCost(across, along, band, part, float64(n*g.batch)/float64(t))
			if !byRows && bands%threads == 0 && band >= 4*rows.unit && cols.price == priceRead {
				cost *= ownRows
			}
			if cost < best {
				best = cost
				g.byRows = byRows
				g.tall, g.wide = band, part
				if byRows {
					g.tall, g.wide = part, band
				}
			}
		}
	}
	g.cutM, g.cutN = (g.m+g.tall-1)/g.tall, (cols.size+g.wide-1)/g.wide
}

// converts reports whether rows of A become integers, or numbers of 16 bits.
func (g *call) converts() bool { return g.way == integers || g.way == pairsOf16 }

// dimension is one of C's two: its rows or its columns.
type dimension struct {
	size, unit int     // rows or columns, of C and of a tile
	price      float64 // of an element of A or B, for every block that has its row or column
	kept       bool    // what a goroutine makes of an element, its next block finds, so that it pays once
}

// What a block pays for an element: reading it, copying it, and making it an integer or a bfloat16 number, in
// multiply-adds, which take a quarter of the time with integers.
const (
	priceRead   = 1
	priceCopied = 6
	priceInt8   = 40
)

// ownRows is the factor on the cost of a cut into bands of rows for each thread: the next product of a
// layer then finds the rows in the caches of the thread that wrote them. Where threads run beside
// different last-level caches, the other thread's rows come as slowly as from memory.
const ownRows = 0.97

func (d dimension) tiles() int { return (d.size + d.unit - 1) / d.unit }

// cut returns the size of a band, where there are to be some bands. Bands of columns are
// whole panels. Bands of rows that are several tiles high may have any number of rows,
// since a tile may be lower.
func (d dimension) cut(bands int, columns bool) int {
	if n := (d.size + bands - 1) / bands; !columns && n >= 4*d.unit {
		return n
	}
	return min((d.tiles()+bands-1)/bands*d.unit, d.size)
}

// cutCost estimates the time of a thread, in multiply-adds for each step of k. The
// thread has share bands of C, each band wide across, and is handed runs of parts
// along them. Its time is that of the products, of half a part for which it waits
// at the end, and of what its blocks read or copy. Of its last band it is
// repeatedly handed half of what is left.
func cutCost(across, along dimension, band, part int, share float64) float64 {
	width, length := float64(band), float64(along.size)*share
	blocks := max(share, 1)
	if !across.kept {
		blocks += float64(bits.Len(uint(min(length, float64(along.size))) / uint(part)))
	}
	return width*max(length+float64(part)/2, float64(part)) + across.price*width*blocks + along.price*length
}

// worthThreads reports whether work is worth a second thread of t.
func worthThreads(t, work int) bool {
	return t > 1 && (work >= tune.Used.Threads.WakeWork || work >= tune.Used.Threads.ReadyWork && par.Ready())
}

// nanoseconds returns the time that work takes a thread, on the scale that decides whether to wake another one.
func nanoseconds(work int) int { return work / max(1, tune.Used.Threads.WakeWork/20_000) }

// workOf estimates the time of one product, in multiply-adds of float32 at full speed.
func (g *call) workOf() int {
	work := max(g.m, 4) * g.n * g.k // at the least what reading B costs
	if g.way == integers {
		work /= 4 // an instruction makes four times the multiply-adds
	}
	return work
}
