package weights

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/avoformer/avoformer/internal/half"
)

// This file converts float32 to the bytes of files.

// Encode sets dst to x in the blocks of files, with the values that packing gives them. x must
// consist of whole blocks, and files must have the format. importance is nil, or holds the weights
// of the elements' squared errors: finite numbers of at least 0. Only formats in blocks, except
// Q8_0 and MXFP4, use them.
func (f Format) Encode(dst []byte, x, importance []float32) {
	switch f {
	case F32:
		for i, v := range x {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
		return
	case BF16, F16:
		narrow := half.ToBFloat16s
		if f == F16 {
			narrow = half.ToFloat16s
		}
		y := make([]uint16, len(x))
		narrow(y, x)
		for i, v := range y {
			binary.LittleEndian.PutUint16(dst[2*i:], v)
		}
		return
	}
	l := &blockLayouts[f]
	c := quantizers.Get().(*quantizer)
	defer quantizers.Put(c)
	c.importance = nil
	for len(x) > 0 {
		clear(c.q[:l.Elements])
		c.d, c.dmin, c.scale, c.least = 0, 0, [16]uint8{}, [16]uint8{}
		if importance != nil {
			c.importance, importance = importance[:l.Elements], importance[l.Elements:]
		}
		l.quantize(c, x[:l.Elements])
		clear(dst[:l.file])
		l.encode(dst[:l.file], &c.blockColumn)
		dst, x = dst[l.file:], x[l.Elements:]
	}
}

// quantizers holds memory of some kilobytes for calls of Encode.
var quantizers = sync.Pool{New: func() any { return new(quantizer) }}
