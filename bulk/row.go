// Rows, and what their columns hold.

package bulk

import (
	"errors"
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Kind is what a column holds.
type Kind int

// The kinds, with the Go types of their values. A value may also be nil.
const (
	String  Kind = iota // string
	JSON                // string, the text of a JSON value
	Int32               // int32
	Int64               // int64
	Float32             // float32
	Float64             // float64
	Bool                // bool
	Bytes               // []byte
	Floats              // []float32, each row as many
	Int8s               // []int8, each row as many
)

var kindNames = []string{"string", "json", "int32", "int64", "float32", "float64", "bool", "bytes", "float32s", "int8s"}

func (k Kind) String() string { return kindNames[k] }

// A Column is one of a file. Length is the number of elements of Floats, Int8s and fixed Bytes, else 0.
type Column struct {
	Name   string
	Kind   Kind
	Length int
}

// A row of an input.
type row struct {
	number int64 // in its file, from 0
	text   string
	passed []any  // values of the columns that are passed on
	raw    []byte // as read, for the dead letters; may be nil
	err    error  // why it is dead

	control bool // a line with control characters that texts do not have
}

// passing are columns to pass on, as Options.Pass names them.
type passing struct {
	columns []Column
	all     bool
}

// parsePass reads "name" and "name:kind"; "*" is all columns of files that name theirs.
func parsePass(names []string) (passing, error) {
	var p passing
	seen := map[string]bool{}
	for _, s := range names {
		if s == "*" {
			if len(names) > 1 {
				return p, check.Errorf(fault.ErrOption, "Pass has * together with other names")
			}
			return passing{all: true}, nil
		}
		c := Column{Name: s, Kind: -1}
		if name, kind, typed := strings.Cut(s, ":"); typed {
			c.Name = name
			for k, n := range kindNames[:Bytes] {
				if n == kind {
					c.Kind = Kind(k)
				}
			}
			if c.Kind < 0 {
				return p, check.Errorf(fault.ErrOption, "Pass %q: no kind %q, want one of %s", s, kind, strings.Join(kindNames[:Bytes], ", "))
			}
		}
		if c.Name == "" || seen[c.Name] {
			return p, check.Errorf(fault.ErrOption, "Pass %q: a name that is empty or given twice", s)
		}
		seen[c.Name] = true
		p.columns = append(p.columns, c)
	}
	return p, nil
}

var (
	errUTF8 = errors.New("not UTF-8")
	errNull = errors.New("no text: null")
)
