package weights

import "encoding/binary"

// Conversion of blocks to the bytes that GGUF files have, which blocks_repack.go reads.

func encodeQ8_0(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	for i := range b[2:] {
		b[2+i] = c.q[i] ^ 128
	}
}

// encodeHalves sets b to the lower 4 bits of 32 elements: the first 16 in the lower halves of the bytes, the rest in the upper.
func encodeHalves(b []byte, c *blockColumn) {
	for i := range b {
		b[i] = c.q[i]&15 | c.q[i+16]<<4
	}
}

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

// encodeFifths sets b to a word whose bit i is the fifth bit of element i, and to the lower 4 bits of the elements.
func encodeFifths(b []byte, c *blockColumn) {
	var high uint32
	for i := range 32 {
		high |= uint32(c.q[i]>>4) << i
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
	for i, q := range c.q {
		b[16+i%32] |= q >> 4 << (i / 32)
	}
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
	for i := range low {
		at := i/32*64 + i%32
		low[i] = c.q[at]&15 | c.q[at+32]<<4
	}
}

func encodeQ6_K(b []byte, c *blockColumn) {
	copy(b[192:208], c.scale[:])
	binary.LittleEndian.PutUint16(b[208:], c.d)
	for i, q := range c.q {
		part, at := i/128, i%128
		b[part*64+at%64] |= q & 15 << (at / 64 * 4)
		b[128+part*32+at%32] |= q >> 4 << (at / 32 * 2)
	}
}

func encodeMXFP4(b []byte, c *blockColumn) {
	b[0] = byte(c.d)
	encodeHalves(b[1:], c)
}

// encodeIQ4_XS writes scales of 6 bits, larger by 32: the lower 4 bits of two groups in a byte, the upper 2
// bits of all groups in a word before these bytes.
func encodeIQ4_XS(b []byte, c *blockColumn) {
	binary.LittleEndian.PutUint16(b, c.d)
	var high uint16
	for g := range 8 {
		six := c.scale[g] + 32
		b[4+g/2] |= six & 15 << (g % 2 * 4)
		high |= uint16(six>>4) << (2 * g)
	}
	binary.LittleEndian.PutUint16(b[2:], high)
	for i := range 128 {
		at := i/16*32 + i%16
		b[8+i] = c.q[at] | c.q[at+16]<<4
	}
}

// encodeQ3_K writes third bits, lower 2 bits, and scales of 6 bits, larger by 32: the lower 4 bits of groups
// g and g+8 in a byte, and the upper 2 bits of groups g, g+4, g+8 and g+12 in a byte.
func encodeQ3_K(b []byte, c *blockColumn) {
	for i, q := range c.q {
		b[i%32] |= q >> 2 << (i / 32)
		b[32+i/128*32+i%32] |= q & 3 << (i % 128 / 32 * 2)
	}
	for g := range 16 {
		six := c.scale[g] + 32
		b[96+g%8] |= six & 15 << (g / 8 * 4)
		b[104+g%4] |= six >> 4 << (g / 4 * 2)
	}
	binary.LittleEndian.PutUint16(b[108:], c.d)
}
