// This file has the formats of vectors in files.

package main

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/internal/npy"
	"github.com/avoformer/avoformer/internal/textline"
)

// format writes vectors. The size of its header does not depend on the vectors.
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

// formatOf returns the format that the flag names, or else the format for a file's name.
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

func npyHeader(rows, dim int) []byte { return npy.Header("<f4", rows, dim) }

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
	dst = append(dst, textline.Quote(text)...)
	dst = append(dst, `,"embedding":[`...)
	for i, x := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, float64(x), 'g', -1, 32)
	}
	return append(dst, "]}\n"...)
}
