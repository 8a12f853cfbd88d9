// This file writes vectors in the forms that clients read.

package wire

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/text/quantize"
)

// Elements is the type of vectors' elements in an answer.
type Elements string

// These are the types in the protocols of Cohere, Jina, Mistral and Voyage.
const (
	Float   Elements = "float"
	Int8    Elements = "int8"    // each vector is scaled so that its largest element is 127 or -127
	Uint8   Elements = "uint8"   // as Int8, plus 128
	Binary  Elements = "binary"  // signs, eight per byte, the first in the highest bit, minus 128
	UBinary Elements = "ubinary" // as Binary, without subtracting 128
)

var allElements = []Elements{Float, Int8, Uint8, Binary, UBinary}

// ElementsOf returns the type with a name; "" is Float.
func ElementsOf(field, name string) (Elements, error) {
	if name == "" {
		return Float, nil
	}
	if e := Elements(name); slices.Contains(allElements, e) {
		return e, nil
	}
	names := make([]string, len(allElements))
	for i, e := range allElements {
		names[i] = string(e)
	}
	return "", engine.Errorf(engine.Invalid, "%s %.50q, want %s", field, name, strings.Join(names, ", ")).At(field)
}

// AppendVector appends a vector as a JSON list or, in base64, as a string. Elements of Float are
// float32 in little-endian.
func AppendVector(dst []byte, v []float32, e Elements, asBase64 bool) ([]byte, error) {
	if e == Float {
		if asBase64 {
			return AppendBase64(dst, v), nil
		}
		return AppendFloats(dst, v)
	}
	data, signed, err := e.bytes(v)
	if err != nil {
		return dst, err
	}
	if asBase64 {
		return appendBase64(dst, data), nil
	}
	dst = append(dst, '[')
	for i, b := range data {
		if i > 0 {
			dst = append(dst, ',')
		}
		x := int64(b)
		if signed {
			x = int64(int8(b))
		}
		dst = strconv.AppendInt(dst, x, 10)
	}
	return append(dst, ']'), nil
}

// bytes returns the elements of a vector, one byte each.
func (e Elements) bytes(v []float32) (data []byte, signed bool, err error) {
	switch e {
	case UBinary:
		return quantize.UBinary([][]float32{v})[0], false, nil
	case Binary:
		codes := quantize.Binary([][]float32{v})[0]
		data = make([]byte, len(codes))
		for i, x := range codes {
			data[i] = byte(x)
		}
		return data, true, nil
	}
	codes, _, err := quantize.Scaled([][]float32{v})
	if err != nil {
		return nil, false, engine.Errorf(engine.Internal, "the model's vector has an element that is not a number")
	}
	data = make([]byte, len(v))
	for i, x := range codes[0] {
		data[i] = byte(x)
		if e == Uint8 {
			data[i] ^= 0x80
		}
	}
	return data, e == Int8, nil
}

// AppendFloats appends a vector as a JSON list. Each number has the fewest digits that identify its
// float32. Numbers that are not finite are an error.
func AppendFloats(dst []byte, v []float32) ([]byte, error) {
	dst = append(dst, '[')
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendFloat(dst, x); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// AppendFloat appends an element of a vector.
func AppendFloat(dst []byte, x float32) ([]byte, error) {
	if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, engine.Errorf(engine.Internal, "the model's vector has an element that is not a number")
	}
	return strconv.AppendFloat(dst, float64(x), 'g', -1, 32), nil
}

// AppendBase64 appends a vector as a JSON string: base64 of its float32 in little endian.
func AppendBase64(dst []byte, v []float32) []byte {
	raw := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
	}
	return appendBase64(dst, raw)
}

func appendBase64(dst, raw []byte) []byte {
	dst = append(dst, '"')
	dst = base64.StdEncoding.AppendEncode(dst, raw)
	return append(dst, '"')
}
