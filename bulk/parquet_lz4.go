// Parquet's first LZ4, which writers of today replace by LZ4_RAW.

package bulk

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// framedLZ4 decodes pages of the codec LZ4, of which the format does not say what it is: Hadoop's
// programs write frames, and others a block.
type framedLZ4 struct{ compress.Codec }

func init() {
	raw, err := compress.GetCodec(compress.Codecs.Lz4Raw)
	if err != nil {
		panic(err)
	}
	compress.RegisterCodec(compress.Codecs.Lz4, framedLZ4{raw}) // the library has none
}

// DecodeWithError implements [compress.ErrorCodec]. dst has the length of the page.
func (c framedLZ4) DecodeWithError(dst, src []byte) ([]byte, error) {
	if c.frames(dst, src) {
		return dst, nil
	}
	return compress.Decode(c.Codec, dst, src)
}

// frames reports whether src is frames that fill dst. A frame has its length without and with
// compression, and a block.
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
