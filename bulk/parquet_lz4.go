// This file decodes Parquet's first LZ4 codec, which current writers replace by LZ4_RAW.

package bulk

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// framedLZ4 decodes pages of the codec LZ4, which the format does not define: Hadoop's programs
// write frames, and other programs a block.
type framedLZ4 struct{ compress.Codec }

func init() {
	raw, err := compress.GetCodec(compress.Codecs.Lz4Raw)
	if err != nil {
		panic(err)
	}
	compress.RegisterCodec(compress.Codecs.Lz4, framedLZ4{raw}) // the library has no codec for it
}

// DecodeWithError implements [compress.ErrorCodec]. dst has the length of the page.
func (c framedLZ4) DecodeWithError(dst, src []byte) ([]byte, error) {
	if c.frames(dst, src) {
		return dst, nil
	}
	return compress.Decode(c.Codec, dst, src)
}

// frames reports whether src consists of frames that fill dst exactly. A frame has its lengths
// without and with compression, and a block.
func (c framedLZ4) frames(dst, src []byte) bool {
	const head = 8
	for len(src) >= head {
		plain, packed := uint64(binary.BigEndian.Uint32(src)), uint64(binary.BigEndian.Uint32(src[4:]))
		src = src[head:]
		if plain > uint64(len(dst)) || packed > uint64(len(src)) {
			return false
		}
		if block, err := compress.Decode(c.Codec, dst[:plain], src[:packed]); err != nil || uint64(len(block)) != plain {
			return false
		}
		dst, src = dst[plain:], src[packed:]
	}
	return len(dst) == 0 && len(src) == 0
}
