package safetensors

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// A Tensor is a float32 tensor to be written: row-major Data of the given Shape.
type Tensor struct {
	Shape []int
	Data  []float32
}

// Write writes the tensors, in alphabetical order, and the metadata, which may be nil, as a
// safetensors file of F32 elements.
func Write(w io.Writer, tensors map[string]Tensor, metadata map[string]string) error {
	names := make([]string, 0, len(tensors))
	for n := range tensors {
		names = append(names, n)
	}
	slices.Sort(names)

	type header struct {
		DType   DType    `json:"dtype"`
		Shape   []int    `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}
	h := map[string]any{}
	if metadata != nil {
		h["__metadata__"] = metadata
	}
	var at int64
	for _, n := range names {
		t := tensors[n]
		if got, want := len(t.Data), (Info{Shape: t.Shape}).Len(); got != want {
			return fmt.Errorf("safetensors: %q has %d elements, its shape %v wants %d", n, got, t.Shape, want)
		}
		end := at + 4*int64(len(t.Data))
		h[n] = header{F32, append([]int{}, t.Shape...), [2]int64{at, end}}
		at = end
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	for len(text)%8 != 0 { // the data starts aligned
		text = append(text, ' ')
	}

	b := bufio.NewWriter(w)
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], uint64(len(text)))
	b.Write(word[:])
	b.Write(text)
	for _, n := range names {
		for _, v := range tensors[n].Data {
			binary.LittleEndian.PutUint32(word[:], math.Float32bits(v))
			b.Write(word[:4])
		}
	}
	return b.Flush()
}
