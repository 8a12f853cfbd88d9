package simd

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/avoformer/avoformer/internal/checkasm"
	"github.com/avoformer/avoformer/internal/race"
	"github.com/avoformer/avoformer/internal/testenv"
)

// tested is one implementation of a kernel.
type tested struct {
	*Implementation
	kernel Kernel
	fn     any
}

// catalog returns every implementation of every kernel. It is a function because Go 1.26, compiling
// for coverage, initialised such a variable before the tables.
var catalog = sync.OnceValue(func() (all []tested) {
	for k, list := range implementations {
		for i := range list {
			all = append(all, tested{&list[i], Kernel(k), functions[k][i]})
		}
	}
	return all
})

// runs reports whether this machine has what the implementation needs.
func (im tested) runs() bool {
	return slices.Contains(Supported(), im.ISA) && im.Needs&^features == 0 && (im.Needs&byPermission == 0 || tilesPermitted())
}

// few reports whether tests use few sizes: in an emulator, under the race detector, which cannot
// observe assembly and slows down the checks around it, and with -short unless the run is made for
// a tier.
func few() bool {
	return testenv.Emulated() || race.Enabled || testing.Short() && os.Getenv("AVOFORMER_REQUIRE")+os.Getenv("AVOFORMER_REQUIRE_AMX") == ""
}

// TestCatalog calls every implementation with every length, alignment and distance from unmapped
// memory that vector code can get wrong, and compares it with the pure-Go twin. A kernel's record
// describes its arguments.
func TestCatalog(t *testing.T) {
	for _, im := range catalog() {
		t.Run(im.kernel.String()+"/"+im.Name, func(t *testing.T) {
			if !im.runs() {
				t.Skip("this machine lacks", im.Name)
			}
			if !testenv.Runs(im.ISA.String(), active.String()) {
				t.Skip("this run is for the sake of", active)
			}
			pool := new(checkasm.Pool)
			defer pool.Close()
			list := functions[im.kernel]
			calls, wrong := 0, 0
			for c := range cases(im) {
				c.Fn, c.Want, c.GoABI = im.fn, list[len(list)-1], im.ISA == Generic
				c.Tiles = im.Needs&AMX != 0
				if r := records[im.kernel]; !r.exact {
					c.Close = r.nearly
				}
				calls++
				if err := checkasm.Check(pool, c.Case); err != nil {
					t.Errorf("%s: %v", c.name, err)
					if wrong++; wrong == 5 {
						t.Fatal("and perhaps more")
					}
				}
			}
			if calls < 8 {
				t.Errorf("%d calls: its record has too few sizes", calls)
			}
			t.Log(calls, "calls")
		})
	}
}

// record describes how a kernel is called. It is generated.
type record struct {
	exact    bool // the bits are the twin's
	relative bool // nothing can cancel: results are as close as rounding allows, relative to their size
	sums     int  // the size of sums that may cancel
	sizes    []size
	params   []param
}

// size is an int parameter or the length of a slice.
type size struct {
	name   string
	each   bool // tests combine each value with every value of the other sizes; otherwise they take turns
	hint   bool
	least  int
	values func(s shape) []int
}

// param is a parameter: an operand, a scalar with values, or an int.
type param struct {
	name    string
	operand *operand
	values  []float32
}

// operand is a matrix, or a vector in one row.
type operand struct {
	rows, cols           func(s shape) int
	stride               string
	oneRow               bool // the stride may be 0: one row for all
	beta                 string
	read, write, scratch bool
	same                 []string
}

// nearly reports whether two implementations of a kernel differ by at most the allowed amount.
// Other tests measure how close each is to the exact result.
func (r record) nearly(got, want float32) bool {
	if r.relative {
		return math.Abs(float64(got)-float64(want)) <= 0x1p-20*math.Abs(float64(want))+0x1p-40
	}
	return math.Abs(float64(got)-float64(want)) <= 0x1p-19*max(float64(r.sums), math.Abs(float64(want)))
}

// namedCase is a case with a name.
type namedCase struct {
	name string
	checkasm.Case
}

// cases returns the calls of one implementation.
func cases(im tested) func(yield func(namedCase) bool) {
	places := checkasm.Placements(4)
	if few() {
		places = []checkasm.Placement{{}, {Distance: 20}, {Front: true}, {Front: true, Distance: 12}}
	}
	return func(yield func(namedCase) bool) {
		turn := 0
		for _, s := range shapes(im) {
			for _, at := range places {
				if !yield(build(im, s, at, turn)) {
					return
				}
				turn++
			}
		}
		for _, s := range moreShapes(im) {
			if !yield(build(im, s, places[turn%len(places)], turn)) {
				return
			}
			turn++
		}
	}
}

// build returns one call. turn chooses the parts that are not swept: the values of scalars, and the
// operands that share memory.
func build(im tested, s shape, at checkasm.Placement, turn int) namedCase {
	choice := int(uint32(turn) * 2654435761 >> 16) // so that it does not change in step with at
	c := namedCase{name: s.String()}
	fn := reflect.TypeOf(im.fn)
	params := records[im.kernel].params
	scalars := map[string]float32{}
	for i, p := range params {
		if p.values != nil {
			scalars[p.name] = p.values[(turn+turn/7+i)%len(p.values)]
			c.name += fmt.Sprintf(" %s=%v", p.name, scalars[p.name])
		}
	}
	var pairs [][2]string
	for i, p := range params {
		switch {
		case p.values != nil:
			c.Args = append(c.Args, scalars[p.name])
		case p.operand == nil:
			c.Args = append(c.Args, s[p.name])
		default:
			o := p.operand.place(p.name, s)
			o.At = at
			if size := int(fn.In(i).Elem().Size()); size < 4 { // places are multiples of 4 bytes
				o.At.Distance += turn * size % 4
			}
			read := p.operand.read && (p.operand.beta == "" || scalars[p.operand.beta] != 0)
			o.Data = data(fn.In(i).Elem(), p.name, o.Rows*o.Cols, read)
			if special := contents[im.kernel]; special != nil {
				special(&o, s)
			}
			c.Args = append(c.Args, o)
			for _, other := range p.operand.same {
				pairs = append(pairs, [2]string{p.name, other})
			}
		}
	}
	// About half of the calls share memory, if the kernel has operands that may.
	if len(pairs) > 0 && choice>>4&1 == 1 {
		c.share(pairs[choice>>5%len(pairs)])
	}
	return c
}

// place returns the operand for the sizes s, without its data.
func (o *operand) place(name string, s shape) checkasm.Operand {
	p := checkasm.Operand{Name: name, Rows: o.rows(s), Cols: o.cols(s), Write: o.write, Scratch: o.scratch}
	if o.stride != "" {
		p.LD = s[o.stride]
		if p.LD == 0 {
			p.Rows = min(p.Rows, 1)
		}
	}
	if s[name+" is empty"] == 1 {
		p.Rows, p.Cols, p.LD = 0, 0, 0
	}
	return p
}

// share gives the two operands the same memory if their shapes are equal. The first in order holds
// the second's data if the second is the one that is read.
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
	if out.Rows != in.Rows || out.Cols != in.Cols || out.LD != in.LD {
		return
	}
	out.Data = in.Data
	c.Args[at[0]] = out
	c.Args[at[1]] = checkasm.Operand{Name: in.Name, Same: out.Name}
	c.name += fmt.Sprintf(" %s=%s", pair[0], pair[1])
}

// data returns n elements: numbers from -4 to 3, or any bits for integers. They depend only on the
// name. If they must not be read, data returns NaNs and similar values instead.
func data(elem reflect.Type, name string, n int, read bool) any {
	if elem.Kind() == reflect.Float32 {
		if read {
			return numbers(name, n)
		}
		return slices.Repeat([]float32{nan32}, n)
	}
	x := reflect.MakeSlice(reflect.SliceOf(elem), n, n)
	r := random(name)
	for i := range n {
		bits := r.Uint64()
		if !read {
			bits = 0xa5a5a5a5a5a5a5a5
		}
		if x.Index(i).CanInt() {
			x.Index(i).SetInt(int64(bits) >> (64 - elem.Bits()))
		} else {
			x.Index(i).SetUint(bits >> (64 - elem.Bits()))
		}
	}
	return x.Interface()
}

func random(name string) *rand.Rand {
	h := fnv.New64()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), 0))
}

func numbers(name string, n int) []float32 {
	r := random(name)
	x := make([]float32, n)
	for i := range x {
		x[i] = 7*r.Float32() - 4
	}
	return x
}
