package simd

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/checkasm"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
)

// implementation is one kernel of the generated catalog on one tier.
type implementation struct {
	kernel string
	isa    ISA
	width  int    // float32 lanes of the tier's vectors
	params string // names of the parameters
	fn     any
}

// few asks for few sizes: in an emulator, and under the race detector, which knows
// nothing of assembly and makes the checks around it slow.
var few = testenv.Emulated() || race.Enabled

// TestCatalog calls every implementation with every length, alignment and
// distance from unmapped memory that vector code can get wrong, and compares it
// with the generic one. What a kernel's arguments look like follows from its
// parameters: see plans.
func TestCatalog(t *testing.T) {
	generic := map[string]any{}
	for _, im := range catalog {
		if im.isa == Generic {
			generic[im.kernel] = im.fn
		}
	}
	for _, im := range catalog {
		t.Run(im.kernel+"/"+im.isa.String(), func(t *testing.T) {
			if !slices.Contains(Supported(), im.isa) {
				t.Skip("this machine lacks", im.isa)
			}
			if testenv.Emulated() && im.isa != active {
				t.Skip("too slow in an emulator that runs for the sake of", active)
			}
			p, err := planFor(im)
			if err != nil {
				t.Fatal(err)
			}
			pool := new(checkasm.Pool)
			defer pool.Close()
			calls, wrong := 0, 0
			for c := range p.cases(im) {
				c.Fn, c.Want, c.GoABI, c.Close = im.fn, generic[im.kernel], im.isa == Generic, p.nearly
				calls++
				if err := checkasm.Check(pool, c.Case); err != nil {
					t.Errorf("%s: %v", c.name, err)
					if wrong++; wrong == 5 {
						t.Fatal("and perhaps more")
					}
				}
			}
			t.Log(calls, "calls")
		})
	}
}

// nearly is what may lie between two implementations of the same kernel, whose
// intermediate values are of the order of p.scale. How close each is to the
// truth, other tests ask.
func (p plan) nearly(got, want float32) bool {
	if p.positive {
		return math.Abs(float64(got)-float64(want)) <= 0x1p-20*math.Abs(float64(want))+0x1p-40
	}
	return math.Abs(float64(got)-float64(want)) <= 0x1p-19*max(1, p.scale, math.Abs(float64(want)))
}

// shape is the value of each size of a call: the int parameters, and "n" for
// what is only the length of slices.
type shape map[string]int

func (s shape) String() string {
	var w []string
	for k, v := range s {
		w = append(w, fmt.Sprintf("%s=%d", k, v))
	}
	slices.Sort(w)
	return strings.Join(w, " ")
}

// plan says how the kernels of one form are called.
type plan struct {
	// shapes lists the sizes for which operands are moved around in memory.
	shapes func(im implementation) []shape
	// more lists sizes that are tried at few places only.
	more func(im implementation) []shape
	// operand is the slice parameter name for sizes s. Data is filled in.
	operand func(name string, s shape) (o checkasm.Operand, ok bool)
	// same lists pairs of operands that may be the same memory, output first.
	same [][2]string
	// none lists operands that may be nil.
	none []string
	// scale is the size of sums that may cancel; 1 if it is 0.
	scale float64
	// positive is set where nothing can cancel, so that results are as close as
	// rounding lets them be, relative to their size.
	positive bool
}

// plans has the forms of kernels, by name, or else by their int parameters. A
// new kernel of a known form needs nothing; any other fails TestCatalog until
// its form is here.
var plans = map[string]plan{
	"": {
		shapes:  vectorShapes,
		operand: func(name string, s shape) (checkasm.Operand, bool) { return matrix(name, 1, s["n"], 0), true },
		same:    [][2]string{{"dst", "x"}, {"dst", "a"}, {"dst", "b"}},
	},
	"rows cols": {
		shapes: rowShapes,
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "weight", "bias":
				return matrix(name, 1, s["cols"], 0), true
			case "tmp":
				return checkasm.Operand{Name: name, Rows: 1, Cols: s["cols"], Write: true}, true
			case "dst", "sum", "x", "residual":
				return matrix(name, s["rows"], s["cols"], 0), true
			}
			return checkasm.Operand{}, false
		},
		same: [][2]string{{"dst", "x"}, {"dst", "sum"}, {"sum", "x"}},
	},
	"expSumRows": {
		shapes: rowShapes,
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			if name == "max" || name == "sum" {
				return checkasm.Operand{Name: name, Rows: 1, Cols: s["rows"], Write: true}, true
			}
			return matrix(name, s["rows"], s["cols"], 0), true
		},
		same: [][2]string{{"dst", "x"}},
	},
	"gemmPanel": {
		scale:  64,
		shapes: panelShapes,
		more:   panelMoreShapes,
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "a":
				return matrix(name, s["m"], s["k"], s["lda"]), true
			case "b":
				return matrix(name, s["k"], s["n"], s["ldb"]), true
			case "c":
				return matrix(name, s["m"], s["n"], s["ldc"]), true
			}
			return checkasm.Operand{}, false
		},
	},
	"gemmPack": {
		scale: 64,
		shapes: func(im implementation) (shapes []shape) {
			mr, nr := GemmTile(im.isa)
			for i, k := range []int{0, 1, 2, 3, 4, 5, 8, 13} {
				shapes = append(shapes, panelShape(mr, nr, k, i, nr))
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "a":
				return matrix(name, s["m"], s["k"], s["lda"]), true
			case "b":
				return matrix(name, s["k"], s["n"], s["ldb"]), true
			case "dst":
				return matrix(name, s["k"], s["n"], 0), true
			}
			return matrix(name, s["m"], s["n"], s["ldc"]), name == "c"
		},
	},
	"gemmDot": {
		scale: 64,
		shapes: func(im implementation) (shapes []shape) {
			for m := range 9 {
				for n := range 6 {
					for _, k := range []int{1, 3, im.width, im.width + 1, 4*im.width - 1, 5 * im.width} {
						s := shape{"m": m, "n": n, "k": k, "lda": k, "ldb": k, "ldc": max(n, 1)}
						if (m+n+k)%3 != 0 {
							s["lda"], s["ldb"], s["ldc"] = k+2, k+1, n+3
						}
						shapes = append(shapes, s)
					}
				}
			}
			if few {
				shapes = shapes[len(shapes)-24:]
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "a":
				return matrix(name, s["m"], s["k"], s["lda"]), true
			case "b":
				return matrix(name, s["n"], s["k"], s["ldb"]), true
			}
			return checkasm.Operand{Name: name, Rows: s["m"], Cols: s["n"], LD: s["ldc"], Write: true}, name == "c"
		},
	},
	"gemvPanels": {
		scale: 64,
		shapes: func(im implementation) (shapes []shape) {
			_, nr := GemmTile(im.isa)
			for k := range 10 {
				shapes = append(shapes, shape{"n": (1 + k%3) * nr, "k": k, "nr": nr})
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "a":
				return matrix(name, 1, s["k"], 0), true
			case "b":
				return matrix(name, s["n"]/s["nr"]*s["k"], s["nr"], 0), true
			}
			return checkasm.Operand{Name: name, Rows: 1, Cols: s["n"], Write: true}, name == "c"
		},
	},
	"gemvRows": {
		scale: 64,
		shapes: func(im implementation) (shapes []shape) {
			for i, n := range sweepLengths(im) {
				if n > 0 { // beta says that c is read
					shapes = append(shapes, shape{"n": n, "k": i % 11, "ldb": n + i%2*(1+i%7), "ahead": i % 3 * n, "beta": 1})
				}
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "a":
				return matrix(name, 1, s["k"], 0), true
			case "b":
				return matrix(name, s["k"], s["n"], s["ldb"]), true
			}
			return matrix(name, 1, s["n"], 0), name == "c"
		},
	},
	"gemvDot": {
		scale: 64,
		shapes: func(im implementation) (shapes []shape) {
			for i, k := range sweepLengths(im) {
				shapes = append(shapes, shape{"n": i % 11, "k": k, "ldb": max(k, 1) + i%2*(1+i%5), "ahead": i % 3 * k})
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "a":
				return matrix(name, 1, s["k"], 0), true
			case "b":
				return matrix(name, s["n"], s["k"], s["ldb"]), true
			}
			return checkasm.Operand{Name: name, Rows: 1, Cols: s["n"], Write: true}, name == "c"
		},
	},
	"rows cols lddst ldresidual": {
		scale: 2,
		shapes: func(im implementation) (shapes []shape) {
			_, nr := GemmTile(im.isa)
			for rows := range 7 {
				shapes = append(shapes, shape{"rows": rows, "cols": nr, "lddst": nr + rows%3, "ldresidual": nr + rows%3})
			}
			return append(shapes, shape{"rows": 3, "cols": nr, "lddst": nr, "ldresidual": 0})
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "bias":
				return matrix(name, 1, s["cols"], 0), true
			case "residual":
				if s["ldresidual"] == 0 {
					return matrix(name, 1, s["cols"], 0), true
				}
				return matrix(name, s["rows"], s["cols"], s["ldresidual"]), true
			case "x":
				return matrix(name, s["rows"], s["cols"], 0), true
			}
			return matrix(name, s["rows"], s["cols"], s["lddst"]), name == "dst"
		},
	},
	"copyRows": {
		shapes: func(im implementation) []shape { return leading("lddst", leading("ldx", stridedShapes(im))) },
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			return matrix(name, s["rows"], s["cols"], s["ld"+name]), true
		},
	},
	"addRows": {
		shapes: func(im implementation) []shape { return leading("lddst", leading("ldx", stridedShapes(im))) },
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			if name == "dst" {
				return update(matrix(name, s["rows"], s["cols"], s["lddst"])), true
			}
			return matrix(name, s["rows"], s["cols"], s["ldx"]), true
		},
	},
	"transposeRows": {
		shapes: func(im implementation) (shapes []shape) {
			side := 8 // of the squares that the kernel transposes
			if im.isa == NEON {
				side = 4
			}
			for rows := 0; rows <= 4*side; rows += side {
				for cols := 0; cols <= 5*side; cols += side {
					shapes = append(shapes, shape{"rows": rows, "cols": cols, "ldx": cols + rows/side, "lddst": rows + cols/side})
				}
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			if name == "dst" {
				return matrix(name, s["cols"], s["rows"], s["lddst"]), true
			}
			return matrix(name, s["rows"], s["cols"], s["ldx"]), true
		},
	},
	"attnSoftmax": {
		positive: true,
		shapes:   stridedShapes,
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			if name == "s" {
				return update(matrix(name, s["rows"], s["cols"], s["ld"])), true
			}
			return update(matrix(name, 1, s["rows"], 0)), true
		},
	},
	"attnScaleRows": {
		shapes: stridedShapes,
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			if name == "x" {
				return update(matrix(name, s["rows"], s["cols"], s["ld"])), true
			}
			return matrix(name, 1, s["rows"], 0), name == "factor"
		},
	},
	"attnDot": {
		scale: 256,
		shapes: func(im implementation) []shape {
			shapes := keyShapes(im, "ldk")
			for i, s := range shapes {
				s["rows"], s["n"] = i%3, s["keys"]+i%5*5
				s["ldq"], s["lds"] = s["dim"]+i%4, s["n"]+i%3
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "s":
				o := matrix(name, s["rows"], s["n"], s["lds"])
				o.Write = true
				return o, true
			case "q":
				return matrix(name, s["rows"], s["dim"], s["ldq"]), true
			}
			return matrix(name, s["n"], s["dim"], s["ldk"]), name == "k"
		},
	},
	"attnShort": wholeHeads(ShortQueries, ShortQueries, true),
	"attnFew":   wholeHeads(7, FewKeys, false),
	"attnAccumulate": {
		scale:  64,
		shapes: func(im implementation) []shape { return keyShapes(im, "ldv") },
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "o":
				return update(matrix(name, 1, s["dim"], 0)), true
			case "v":
				return matrix(name, s["keys"], s["dim"], s["ldv"]), true
			}
			return matrix(name, 1, s["keys"], 0), name == "p"
		},
	},
}

// wholeHeads is the plan of a kernel that is all of attention for so many queries and
// keys, with the queries, or else the keys, side by side in the rows of scores.
func wholeHeads(queries, keys int, byQuery bool) plan {
	return plan{
		scale: 256,
		shapes: func(im implementation) (shapes []shape) {
			for i, s := range keyShapes(im, "ldv") {
				s["rows"], s["n"] = (i*5+i/7)%(queries+1), 1+i*7%min(keys, 80)
				s["cols"], s["dim"] = s["dim"], 1+s["dim"]*5%67
				switch i % 3 {
				case 0: // keys for one vector
					s["n"] = 1 + i/3%im.width
				case 1: // several vectors of elements
					s["dim"] += 64
				}
				shapes = append(shapes, s)
			}
			// The last queries and keys, where they count: few, with every tail of dim,
			// and with several vectors of it. Then scores whose exponentials overflow
			// unless the greatest is found.
			for tail := 1; tail < im.width; tail++ {
				shapes = append(shapes, shape{"rows": 5, "n": 3, "dim": im.width + tail, "cols": 3, "ldv": 3})
			}
			for i, s := range [][2]int{{5, 3}, {2, 2}, {3, 6}, {7, 7}, {4, 5}, {2, 3}, {6, 3}, {7, 3}} {
				shapes = append(shapes, shape{"rows": s[0], "n": s[1], "dim": 4*im.width + i, "cols": 3, "ldv": 3})
			}
			for _, n := range []int{im.width, im.width + 1, 3 * im.width, 6 * im.width} {
				shapes = append(shapes, shape{"rows": 7, "n": min(n, keys), "dim": 16 * im.width, "cols": 3, "ldv": 3})
			}
			for i, s := range shapes {
				s["ldq"], s["ldk"], s["ldo"] = s["dim"]+i%4, s["dim"]+i%3, s["cols"]+i%3
				s["lines"], s["lanes"], s["lds"], s["scores"] = s["rows"], (s["n"]+15)&^15, FewRow, s["rows"]
				if byQuery {
					s["lines"], s["lanes"], s["lds"], s["scores"] = s["n"], queries, queries, ShortRows
					s["bare"] = i / 3 % 2
				}
				s["ldb"] = i % 2 * (s["lanes"] + i%4)
			}
			return shapes
		},
		operand: func(name string, s shape) (checkasm.Operand, bool) {
			switch name {
			case "q":
				o := matrix(name, s["rows"], s["dim"], s["ldq"])
				if s["n"] < 8 { // so that no key outweighs all others
					data := numbers(name, o.Rows*o.Cols)
					for i := range data {
						data[i] /= 16
					}
					o.Data = data
				}
				return o, true
			case "k":
				return matrix(name, s["n"], s["dim"], s["ldk"]), true
			case "v":
				return matrix(name, s["n"], s["cols"], s["ldv"]), true
			case "bias":
				o := matrix(name, s["lines"], s["lanes"], s["ldb"])
				if s["ldb"] == 0 {
					o = matrix(name, 1, s["lanes"], 0)
				}
				if s["bare"] == 1 {
					o = matrix(name, 0, 0, 0)
				}
				data := numbers(name, o.Rows*o.Cols)
				for i := range data {
					query, key := i/s["lanes"], i%s["lanes"]
					if byQuery {
						query, key = key, query
					}
					if i%3 == 0 || query == 2 || key >= s["n"] { // query 2 sees nothing
						data[i] = -inf32
					}
				}
				o.Data = data
				return o, true
			case "s":
				return checkasm.Operand{Name: name, Rows: s["scores"], Cols: s["lds"], Write: true, Scratch: true}, true
			}
			return checkasm.Operand{Name: name, Rows: s["rows"], Cols: s["cols"], LD: s["ldo"], Write: true}, name == "o"
		},
	}
}

// scalars are the values of the float32 parameters. No element is above max.
var scalars = map[string]float32{"eps": 1e-5, "max": 3, "alpha": 1.25, "a": 0.75, "b": -0.5, "weight": 0.75}

// betas are the values that "beta" counts through. Only the first leaves C unread.
var betas = []float32{0, 1, -0.5}

func planFor(im implementation) (plan, error) {
	if p, ok := plans[im.kernel]; ok {
		return p, nil
	}
	var ints []string
	fn := reflect.TypeOf(im.fn)
	for i, name := range strings.Fields(im.params) {
		if fn.In(i).Kind() == reflect.Int {
			ints = append(ints, name)
		}
	}
	if p, ok := plans[strings.Join(ints, " ")]; ok {
		return p, nil
	}
	return plan{}, fmt.Errorf("%s(%s): no entry in plans for this kernel, nor for the sizes %q", im.kernel, im.params, ints)
}

// matrix is an operand whose data is filled in later. What is written and not
// read holds NaNs.
func matrix(name string, rows, cols, ld int) checkasm.Operand {
	o := checkasm.Operand{Name: name, Rows: rows, Cols: cols, LD: ld}
	switch name {
	case "dst", "sum":
		o.Write = true
	case "y", "c":
		o = update(o)
	}
	return o
}

// update marks an operand that is both read and written.
func update(o checkasm.Operand) checkasm.Operand {
	o.Write = true
	o.Data = numbers(o.Name, o.Rows*o.Cols)
	return o
}

// numbers are n values from -4 to 3, which depend on the name only.
func numbers(name string, n int) []float32 {
	h := fnv.New64()
	h.Write([]byte(name))
	r := rand.New(rand.NewPCG(h.Sum64(), 0))
	x := make([]float32, n)
	for i := range x {
		x[i] = 7*r.Float32() - 4
	}
	return x
}

func notNumbers(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = nan32
	}
	return x
}

// namedCase is a case and what to call it.
type namedCase struct {
	name string
	checkasm.Case
}

// cases makes the calls for one implementation.
func (p plan) cases(im implementation) func(yield func(namedCase) bool) {
	places := checkasm.Placements(4)
	if few {
		places = []checkasm.Placement{{}, {Distance: 20}, {Front: true}, {Front: true, Distance: 12}}
	}
	return func(yield func(namedCase) bool) {
		turn := 0
		for _, s := range p.shapes(im) {
			for _, at := range places {
				if !yield(p.build(im, s, at, turn)) {
					return
				}
				turn++
			}
		}
		if p.more == nil {
			return
		}
		for _, s := range p.more(im) {
			if !yield(p.build(im, s, places[turn%len(places)], turn)) {
				return
			}
			turn++
		}
	}
}

// build makes one call. turn chooses what is not swept: which operands share
// memory and which are nil.
func (p plan) build(im implementation, s shape, at checkasm.Placement, turn int) namedCase {
	choice := int(uint32(turn) * 2654435761 >> 16) // so that it does not go along with at
	c := namedCase{name: s.String()}
	fn := reflect.TypeOf(im.fn)
	var have []string
	for i, name := range strings.Fields(im.params) {
		switch fn.In(i).Kind() {
		case reflect.Int:
			c.Args = append(c.Args, s[name])
			continue
		case reflect.Float32:
			v, ok := scalars[name]
			if name == "beta" {
				v, ok = betas[s["beta"]], true
			}
			if !ok {
				panic(fmt.Sprintf("kernel %s: no value for %s in scalars", im.kernel, name))
			}
			c.Args = append(c.Args, v)
			continue
		}
		o, ok := p.operand(name, s)
		if !ok {
			panic(fmt.Sprintf("kernel %s: its plan does not know the operand %s", im.kernel, name))
		}
		o.At = at
		switch n := o.Rows * o.Cols; {
		case name == "c" && s["beta"] == 0:
			o.Data = notNumbers(n)
		case o.Data != nil:
		case o.Write:
			o.Data = notNumbers(n)
		default:
			o.Data = numbers(name, n)
		}
		if j := slices.Index(p.none, name); j >= 0 && choice>>j&1 != 0 {
			o.Nil = true
			c.name += " " + name + "=nil"
		}
		have = append(have, name)
		c.Args = append(c.Args, o)
	}
	// About half of the calls share memory, if the kernel has operands that may.
	var pairs [][2]string
	for _, q := range p.same {
		if slices.Contains(have, q[0]) && slices.Contains(have, q[1]) {
			pairs = append(pairs, q)
		}
	}
	if len(pairs) > 0 && choice>>4&1 == 1 {
		c.share(pairs[choice>>5%len(pairs)])
	}
	return c
}

// share makes the two operands one: the first in order holds the second's data
// if that is the one read.
func (c *namedCase) share(pair [2]string) {
	var at [2]int
	for i, a := range c.Args {
		if o, ok := a.(checkasm.Operand); ok {
			for j := range pair {
				if o.Name == pair[j] {
					at[j] = i
				}
			}
		}
	}
	out, in := c.Args[at[0]].(checkasm.Operand), c.Args[at[1]].(checkasm.Operand)
	out.Data = in.Data
	c.Args[at[0]] = out
	c.Args[at[1]] = checkasm.Operand{Name: in.Name, Same: out.Name}
	c.name += fmt.Sprintf(" %s=%s", pair[0], pair[1])
}

// vectorShapes has every length to four vectors and three elements, and the
// edges of loops unrolled more than that.
func vectorShapes(im implementation) (shapes []shape) {
	for _, n := range sweepLengths(im) {
		shapes = append(shapes, shape{"n": n})
	}
	return shapes
}

func sweepLengths(im implementation) []int {
	w := max(im.width, 4)
	if few {
		return []int{0, 1, w - 1, w, w + 1, 2*w + 3, 4*w + 3, 8 * w}
	}
	return checkasm.Lengths(w, 6*w, 8*w, 16*w)
}

func rowShapes(im implementation) (shapes []shape) {
	lengths := sweepLengths(im)
	if im.width == 16 { // rows as long as that may be taken in aligned vectors
		step := 1
		if few {
			step = 7
		}
		for n := 257; n < 257+3*16; n += step {
			lengths = append(lengths, n)
		}
	}
	for i, n := range lengths {
		if n > 0 {
			shapes = append(shapes, shape{"rows": 1 + i%3, "cols": n})
		}
	}
	return append(shapes, shape{"rows": 0, "cols": 5}, shape{"rows": 0, "cols": 259})
}

func stridedShapes(im implementation) (shapes []shape) {
	for i, s := range rowShapes(im) {
		s["ld"] = s["cols"] + i%2*(1+i%7)
		shapes = append(shapes, s)
	}
	return shapes
}

// leading names the distance of the rows of shapes with "ld", turning over those
// that have none yet.
func leading(name string, shapes []shape) []shape {
	for i, s := range shapes {
		s[name] = s["ld"]
		if i%3 == 0 {
			s["ld"]++
		}
	}
	return shapes
}

func keyShapes(im implementation, ld string) (shapes []shape) {
	for i, n := range sweepLengths(im) {
		if n > 0 {
			shapes = append(shapes, shape{"keys": i % 8, "dim": n, ld: n + i%2*(1+i%7)})
		}
	}
	return shapes
}

// panelShapes has the corners of the GEMM micro-kernel.
func panelShapes(im implementation) (shapes []shape) {
	mr, nr := GemmTile(im.isa)
	for i, m := range []int{1, mr - 1, mr, mr + 1} {
		for j, n := range []int{1, nr/2 - 1, nr / 2, nr/2 + 1, nr - 1, nr, 2 * nr} {
			k := []int{1, 3, 4, 5, 8}[(i+j)%5]
			shapes = append(shapes, panelShape(m, n, k, i+j, nr))
		}
	}
	if few {
		shapes = shapes[:7]
	}
	return shapes
}

// panelMoreShapes has every height to past two tiles and every width.
func panelMoreShapes(im implementation) (shapes []shape) {
	mr, nr := GemmTile(im.isa)
	for m := range 2*mr + 3 {
		for n := 1; n <= nr+1; n++ {
			if few && (m+n)%7 != 0 {
				continue
			}
			n := n
			if n > nr {
				n = 2 * nr
			}
			for _, k := range []int{1, 2 + n%8, 13} {
				shapes = append(shapes, panelShape(m, n, k, m+n+k, nr))
			}
		}
	}
	return shapes
}

// panelShape has B packed or in place, rows that touch or have gaps, and the next panel
// after it, before it or nowhere.
func panelShape(m, n, k, turn, nr int) shape {
	s := shape{"m": m, "n": n, "k": k, "lda": k, "ldb": max(n, nr), "ldc": n, "beta": turn % len(betas),
		"next": []int{0, k * nr, -nr}[turn/2%3], "pace": []int{0, 4 * nr, 3}[turn%3]}
	if turn%2 == 1 {
		s["lda"], s["ldb"], s["ldc"] = k+1+turn%5, n+turn%3, n+3
	}
	return s
}
