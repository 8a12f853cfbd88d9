// Package npy writes the beginning of NumPy's .npy files.
package npy

import (
	"bytes"
	"fmt"
)

// size is the length of every header, so that a header can be written again when the number of rows
// is known.
const size = 128

// Header returns a header of NumPy's format 1.0 in 128 bytes, for an array [rows, length] of
// elements such as "<f4".
func Header(descr string, rows, length int) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, rows, length)
	head := append([]byte("\x93NUMPY\x01\x00"), byte((size-10)&255), byte((size-10)>>8))
	head = append(head, text...)
	head = append(head, bytes.Repeat([]byte{' '}, size-1-len(head))...)
	return append(head, '\n')
}
