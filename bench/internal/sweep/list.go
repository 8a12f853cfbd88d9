package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// A Sweep measures a case at many sizes of one dimension, in several series.
type Sweep struct {
	Name   string // part of a file's name
	Title  string
	XLabel string
	Series []Series
	// Fall is the largest part of the speed that may be lost from one size to the next.
	Fall float64
	// From reports whether Fall counts for a size. At smaller sizes, the fixed costs of a call and
	// whole vectors dominate.
	From func(workload.Case) bool
}

// A Series is one line of a sweep.
type Series struct {
	Label string
	Sizes []int
	Case  func(size int) workload.Case
}

// All are all sweeps, in the order of the report.
var All = slices.Concat(gemm(), rows(), attention())

// around returns every size up to dense, and beyond it each of the given sizes with its neighbours.
func around(dense int, others ...int) []int {
	var s []int
	for i := range dense {
		s = append(s, i+1)
	}
	for _, o := range others {
		s = append(s, o-1, o, o+1)
	}
	slices.Sort(s)
	return slices.Compact(s)
}

func of(op workload.Op, dims ...int) workload.Case { return workload.Case{Op: op, Dims: dims} }

// gemm varies each of M, N and K separately, with the other two at 64 and at 768.
func gemm() []Sweep {
	sizes := around(36, 40, 48, 56, 64, 72, 84, 96, 100, 112, 128, 144, 160, 168, 192, 200, 224, 256, 288, 320, 336, 384,
		400, 448, 512, 600, 640, 700, 768, 850, 1000, 1024, 1152, 1300, 1536, 1700, 1920, 2048, 2199)
	var list []Sweep
	for i, axis := range []string{"M", "N", "K"} {
		s := Sweep{
			Name: "gemm-" + string("mnk"[i]), Title: "Product with " + axis + " drawn out", XLabel: axis, Fall: 0.10,
			From: func(c workload.Case) bool { return c.FLOPs() > 2e6 },
		}
		for _, op := range []workload.Op{workload.GemmNN, workload.GemmNT, workload.GemmPacked} {
			for _, other := range []int{64, 768} {
				s.Series = append(s.Series, Series{string(op) + ", others " + strconv.Itoa(other), sizes, func(n int) workload.Case {
					d := []int{other, other, other}
					d[i] = n
					return of(op, d...)
				}})
			}
		}
		list = append(list, s)
	}
	return list
}

// elements is the number of elements that a call of the row sweeps processes, unless a row is
// longer: 256 KiB, which fit in a core's second-level cache.
const elements = 1 << 16

// rows varies the length of rows with about the same number of elements, and the number of rows.
func rows() []Sweep {
	lengths := around(96, 100, 112, 127, 144, 160, 192, 200, 256, 300, 320, 384, 500, 512, 640, 768, 900, 1024, 1280, 1536, 2048, 2500,
		3072, 4096, 5000, 6144, 8192, 10000, 12288, 16384, 20000, 25000, 32768, 40000, 49999)
	counts := around(20, 24, 32, 48, 64, 80, 100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 900, 1024, 1150, 1300, 1450, 1600, 1800, 2048)
	length := Sweep{
		Name: "row-length", Title: "Rows drawn out", XLabel: "columns", Fall: 1 - 1/1.15,
		From: func(c workload.Case) bool { return c.Dims[1] > 64 },
	}
	count := Sweep{
		Name: "row-count", Title: "More rows", XLabel: "rows", Fall: 1 - 1/1.15,
		From: func(c workload.Case) bool { return c.Dims[0]*c.Dims[1] > 64 },
	}
	for _, op := range []workload.Op{workload.Softmax, workload.LogSoftmax, workload.LayerNorm, workload.RMSNorm, workload.GELU, workload.Exp} {
		length.Series = append(length.Series, Series{string(op), lengths, func(n int) workload.Case { return of(op, max(1, elements/n), n) }})
	}
	for _, op := range []workload.Op{workload.Softmax, workload.LayerNorm} {
		for _, cols := range []int{5, 128, 768} {
			count.Series = append(count.Series, Series{fmt.Sprintf("%s of %d", op, cols), counts, func(n int) workload.Case { return of(op, n, cols) }})
		}
	}
	return []Sweep{length, count}
}

// attention varies the length, the head's size and the number of heads.
func attention() []Sweep {
	lengths := around(40, 48, 56, 64, 80, 96, 128, 160, 192, 200, 256, 300, 320, 384, 400, 512, 640, 768, 1000)
	keys := around(16, 24, 32, 64, 100, 128, 200, 256, 400, 512, 768, 1024, 1500, 2048, 3000, 4096)
	long := func(c workload.Case) bool { return c.Dims[3] > 8 }
	length := Sweep{Name: "attention-length", Title: "Attention, queries and keys drawn out", XLabel: "length", Fall: 0.15, From: long}
	decode := Sweep{Name: "decode-length", Title: "Attention of one query, keys drawn out", XLabel: "keys", Fall: 0.15, From: long}
	for _, d := range []int{32, 64, 80, 128} {
		label := fmt.Sprintf("head size %d", d)
		length.Series = append(length.Series, Series{label, lengths, func(n int) workload.Case { return of(workload.SDPA, 1, 4, n, n, d) }})
		decode.Series = append(decode.Series, Series{label, keys, func(n int) workload.Case { return of(workload.SDPADecode, 1, 4, 1, n, d) }})
	}
	size := Sweep{Name: "attention-head-size", Title: "Attention, heads grown", XLabel: "head size", Fall: 0.15,
		From: func(c workload.Case) bool { return c.Dims[4] > 16 }}
	heads := Sweep{Name: "attention-heads", Title: "Attention, more heads", XLabel: "heads", Fall: 0.15, From: long}
	for _, n := range []int{10, 32, 128, 512} {
		label := fmt.Sprintf("length %d", n)
		size.Series = append(size.Series, Series{label, around(40, 48, 64, 72, 80, 96, 112, 128, 160, 192), func(d int) workload.Case { return of(workload.SDPA, 1, 4, n, n, d) }})
		heads.Series = append(heads.Series, Series{label, around(17, 24, 32), func(h int) workload.Case { return of(workload.SDPA, 1, h, n, n, 64) }})
	}
	return []Sweep{length, decode, size, heads}
}

// speed returns the speed of a case: GFLOP/s or, for the operations over rows, elements per
// nanosecond.
func speed(c workload.Case, seconds float64) float64 {
	if c.Metric() == workload.Copy {
		return float64(c.OutputLen()) / seconds * 1e-9
	}
	return c.Rate(seconds)
}

func unit(c workload.Case) string {
	if c.Metric() == workload.Copy {
		return "elements a nanosecond"
	}
	return c.Metric().Unit()
}

// fall returns the part of the speed lost from one size to the next.
func fall(before, after float64) float64 { return math.Max(0, 1-after/before) }
