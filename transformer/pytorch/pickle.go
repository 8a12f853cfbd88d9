package pytorch

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// This file reads pickles: programs for a stack machine that builds an object. It has the
// operations that state dicts of tensors need, and globals.go has the functions that a pickle may
// call. Nothing else is ever called: a pickle that asks for any other function is refused with an
// error that names the function.
//
// Source: the comments of CPython's Lib/pickletools.py.

func (g global) String() string { return g.module + "." + g.name }

const (
	// maxPickle bounds the bytes of a pickle. A tensor takes some 150.
	maxPickle = 1 << 25
	// maxStack bounds the values in the making. Python's pickler adds to dicts and lists by the
	// thousand.
	maxStack = 1 << 16
	// memoBlock values are kept in one piece, so that few are copied as their number grows.
	memoBlock = 1 << 12
)

// An unpickler runs pickles, one after another.
type unpickler struct {
	r          *bufio.Reader
	read       int64 // bytes of r
	short      [256]byte
	stack      []any
	memo       [][]any                   // blocks of memoBlock values
	kept       uint64                    // values in memo
	persistent func(id any) (any, error) // what a persistent id stands for; nil: there are none
}

func newUnpickler(r io.Reader, persistent func(id any) (any, error)) *unpickler {
	return &unpickler{r: bufio.NewReader(r), persistent: persistent}
}

// run runs the next pickle and returns the object that it builds.
func (u *unpickler) run() (any, error) {
	u.stack, u.memo, u.kept = u.stack[:0], nil, 0
	end := u.read + maxPickle
	for {
		op, err := u.byte()
		if err != nil {
			return nil, err
		}
		if u.read > end {
			return nil, fmt.Errorf("%w: a pickle of over %d bytes", fault.ErrFormat, maxPickle)
		}
		if op == '.' { // STOP
			return u.pop()
		}
		do, ok := operations[op]
		if !ok {
			return nil, fmt.Errorf("%w: pickle operation 0x%02x at byte %d, which tensors do not need", fault.ErrUnsupported, op, u.read-1)
		}
		if err := do(u); err != nil {
			return nil, err
		}
		if len(u.stack) > maxStack {
			return nil, fmt.Errorf("%w: a pickle of over %d values at a time", fault.ErrFormat, maxStack)
		}
	}
}

// operations are the operations that run, by their codes. Comments have the names of pickletools.
var operations = map[byte]func(u *unpickler) error{
	0x80: func(u *unpickler) error { return u.protocol() },                                        // PROTO
	0x95: func(u *unpickler) error { _, err := u.bytes(8); return err },                           // FRAME
	'N':  func(u *unpickler) error { return u.push(nil, nil) },                                    // NONE
	0x88: func(u *unpickler) error { return u.push(true, nil) },                                   // NEWTRUE
	0x89: func(u *unpickler) error { return u.push(false, nil) },                                  // NEWFALSE
	'J':  func(u *unpickler) error { n, err := u.uint(4); return u.push(int64(int32(n)), err) },   // BININT
	'K':  func(u *unpickler) error { n, err := u.uint(1); return u.push(int64(n), err) },          // BININT1
	'M':  func(u *unpickler) error { n, err := u.uint(2); return u.push(int64(n), err) },          // BININT2
	0x8a: func(u *unpickler) error { n, err := u.long(); return u.push(n, err) },                  // LONG1
	'G':  func(u *unpickler) error { n, err := u.float(); return u.push(n, err) },                 // BINFLOAT
	'X':  func(u *unpickler) error { s, err := u.text(4); return u.push(s, err) },                 // BINUNICODE
	0x8c: func(u *unpickler) error { s, err := u.text(1); return u.push(s, err) },                 // SHORT_BINUNICODE
	'T':  func(u *unpickler) error { s, err := u.text(4); return u.push(s, err) },                 // BINSTRING
	'U':  func(u *unpickler) error { s, err := u.text(1); return u.push(s, err) },                 // SHORT_BINSTRING
	'(':  func(u *unpickler) error { return u.push(mark{}, nil) },                                 // MARK
	')':  func(u *unpickler) error { return u.push(tuple(nil), nil) },                             // EMPTY_TUPLE
	't':  func(u *unpickler) error { items, err := u.popMark(); return u.tuple(items, err) },      // TUPLE
	0x85: func(u *unpickler) error { items, err := u.popN(1); return u.tuple(items, err) },        // TUPLE1
	0x86: func(u *unpickler) error { items, err := u.popN(2); return u.tuple(items, err) },        // TUPLE2
	0x87: func(u *unpickler) error { items, err := u.popN(3); return u.tuple(items, err) },        // TUPLE3
	']':  func(u *unpickler) error { return u.push(new(list), nil) },                              // EMPTY_LIST
	'a':  func(u *unpickler) error { items, err := u.popN(1); return u.extend(items, err) },       // APPEND
	'e':  func(u *unpickler) error { items, err := u.popMark(); return u.extend(items, err) },     // APPENDS
	'}':  func(u *unpickler) error { return u.push(new(dict), nil) },                              // EMPTY_DICT
	's':  func(u *unpickler) error { items, err := u.popN(2); return u.setItems(items, err) },     // SETITEM
	'u':  func(u *unpickler) error { items, err := u.popMark(); return u.setItems(items, err) },   // SETITEMS
	'q':  func(u *unpickler) error { n, err := u.uint(1); return u.put(n, err) },                  // BINPUT
	'r':  func(u *unpickler) error { n, err := u.uint(4); return u.put(n, err) },                  // LONG_BINPUT
	0x94: func(u *unpickler) error { return u.put(u.kept, nil) },                                  // MEMOIZE
	'h':  func(u *unpickler) error { n, err := u.uint(1); return u.get(n, err) },                  // BINGET
	'j':  func(u *unpickler) error { n, err := u.uint(4); return u.get(n, err) },                  // LONG_BINGET
	'c':  func(u *unpickler) error { g, err := u.global(); return u.push(g, err) },                // GLOBAL
	0x93: func(u *unpickler) error { items, err := u.popN(2); return u.stackGlobal(items, err) },  // STACK_GLOBAL
	'R':  func(u *unpickler) error { items, err := u.popN(2); return u.reduce(items, err) },       // REDUCE
	'b':  func(u *unpickler) error { items, err := u.popN(2); return u.build(items, err) },        // BUILD
	'Q':  func(u *unpickler) error { items, err := u.popN(1); return u.persistentID(items, err) }, // BINPERSID
}

// Reading the program.

// push adds v, unless err is an error of making it.
func (u *unpickler) push(v any, err error) error {
	if err == nil {
		u.stack = append(u.stack, v)
	}
	return err
}

func (u *unpickler) pop() (any, error) {
	items, err := u.popN(1)
	if err != nil {
		return nil, err
	}
	return items[0], nil
}

// popN takes n values off the stack, the last pushed last. They are valid until the next push.
func (u *unpickler) popN(n int) ([]any, error) {
	at := len(u.stack) - n
	if at < 0 {
		return nil, errStack
	}
	items := u.stack[at:]
	for _, v := range items {
		if _, ok := v.(mark); ok {
			return nil, errStack
		}
	}
	u.stack = u.stack[:at]
	return items, nil
}

var errStack = fmt.Errorf("%w: a pickle takes what it did not make", fault.ErrFormat)

// popMark takes the values after the last mark off the stack, and the mark. They are valid until
// the next push.
func (u *unpickler) popMark() ([]any, error) {
	for at := len(u.stack) - 1; at >= 0; at-- {
		if _, ok := u.stack[at].(mark); ok {
			items := u.stack[at+1:]
			u.stack = u.stack[:at]
			return items, nil
		}
	}
	return nil, errStack
}

// top returns the last value, which stays.
func (u *unpickler) top() any {
	if len(u.stack) == 0 {
		return nil
	}
	return u.stack[len(u.stack)-1]
}

// put keeps the last value under a number. Python counts them up.
func (u *unpickler) put(n uint64, err error) error {
	switch {
	case err != nil:
		return err
	case len(u.stack) == 0:
		return errStack
	case n > u.kept:
		return fmt.Errorf("%w: a pickle keeps value %d after %d values", fault.ErrFormat, n, u.kept)
	case n == u.kept:
		if n%memoBlock == 0 {
			u.memo = append(u.memo, make([]any, memoBlock))
		}
		u.kept++
	}
	u.memo[n/memoBlock][n%memoBlock] = u.top()
	return nil
}

// get pushes the value that was kept under a number.
func (u *unpickler) get(n uint64, err error) error {
	if err == nil && n >= u.kept {
		return errStack
	}
	if err != nil {
		return err
	}
	return u.push(u.memo[n/memoBlock][n%memoBlock], nil)
}

// Objects.

func (u *unpickler) tuple(items []any, err error) error {
	return u.push(tuple(slices.Clone(items)), err)
}

func (u *unpickler) extend(items []any, err error) error {
	if err != nil {
		return err
	}
	l, ok := u.top().(*list)
	if !ok {
		return fmt.Errorf("%w: a pickle appends to what is not a list", fault.ErrFormat)
	}
	l.items = join(l.items, items)
	return nil
}

func (u *unpickler) setItems(items []any, err error) error {
	if err != nil {
		return err
	}
	d, ok := u.top().(*dict)
	if !ok || len(items)%2 != 0 {
		return fmt.Errorf("%w: a pickle sets items of what is not a dict", fault.ErrFormat)
	}
	d.pairs = join(d.pairs, items)
	return nil
}

func (u *unpickler) stackGlobal(items []any, err error) error {
	if err != nil {
		return err
	}
	module, ok := items[0].(string)
	name, ok2 := items[1].(string)
	if !ok || !ok2 {
		return fmt.Errorf("%w: the name of a global is not a string", fault.ErrFormat)
	}
	return u.push(global{module, name}, nil)
}

// join is append that doubles what it needs, so that one item at a time is not copied often.
func join(to, items []any) []any {
	if len(to)+len(items) > cap(to) {
		to = slices.Grow(to, max(len(to), len(items)))
	}
	return append(to, items...)
}

// reduce calls a function.
func (u *unpickler) reduce(items []any, err error) error {
	if err != nil {
		return err
	}
	g, ok := items[0].(global)
	args, ok2 := items[1].(tuple)
	if !ok || !ok2 {
		return fmt.Errorf("%w: a pickle calls what is not a function", fault.ErrFormat)
	}
	f, ok := functions[g]
	if !ok {
		return fmt.Errorf("%w: it calls %s, which tensors do not need", fault.ErrUnsupported, g)
	}
	v, err := f(args)
	return u.push(v, err)
}

// build sets attributes of an object. Those of a state dict, such as its versions, say nothing
// about the tensors.
func (u *unpickler) build(items []any, err error) error {
	if err != nil {
		return err
	}
	if _, ok := items[0].(*dict); !ok {
		return fmt.Errorf("%w: it sets attributes of what is not a state dict", fault.ErrUnsupported)
	}
	return u.push(items[0], nil)
}

func (u *unpickler) persistentID(items []any, err error) error {
	if err != nil {
		return err
	}
	if u.persistent == nil {
		return fmt.Errorf("%w: a persistent id where there are none", fault.ErrFormat)
	}
	v, err := u.persistent(items[0])
	return u.push(v, err)
}
