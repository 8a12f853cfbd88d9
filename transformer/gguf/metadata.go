package gguf

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/avoformer/avoformer/fault"
)

// Keys lists the keys of the metadata in alphabetical order.
func (f *File) Keys() []string { return slices.Sorted(maps.Keys(f.metadata)) }

// Value returns the metadata of that key, and reports whether there is any. It is a bool, a string,
// an integer of 8 to 64 bits, with or without sign, a float32 or float64, or a slice of one of
// these, just as the file has it. It belongs to f.
func (f *File) Value(key string) (any, bool) {
	v, ok := f.metadata[key]
	return v, ok
}

// value returns the metadata of a key as a T, through convert where the file has another type.
func value[T any](f *File, key, want string, convert func(any) (T, bool)) (T, error) {
	var none T
	v, ok := f.metadata[key]
	if !ok {
		return none, fmt.Errorf("%w: key %q", fault.ErrAbsent, key)
	}
	if t, ok := v.(T); ok {
		return t, nil
	}
	if convert != nil {
		if t, ok := convert(v); ok {
			return t, nil
		}
	}
	return none, fmt.Errorf("%w: %q is %T, want %s", fault.ErrType, key, v, want)
}

// Bool returns the metadata of a key, which must be a bool. As with the following methods, errors
// match [fault.ErrAbsent] and [fault.ErrType].
func (f *File) Bool(key string) (bool, error) { return value[bool](f, key, "bool", nil) }

// Text returns the metadata of a key, which must be a string. It need not be valid UTF-8.
func (f *File) Text(key string) (string, error) { return value[string](f, key, "string", nil) }

// Texts returns the metadata of a key, which must be a list of strings. It belongs to f.
func (f *File) Texts(key string) ([]string, error) {
	return value[[]string](f, key, "a list of strings", nil)
}

// Int returns the metadata of a key, which must be an integer of any size that int64 holds.
func (f *File) Int(key string) (int64, error) {
	return value(f, key, "an integer that int64 holds", toInt)
}

// Ints returns the metadata of a key, which must be a list of integers as in Int.
func (f *File) Ints(key string) ([]int64, error) {
	return value(f, key, "a list of integers that int64 holds", func(v any) ([]int64, bool) {
		switch v := v.(type) {
		case []uint8:
			return widen(v, toInt)
		case []int8:
			return widen(v, toInt)
		case []uint16:
			return widen(v, toInt)
		case []int16:
			return widen(v, toInt)
		case []uint32:
			return widen(v, toInt)
		case []int32:
			return widen(v, toInt)
		case []uint64:
			return widen(v, toInt)
		}
		return nil, false
	})
}

// Float returns the metadata of a key, which must be a float32 or float64.
func (f *File) Float(key string) (float64, error) {
	return value(f, key, "a floating-point number", toFloat)
}

// Floats returns the metadata of a key, which must be a list of floating-point numbers.
func (f *File) Floats(key string) ([]float64, error) {
	return value(f, key, "a list of floating-point numbers", func(v any) ([]float64, bool) {
		if x, ok := v.([]float32); ok {
			return widen(x, toFloat)
		}
		return nil, false
	})
}

func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case uint8:
		return int64(v), true
	case int8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case int16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case int32:
		return int64(v), true
	case uint64:
		return int64(v), v <= math.MaxInt64
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float32:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// widen converts each element of x.
func widen[T, U any](x []T, convert func(any) (U, bool)) ([]U, bool) {
	y := make([]U, len(x))
	for i, v := range x {
		var ok bool
		if y[i], ok = convert(v); !ok {
			return nil, false
		}
	}
	return y, true
}
