// The error of this project's packages, and the kinds of it.

package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/fault"
)

// The kinds, of which some are a kind of another. Packages export those that their errors have.
var (
	ErrConfig    = errors.New("invalid configuration")
	ErrModelType = Within(ErrConfig, "model_type is not supported")
	ErrFormat    = errors.New("malformed file")
	ErrFolder    = errors.New("unsuitable folder")
	ErrWeights   = errors.New("weights do not fit the model")
	ErrMissing   = Within(ErrWeights, "weights are missing")
	ErrLeftOver  = Within(ErrWeights, "weights are left over")
	ErrMisshapen = Within(ErrWeights, "weights have the wrong shape")
	ErrOption    = errors.New("invalid option")
	ErrInput     = errors.New("invalid input")
	ErrToken     = Within(ErrInput, "token outside the vocabulary")
	ErrTooLong   = Within(ErrInput, "too many tokens")
	ErrShape     = errors.New("sizes do not fit")
	ErrMemory    = errors.New("limit of memory reached")
)

// kinds are those that an error about a file may have, the special before the general.
var kinds = []error{ErrModelType, ErrConfig, ErrFormat, ErrFolder, ErrWeights, ErrOption, ErrShape, ErrMemory}

// kind is a kind within another.
type kind struct {
	text string
	of   error
}

// Within is a kind of its own that errors.Is takes for of, too.
func Within(of error, text string) error { return &kind{text, of} }

func (k *kind) Error() string { return k.text }
func (k *kind) Unwrap() error { return k.of }

// Error is the error of all packages.
type Error = fault.Error

// Errorf is an error of a kind.
func Errorf(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}

// Option is an error about an option and the value that the caller gave it.
func Option(name string, value any, format string, args ...any) error {
	return &Error{Kind: ErrOption, Field: name, Value: Short(fmt.Sprint(value)), Err: fmt.Errorf(format, args...)}
}

// InFile is err, of a kind that its own kinds do not tell if need be, as an error about a file.
func InFile(name string, otherwise, err error) error {
	if e, ok := err.(*Error); ok && e.File == "" {
		named := *e
		named.File = name
		return &named
	}
	if e := (*Error)(nil); errors.As(err, &e) && e.File != "" { // such as a file that this one names
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			otherwise = k
			break
		}
	}
	return &Error{Kind: otherwise, File: name, Err: err}
}

// JSON is the text of a value in JSON, on one line and cut off where it is long.
func JSON(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil { // NaN
		return Short(string(bytes.Join(bytes.Fields(value), []byte(" "))))
	}
	return Short(b.String())
}

// Short is the text of a value, cut off where it is long.
func Short(value string) string {
	const most = 120
	if len(value) <= most {
		return value
	}
	return strings.ToValidUTF8(value[:most], "") + "…"
}
