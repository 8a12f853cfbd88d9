// What vectors are written as.

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// format writes vectors. Its header has the same size whatever is written
// behind it.
type format struct {
	name   string
	header func(rows, dim int) []byte
	row    func(dst []byte, index int, text string, v []float32) []byte
}

var formats = []format{
	{"jsonl", noHeader, jsonRow},
	{"csv", noHeader, csvRow},
	{"npy", npyHeader, rawRow},
	{"f32", noHeader, rawRow},
}

// formatOf is the format of a flag, or else of a file's name.
func formatOf(flag, file string) (format, error) {
	name := flag
	if name == "" {
		name = strings.TrimPrefix(filepath.Ext(file), ".")
	}
	if name == "" || file == "" && flag == "" {
		name = "jsonl"
	}
	for _, f := range formats {
		if f.name == name {
			return f, nil
		}
	}
	return format{}, usagef("format %q, want jsonl, csv, npy or f32", name)
}

func noHeader(rows, dim int) []byte { return nil }

// npyHeader is that of NumPy's format 1.0 for float32, [rows, dim], in 128 bytes.
func npyHeader(rows, dim int) []byte {
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", rows, dim)
	const size = 128
	head := append([]byte("\x93NUMPY\x01\x00"), byte((size-10)&255), byte((size-10)>>8))
	head = append(head, text...)
	head = append(head, bytes.Repeat([]byte{' '}, size-1-len(head))...)
	return append(head, '\n')
}

func rawRow(dst []byte, _ int, _ string, v []float32) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

func csvRow(dst []byte, _ int, _ string, v []float32) []byte {
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, '\n')
}

func jsonRow(dst []byte, index int, text string, v []float32) []byte {
	dst = append(dst, `{"index":`...)
	dst = strconv.AppendInt(dst, int64(index), 10)
	dst = append(dst, `,"text":`...)
	dst = append(dst, quote(text)...)
	dst = append(dst, `,"embedding":[`...)
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, "]}\n"...)
}

// quote is a JSON string.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
