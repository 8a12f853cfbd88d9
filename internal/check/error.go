// This file has the error of all packages, and its kinds.

package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// kinds are the kinds that an error about a file may have, special kinds before general ones.
var kinds = []error{fault.ErrModelType, fault.ErrConfig, fault.ErrFormat, fault.ErrFolder, fault.ErrWeights, fault.ErrOption, fault.ErrShape, fault.ErrMemory}

// Error is the error of all packages.
type Error = fault.Error

// Errorf returns an error of a kind.
func Errorf(kind error, format string, args ...any) error {
	return &fault.Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// Option returns an error about an option and the value that the caller gave it.
func Option(name string, value any, format string, args ...any) error {
	return &fault.Error{Kind: fault.ErrOption, Field: name, Value: Short(fmt.Sprint(value)), Err: fmt.Errorf(format, args...)}
}

// Between returns an error about the option called name unless its value has is at least least and
// at most most.
func Between(name string, has, least, most float64) error {
	switch {
	case has >= least && has <= most:
		return nil
	case most >= math.MaxInt32 && !(has > most):
		return Option(name, number(has), "want at least %s", number(least))
	}
	return Option(name, number(has), "want %s to %s", number(least), number(most))
}

// number writes whole numbers without an exponent, as long as float64 holds them exactly.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprintf("%g", x)
}

// InFile returns err as an error about a file. Its kind is that of err, or otherwise if err has
// none.
func InFile(name string, otherwise, err error) error {
	if e, ok := err.(*fault.Error); ok && e.File == "" {
		named := *e
		named.File = name
		return &named
	}
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.File != "" { // of another file, such as one that this file names
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			otherwise = k
			break
		}
	}
	return &fault.Error{Kind: otherwise, File: name, Err: err}
}

// JSON returns the text of a value in JSON, on one line and cut off where it is long.
func JSON(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil { // NaN
		return Short(string(bytes.Join(bytes.Fields(value), []byte(" "))))
	}
	return Short(b.String())
}

// Short returns the text of a value, cut off where it is long.
func Short(value string) string {
	const most = 120
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
