// This file has rows and the kinds of their columns.

package bulk

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// Kind is the kind of values in a column.
type Kind int

// The kinds, with the Go types of their values. A value may also be nil.
const (
	String    Kind = iota // string
	JSON                  // string, the text of a JSON value
	Int32                 // int32
	Int64                 // int64
	Float32               // float32
	Float64               // float64
	Bool                  // bool
	Bytes                 // []byte
	Floats                // []float32, of the same length in each row
	Int8s                 // []int8, of the same length in each row
	Float16s              // []uint16, the bits of IEEE 754's binary16, of the same length in each row
	Uint64                // uint64
	Date                  // int32, days since 1970-01-01
	Time                  // int64, in units since midnight
	Timestamp             // int64, in units since 1970-01-01 00:00, in UTC if the column has a zone, and else by an unknown local clock
	Decimal               // *big.Int, the value times 10 to the power of the column's scale
	UUID                  // [16]byte
)

var kindNames = []string{"string", "json", "int32", "int64", "float32", "float64", "bool", "bytes", "float32s", "int8s", "float16s", "uint64", "date", "time", "timestamp", "decimal", "uuid"}

func (k Kind) String() string { return kindNames[k] }

// A Column is a column of a file. Fields that its Kind does not need are zero.
type Column struct {
	Name   string
	Kind   Kind
	Length int // elements of Floats, Float16s and Int8s, and bytes of Bytes of a fixed length

	Unit             time.Duration // of Time and Timestamp: a millisecond, a microsecond or a nanosecond
	Zone             string        // of Timestamp, as Arrow names it; "" is an unknown local clock
	Precision, Scale int           // of Decimal: the number of digits, and the number of digits after the point
}

// writtenAsText reports whether values are written as text in formats without a type for them.
func (c Column) writtenAsText() bool { return c.Kind >= Date }

// text returns the text of a value of such a kind: timestamps, times and dates in ISO 8601,
// timestamps in UTC with Z.
func (c Column) text(v any) string {
	switch v := v.(type) {
	case int32:
		return time.Unix(int64(v)*24*60*60, 0).UTC().Format(time.DateOnly)
	case int64:
		second := int64(time.Second / c.Unit)
		layout := "2006-01-02T15:04:05.999999999"
		if c.Kind == Time {
			layout = "15:04:05.999999999"
		} else if c.Zone != "" {
			layout += "Z07:00"
		}
		return time.Unix(v/second, v%second*int64(c.Unit)).UTC().Format(layout)
	case *big.Int:
		return decimalText(v, c.Scale)
	case [16]byte:
		return fmt.Sprintf("%x-%x-%x-%x-%x", v[:4], v[4:6], v[6:8], v[8:10], v[10:])
	}
	panic(fmt.Sprintf("bulk: a %T is not written as text", v))
}

// decimalText returns the digits of v with a point before the last scale digits.
func decimalText(v *big.Int, scale int) string {
	digits := new(big.Int).Abs(v).String()
	if scale > 0 {
		digits = strings.Repeat("0", max(scale+1-len(digits), 0)) + digits
		digits = digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	}
	if v.Sign() < 0 {
		return "-" + digits
	}
	return digits
}

// A row is a row of an input.
type row struct {
	number int64 // in its file, from 0
	text   string
	passed []any  // values of the columns that are passed on
	raw    []byte // as read, for the dead letters; may be nil
	err    error  // reason why the row is dead

	control bool // the line has control characters that texts do not contain
}

// passing has the columns to pass on, as Options.Pass names them.
type passing struct {
	columns []Column
	all     bool
}

// parsePass parses names of the forms "name" and "name:kind"; "*" is all columns of files that name
// their columns.
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
				return p, check.Errorf(fault.ErrOption, "Pass %q: unknown kind %q, want one of %s", s, kind, strings.Join(kindNames[:Bytes], ", "))
			}
		}
		if c.Name == "" || seen[c.Name] {
			return p, check.Errorf(fault.ErrOption, "Pass %q: the name is empty or occurs twice", s)
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
