package product

import (
	"math"
	"math/bits"

	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/internal/tune"
)

// This file divides a product among several threads.

// partition cuts the product for t threads: into bands, of rows or of columns, and the bands into
// parts along the other dimension. A thread computes a run of neighbouring parts as one block (see
// par.Run).
func (g *call) partition(t int) {
	size := &tune.Used.Threads
	g.cutM, g.cutN = 1, 1
	g.tall, g.wide = g.m, g.n
	work := g.workOf()
	if !worthThreads(t, work*g.batch) || g.batch >= 4*size.Bands*t { // this number of products is enough parts
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
	element := max(1, work/(g.m*g.n)) // work per element of C
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
			if across.price > priceRead && !across.kept { // once for every block: at most 6% of the time, if there are enough rows
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

// converts reports whether rows of A are converted to integers, or to numbers of 16 bits.
func (g *call) converts() bool { return g.way == integers || g.way == pairsOf16 }

// dimension is a dimension of C: its rows or its columns.
type dimension struct {
	size, unit int     // rows or columns, of C and of a tile
	price      float64 // per element of A or B, for every block that has its row or column
	kept       bool    // a goroutine's next block reuses the converted elements: they are paid once
}

// These are prices that a block pays for an element, for reading it, copying it, and converting it
// to an integer or a bfloat16 number. Their unit is a multiply-add, which takes a quarter of the
// time with integers.
const (
	priceRead   = 1
	priceCopied = 6
	priceInt8   = 40
)

// ownRows is the factor for the cost of a cut into bands of rows, a band for each thread: the next
// product of a layer then finds the rows in the caches of the thread that wrote them. If threads
// have different last-level caches, reading another thread's rows is as slow as reading memory.
const ownRows = 0.97

func (d dimension) tiles() int { return (d.size + d.unit - 1) / d.unit }

// cut returns the size of a band for the given number of bands. Bands of columns are whole panels.
// Bands of rows that are several tiles high may have any number of rows, because tiles may be
// lower.
func (d dimension) cut(bands int, columns bool) int {
	if n := (d.size + bands - 1) / bands; !columns && n >= 4*d.unit {
		return n
	}
	return min((d.tiles()+bands-1)/bands*d.unit, d.size)
}

// cutCost estimates the time of a thread, in multiply-adds per step of k. The thread computes share
// bands of C, each band wide across, in runs of parts along them. Its time consists of the
// products, of half a part for which it waits at the end, and of the elements that its blocks read
// or copy. Of its last band it repeatedly takes half of the rest.
func cutCost(across, along dimension, band, part int, share float64) float64 {
	width, length := float64(band), float64(along.size)*share
	blocks := max(share, 1)
	if !across.kept {
		blocks += float64(bits.Len(uint(min(length, float64(along.size))) / uint(part)))
	}
	return width*max(length+float64(part)/2, float64(part)) + across.price*width*blocks + along.price*length
}

// worthThreads reports whether work is worth a second thread, if there are t.
func worthThreads(t, work int) bool {
	return t > 1 && (work >= tune.Used.Threads.WakeWork || work >= tune.Used.Threads.ReadyWork && par.Ready())
}

// nanoseconds returns the time of work on one thread, on the scale for deciding whether to wake
// another thread.
func nanoseconds(work int) int { return work / max(1, tune.Used.Threads.WakeWork/20_000) }

// workOf estimates the time of one product, in multiply-adds of float32 at full speed.
func (g *call) workOf() int {
	work := max(g.m, 4) * g.n * g.k // at least the cost of reading B
	if g.way == integers {
		work /= 4 // an instruction makes four times as many multiply-adds
	}
	return work
}
