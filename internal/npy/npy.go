// Package npy writes the beginning of NumPy's .npy files.
package npy

import (
	"bytes"
	"fmt"
)

// size is that of every header, so that one can be written again when the number of rows is known.
const size = 128

// Header is that of NumPy's format 1.0 for elements such as "<f4", [rows, length], in 128 bytes.
func Header(descr string, rows, length int) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, rows, length)
	head := append([]byte("\x93NUMPY\x01\x00"), byte((size-10)&255), byte((size-10)>>8))
	head = append(head, text...)
	head = append(head, bytes.Repeat([]byte{' '}, size-1-len(head))...)
	return append(head, '\n')
}
