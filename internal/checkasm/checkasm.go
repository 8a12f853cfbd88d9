// Package checkasm tests hand-written and generated assembly functions, like the tool of the same
// name in dav1d.
//
// A [Case] is one call of a function: its operands, the place of each in memory, and a Go function
// that computes the correct results. [Check] makes the call with every operand in memory of its
// own, between two pages that may not be accessed, surrounded by canaries. It reports
//
//   - a fault: a read or write outside the pages of an operand,
//   - a canary that changed: a write outside an operand, or between its rows,
//   - a change of an operand that the function may only read,
//   - a result that differs,
//   - changes of the machine's state: a moved stack pointer, a
//     clobbered frame pointer, the direction flag, the floating-point control
//     register, the upper halves of vector registers, reserved registers, the
//     stack above its arguments.
//
// The call goes straight to the ABI0 entry of the function. Every register whose value the function
// may not rely on is filled with junk ([Call]).
//
// [Lengths] and [Placements] are the sweeps that find the usual mistakes. The package does not
// depend on the packages that it tests.
package checkasm

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unsafe"
)

// Operand is a slice argument of a [Case]: a vector, or a matrix with a gap after each row.
type Operand struct {
	Name string
	// Data holds the elements before the call, row by row and without gaps: a []T, where T is the
	// element type of the function's parameter.
	Data any
	// Rows and Cols are the shape. If both are 0, the operand is one row with all of Data.
	Rows, Cols int
	// LD is the distance between the starts of two rows, at least Cols; 0 stands for Cols.
	LD int
	// Write says that the function may change the elements.
	Write bool
	// Scratch says that the function may leave any values in the elements.
	Scratch bool
	// Nil passes a nil slice.
	Nil bool
	// Same passes the same slice as the earlier operand of this name, for functions that work in
	// place. All other fields are then ignored.
	Same string
	// At is the position of the slice between its guard pages.
	At Placement
}

// Case is one call of a function.
type Case struct {
	// Fn is the function under test.
	Fn any
	// Args are its arguments in order: an Operand for each slice, and for every other parameter a
	// value of its type.
	Args []any
	// Want is a Go function of the same type. It is called with equal arguments, and must leave the
	// correct results in its operands and return the correct values.
	Want any
	// Close reports whether an element of a written float32 operand, or a float32 result, is close
	// enough to the wanted value. Without it, and for other types, all bits must agree, except that
	// all NaNs are equal.
	Close func(got, want float32) bool
	// Tiles fills the tiles of AMX with junk before the call, and requires Fn to release them. The
	// machine must have tiles, and the system must have permitted them.
	Tiles bool
	// GoABI calls Fn like any Go function and does not check registers: Go code preserves them.
	GoABI bool
}

// operand is an Operand in memory.
type operand struct {
	Operand
	arg  int // its index among the arguments
	elem reflect.Type
	mem  reflect.Value // the slice that is passed
	buf  *Buffer
}

// Check makes the call and returns an error that lists all violations, or nil. Its buffers come
// from pool.
func Check(pool *Pool, c Case) error {
	fn := reflect.ValueOf(c.Fn)
	if fn.Type().NumIn() != len(c.Args) {
		return fmt.Errorf("%d arguments for %v", len(c.Args), fn.Type())
	}
	got, want, ops, err := c.arguments(pool, fn.Type())
	if err != nil {
		return err
	}
	for _, o := range ops {
		o.buf.Snapshot()
	}

	var errs []error
	var results []reflect.Value
	err = Try(func() {
		if c.GoABI {
			results = fn.Call(got)
			return
		}
		results, errs = callValues(fn, got, c.Tiles)
	})
	if err != nil {
		for _, o := range ops {
			if w := o.buf.Where(err); w != "" {
				err = fmt.Errorf("%w: %s of %s (%s)", err, w, o.Name, o.At)
			}
		}
		errs = append(errs, err)
	}
	for _, o := range ops {
		if err := o.buf.Changed(o.rows()...); err != nil {
			what := "around"
			if !o.Write {
				what = "in or around the read-only"
			}
			errs = append(errs, fmt.Errorf("wrote %s operand %s (%s): %w", what, o.Name, o.At, err))
		}
	}
	if err != nil {
		return errors.Join(errs...)
	}
	for i, w := range reflect.ValueOf(c.Want).Call(want) {
		if g := results[i]; !equal(g.Interface(), w.Interface(), c.Close) {
			errs = append(errs, fmt.Errorf("returned %v, want %v", g, w))
		}
	}
	for _, o := range ops {
		if !o.Write || o.Scratch {
			continue
		}
		if err := o.compare(want[o.arg], c.Close); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// arguments returns the arguments of Fn, whose type is fn, those of Want, and the operands among
// them.
func (c Case) arguments(pool *Pool, fn reflect.Type) (got, want []reflect.Value, ops []*operand, err error) {
	pool.used = 0
	got, want = make([]reflect.Value, len(c.Args)), make([]reflect.Value, len(c.Args))
	byName := map[string]int{}
	for i, a := range c.Args {
		o, ok := a.(Operand)
		if !ok {
			got[i] = reflect.ValueOf(a)
			want[i] = got[i]
			continue
		}
		if o.Nil {
			got[i] = reflect.Zero(fn.In(i))
			want[i] = got[i]
			continue
		}
		if o.Same != "" {
			j, ok := byName[o.Same]
			if !ok {
				return nil, nil, nil, fmt.Errorf("operand %q is to be %q, which does not come before it", o.Name, o.Same)
			}
			byName[o.Name] = j
			got[i], want[i] = got[j], want[j]
			continue
		}
		byName[o.Name] = i
		p, err := place(pool, o)
		if err != nil {
			return nil, nil, nil, err
		}
		p.arg = i
		ops = append(ops, p)
		got[i] = p.mem
		// Want gets a slice of the same layout in ordinary memory.
		want[i] = reflect.MakeSlice(p.mem.Type(), p.mem.Len(), p.mem.Len())
		reflect.Copy(want[i], p.mem)
	}
	return got, want, ops, nil
}

// place copies an operand to guarded memory.
func place(pool *Pool, o Operand) (*operand, error) {
	data := reflect.ValueOf(o.Data)
	if data.Kind() != reflect.Slice {
		return nil, fmt.Errorf("operand %q: Data is %T, want a slice", o.Name, o.Data)
	}
	if o.Rows == 0 && o.Cols == 0 {
		o.Rows, o.Cols = 1, data.Len()
	}
	if o.LD == 0 {
		o.LD = o.Cols
	}
	if o.Rows*o.Cols != data.Len() || o.LD < o.Cols {
		return nil, fmt.Errorf("operand %q: %d elements for %d x %d with rows %d apart", o.Name, data.Len(), o.Rows, o.Cols, o.LD)
	}
	n := 0
	if data.Len() > 0 {
		n = (o.Rows-1)*o.LD + o.Cols
	}
	p := &operand{Operand: o, elem: data.Type().Elem()}
	size := int(p.elem.Size())
	buf, err := pool.get(n*size + o.At.Distance)
	if err != nil {
		return nil, err
	}
	p.buf = buf
	buf.Fill()
	at := buf.at(o.At, n*size)
	p.mem = reflect.SliceAt(p.elem, at, n)
	for r := range o.Rows {
		if o.Cols > 0 {
			reflect.Copy(p.mem.Slice(r*o.LD, r*o.LD+o.Cols), data.Slice(r*o.Cols, (r+1)*o.Cols))
		}
	}
	return p, nil
}

// rows returns the bytes that the function may write.
func (o *operand) rows() [][]byte {
	if !o.Write || o.Cols == 0 {
		return nil
	}
	size := int(o.elem.Size())
	var spans [][]byte
	for r := range o.Rows {
		first := (*byte)(unsafe.Add(o.mem.UnsafePointer(), r*o.LD*size))
		spans = append(spans, unsafe.Slice(first, o.Cols*size))
	}
	return spans
}

// compare reports the first elements that differ from want.
func (o *operand) compare(want reflect.Value, closeEnough func(got, want float32) bool) error {
	if o.Cols == 0 {
		return nil
	}
	var wrong []string
	differ := 0
	size := int(o.elem.Size())
	for r := range o.Rows {
		for c := range o.Cols {
			i := r*o.LD + c
			g, w := unsafe.Add(o.mem.UnsafePointer(), i*size), unsafe.Add(want.UnsafePointer(), i*size)
			if o.elem.Kind() == reflect.Float32 {
				if equalFloats(*(*float32)(g), *(*float32)(w), closeEnough) {
					continue
				}
			} else if bytes.Equal(unsafe.Slice((*byte)(g), size), unsafe.Slice((*byte)(w), size)) {
				continue
			}
			differ++
			if len(wrong) < 3 {
				wrong = append(wrong, fmt.Sprintf("%s[%d,%d] = %v, want %v", o.Name, r, c, o.mem.Index(i), want.Index(i)))
			}
		}
	}
	if differ == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d elements differ: %s (%s)", differ, o.Rows*o.Cols, strings.Join(wrong, "; "), o.At)
}

// equal compares results of any type.
func equal(got, want any, closeEnough func(got, want float32) bool) bool {
	if g, ok := got.(float32); ok {
		return equalFloats(g, want.(float32), closeEnough)
	}
	return got == want
}

func equalFloats(got, want float32, closeEnough func(got, want float32) bool) bool {
	return math.Float32bits(got) == math.Float32bits(want) || got != got && want != want ||
		closeEnough != nil && closeEnough(got, want)
}
