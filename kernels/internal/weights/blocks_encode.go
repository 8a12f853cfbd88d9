package weights

import "encoding/binary"

// This file converts blocks to the bytes of GGUF files, which blocks_repack.go reads. It moves bits
// of 8 elements at a time, in words whose bytes are elements.

const (
	eachOnes   = 0x0101010101010101
	eachThrees = 0x0303030303030303
	eachLow    = 0x0f0f0f0f0f0f0f0f
)

func word(q []byte, i int) uint64       { return binary.LittleEndian.Uint64(q[i:]) }
func putWord(b []byte, i int, v uint64) { binary.LittleEndian.PutUint64(b[i:], v) }

// join sets each element of b to bits of the elements of q at the same place of each part, side by
// side: those in mask after a shift to the right. Parts have the length of b.
func join(b, q []byte, shift int, mask uint64, bits, parts int) {
	for i := 0; i < len(b); i += 8 {
		var v uint64
		for k := range parts {
			v |= word(q, k*len(b)+i) >> shift & mask << (k * bits)
		}
		putWord(b, i, v)
	}
}

func encodeQ8_0(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	for i := 0; i < 32; i += 8 {
		putWord(b, 2+i, word(c.q[:], i)^0x80*eachOnes)
	}
}

// encodeHalves sets b to the lower 4 bits of 32 elements: the first 16 elements in the lower halves
// of the bytes, and the other elements in the upper halves.
func encodeHalves(b []byte, c *blockColumn) { join(b[:16], c.q[:], 0, eachLow, 4, 2) }

func encodeQ4_0(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	encodeHalves(b[2:], c)
}

// encodeQ4_1 changes the sign of the minimum: files add it, blocks subtract it.
func encodeQ4_1(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	binary.LittleEndian.PutUint16(b[2:], c.dmin^1<<15)
	encodeHalves(b[4:], c)
}

// encodeFifths sets b to a word whose bit i is the fifth bit of element i, and to the lower 4 bits
// of the elements.
func encodeFifths(b []byte, c *blockColumn) {
	var high uint32
	for i := 0; i < 32; i += 8 {
		const gather = 0x0102040810204080 // its product with a word that has a bit in each byte collects the bit of byte j as bit j of the highest byte
		high |= uint32(word(c.q[:], i)>>4&eachOnes*gather>>56) << i
	}
	binary.LittleEndian.PutUint32(b, high)
	encodeHalves(b[4:], c)
}

func encodeQ5_0(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	encodeFifths(b[2:], c)
}

func encodeQ5_1(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	binary.LittleEndian.PutUint16(b[2:], c.dmin^1<<15)
	encodeFifths(b[4:], c)
}

func encodeQ4_K(b []byte, c *blockColumn) { encodeGroups(b[:16], b[16:], c) }

func encodeQ5_K(b []byte, c *blockColumn) {
	encodeGroups(b[:16], b[48:], c)
	join(b[16:48], c.q[:], 4, eachOnes, 1, 8)
}

func encodeGroups(head, low []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(head, c.d)
	binary.LittleEndian.PutUint16(head[2:], c.dmin)
	six := head[4:]
	for g := range 4 {
		six[g] = c.scale[g] | c.scale[g+4]>>4<<6
		six[g+4] = c.least[g] | c.least[g+4]>>4<<6
		six[g+8] = c.scale[g+4]&15 | c.least[g+4]<<4
	}
	for part := range 4 {
		join(low[part*32:][:32], c.q[part*64:], 0, eachLow, 4, 2)
	}
}

func encodeQ6_K(b []byte, c *blockColumn) {
	copy(b[192:208], c.scale[:])
	binary.LittleEndian.PutUint16(b[208:], c.d)
	for part := range 2 {
		q := c.q[part*128:]
		join(b[part*64:][:64], q, 0, eachLow, 4, 2)
		join(b[128+part*32:][:32], q, 4, eachThrees, 2, 4)
	}
}

func encodeMXFP4(b []byte, c *blockColumn) {
	b[0] = byte(c.d)
	encodeHalves(b[1:], c)
}

// encodeIQ4_XS writes scales of 6 bits, larger by 32: the lower 4 bits of two groups in a byte, the
// upper 2 bits of all groups in a word before these bytes.
func encodeIQ4_XS(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	var high uint16
	for g := range 8 {
		six := c.scale[g] + 32
		b[4+g/2] |= six & 15 << (g % 2 * 4)
		high |= uint16(six>>4) << (2 * g)
	}
	binary.LittleEndian.PutUint16(b[2:], high)
	for part := range 8 {
		join(b[8+part*16:][:16], c.q[part*32:], 0, eachLow, 4, 2)
	}
}

// encodeQ3_K writes third bits, lower 2 bits, and scales of 6 bits, larger by 32: the lower 4 bits
// of groups g and g+8 in a byte, and the upper 2 bits of groups g, g+4, g+8 and g+12 in a byte.
func encodeQ3_K(b []byte, c *blockColumn) {
	join(b[:32], c.q[:], 2, eachOnes, 1, 8)
	for part := range 2 {
		join(b[32+part*32:][:32], c.q[part*128:], 0, eachThrees, 2, 4)
	}
	for g := range 16 {
		six := c.scale[g] + 32
		b[96+g%8] |= six & 15 << (g / 8 * 4)
		b[104+g%4] |= six >> 4 << (g / 4 * 2)
	}
	binary.LittleEndian.PutUint16(b[108:], c.d)
}
