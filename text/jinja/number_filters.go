// Filters of numbers.

package jinja

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

var numberFilters = map[string]filter{
	"int":   intFilter,
	"float": floatFilter,
	"round": roundFilter,
	"abs":   absFilter,
}

// integerForms are the texts that Python's int(s, base) reads.
var integerForms = sync.OnceValue(func() map[int]*regexp.Regexp {
	return map[int]*regexp.Regexp{
		2:  regexp.MustCompile(`^([-+]?)(?:0[bB]_?)?([01]+(?:_[01]+)*)$`),
		8:  regexp.MustCompile(`^([-+]?)(?:0[oO]_?)?([0-7]+(?:_[0-7]+)*)$`),
		10: regexp.MustCompile(`^([-+]?)([0-9]+(?:_[0-9]+)*)$`),
		16: regexp.MustCompile(`^([-+]?)(?:0[xX]_?)?([0-9a-fA-F]+(?:_[0-9a-fA-F]+)*)$`),
	}
})

// readInteger is Python's int(s, base) for the bases of integerForms.
func readInteger(s string, base int) (any, bool) {
	m := integerForms()[base].FindStringSubmatch(strings.TrimFunc(s, isSpace))
	if m == nil {
		return nil, false
	}
	return parseInteger(m[1]+strings.ReplaceAll(m[2], "_", ""), base)
}

func intFilter(v any, a *args) (any, error) {
	p, err := a.bind("int", "default", int64(0), "base", int64(10))
	if err != nil {
		return nil, err
	}
	base, err := wantInt("int", p[1])
	if err != nil {
		return nil, err
	}
	if s, ok := asText(v); ok {
		v = s
	}
	switch v := v.(type) {
	case string:
		if integerForms()[base] == nil {
			return nil, failf("int: base %d is not supported", base)
		}
		if i, ok := readInteger(v, base); ok {
			return i, nil
		}
		if f, ok := readFloat(v); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return floatInteger(f)
		}
	case float64:
		if !math.IsNaN(v) {
			return floatInteger(v)
		}
	case undefined:
		return nil, v.err()
	default:
		if i, ok := asBig(v); ok {
			return integer(i), nil
		}
	}
	return p[0], nil
}

var floatForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[-+]?((\d+(_\d+)*)?\.?(\d+(_\d+)*)?([eE][-+]?\d+(_\d+)*)?|inf(inity)?|nan)$`)
})

// readFloat is Python's float(s): not all that Go reads.
func readFloat(s string) (float64, bool) {
	s = strings.ToLower(strings.TrimFunc(s, isSpace))
	if !floatForm().MatchString(s) {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || errors.Is(err, strconv.ErrRange)
}

func floatFilter(v any, a *args) (any, error) {
	p, err := a.bind("float", "default", 0.0)
	if err != nil {
		return nil, err
	}
	if s, ok := asText(v); ok {
		v = s
	}
	switch v := v.(type) {
	case undefined:
		return nil, v.err()
	case string:
		if f, ok := readFloat(v); ok {
			return f, nil
		}
	default:
		if f, ok, err := asFloat(v); ok {
			return f, err
		}
	}
	return p[0], nil
}

func roundFilter(v any, a *args) (any, error) {
	p, err := a.bind("round", "precision", int64(0), "method", "common")
	if err != nil {
		return nil, err
	}
	n, err := wantInt("round", p[0])
	if err != nil {
		return nil, err
	}
	f, ok, err := asFloat(v)
	if !ok {
		return nil, failf("round: want a number, got %s", typeName(v))
	}
	if n < 0 || n > 300 {
		return nil, failf("round: precision %d is not supported", n)
	}
	i, whole := asBig(v)
	switch method, _ := asText(p[1]); {
	case method == "common" && whole:
		return integer(i), nil // round() leaves an integer one
	case (method == "ceil" || method == "floor") && (whole || err != nil):
		return f, err
	case method == "ceil":
		return roundWith(math.Ceil, f, n)
	case method == "floor":
		return roundWith(math.Floor, f, n)
	case method == "common":
		// To the even neighbour of the exact value, as in Python.
		return strconv.ParseFloat(strconv.FormatFloat(f, 'f', n, 64), 64)
	}
	return nil, failf("round: method must be common, ceil or floor")
}

// roundWith rounds f * 10**n to an integer. Python divides that integer, and therefore the result
// is never -0.
func roundWith(round func(float64) float64, f float64, n int) (any, error) {
	scale, _ := strconv.ParseFloat("1e"+strconv.Itoa(n), 64)
	i, err := floatInteger(round(f * scale))
	if err != nil {
		return nil, err
	}
	whole, _ := asBig(i)
	r, _ := new(big.Rat).SetFrac(whole, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)).Float64()
	return r, nil
}

func absFilter(v any, a *args) (any, error) {
	if f, ok := v.(float64); ok {
		return math.Abs(f), nil
	}
	i, ok := asBig(v)
	if !ok {
		return nil, failf("abs: want a number, got %s", typeName(v))
	}
	return integer(new(big.Int).Abs(i)), nil
}
