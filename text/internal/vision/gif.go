// GIF: the first image on its canvas.

package vision

import (
	"compress/lzw"
	"encoding/binary"
	"errors"
	"io"
)

var errGIF = errors.New("malformed")

// gifImage is the first image of a file.
type gifImage struct {
	w, h         int    // of the canvas, which is as large as the image needs
	x, y, dx, dy int    // the image on it
	around       int    // the colour around the image
	palette      []byte // red, green and blue; none: colours are grey
	interlaced   bool
	data         []byte // from the size of the codes on
}

// readGIF reads what is before the first image's pixels.
func readGIF(data []byte) (*gifImage, error) {
	if len(data) < 13 {
		return nil, errGIF
	}
	g := &gifImage{w: int(binary.LittleEndian.Uint16(data[6:])), h: int(binary.LittleEndian.Uint16(data[8:]))}
	flags, data := data[10], data[13:]
	palette := func() bool { // of all images, or of one
		n := 0
		if flags&0x80 != 0 {
			n = 3 << (flags&7 + 1)
		}
		if n > len(data) {
			return false
		}
		if n > 0 {
			g.palette, data = data[:n], data[n:]
		}
		return true
	}
	if !palette() {
		return nil, errGIF
	}
	for len(data) > 0 && data[0] != ';' {
		switch {
		case data[0] == ',' && len(data) >= 10:
			number := func(at int) int { return int(binary.LittleEndian.Uint16(data[at:])) }
			g.x, g.y, g.dx, g.dy = number(1), number(3), number(5), number(7)
			g.w, g.h = max(g.w, g.x+g.dx), max(g.h, g.y+g.dy)
			flags, data = data[9], data[10:]
			g.interlaced = flags&0x40 != 0
			if !palette() {
				return nil, errGIF
			}
			g.data = data
			return g, nil
		case data[0] == '!' && len(data) >= 3:
			const control, transparent = 0xf9, 1
			if data[1] == control && len(data) >= 7 && data[2] >= 4 && data[3]&transparent != 0 {
				g.around = int(data[6])
			}
			data = data[2:]
			for len(data) > 0 && data[0] != 0 { // blocks
				data = data[min(1+int(data[0]), len(data)):]
			}
		}
		data = data[min(1, len(data)):]
	}
	return nil, errGIF
}

// gifSize returns the size of the canvas.
func gifSize(data []byte) (w, h int, err error) {
	g, err := readGIF(data)
	if err != nil {
		return 0, 0, err
	}
	return g.w, g.h, nil
}

// gifBlocks reads the bytes of blocks, each of which begins with its length.
type gifBlocks struct{ data, block []byte }

func (b *gifBlocks) ReadByte() (byte, error) {
	if len(b.block) == 0 {
		if len(b.data) == 0 || b.data[0] == 0 || int(b.data[0]) >= len(b.data) {
			return 0, io.ErrUnexpectedEOF
		}
		n := 1 + int(b.data[0])
		b.block, b.data = b.data[1:n], b.data[n:]
	}
	c := b.block[0]
	b.block = b.block[1:]
	return c, nil
}

// Read is what lzw.NewReader asks for, and does not call.
func (b *gifBlocks) Read(p []byte) (n int, err error) {
	for ; n < len(p) && err == nil; n++ {
		p[n], err = b.ReadByte()
	}
	return n, err
}

// decodeGIF decodes the first image of a GIF file. As in Pillow, a transparent colour is an
// ordinary colour, and fills the canvas around a smaller image; without one the first colour does.
// An image that goes beyond the canvas makes it larger.
func decodeGIF(data []byte) (*RGB, error) {
	g, err := readGIF(data)
	if err != nil {
		return nil, err
	}
	const longest = 4096 // pixels of a code, which has at least 3 bits
	if g.dx*g.dy == 0 || len(g.data) < 1 || g.data[0] < 2 || g.data[0] > 8 || g.dx*g.dy > len(g.data)*3*longest {
		return nil, errGIF
	}
	pixels := make([]byte, g.dx*g.dy)
	r := lzw.NewReader(&gifBlocks{data: g.data[1:]}, lzw.LSB, int(g.data[0]))
	defer r.Close()
	if _, err := io.ReadFull(r, pixels); err != nil {
		return nil, err
	}
	colours := [256][3]byte{}
	for i := range colours {
		switch {
		case g.palette == nil:
			colours[i] = [3]byte{byte(i), byte(i), byte(i)}
		case 3*i < len(g.palette):
			colours[i] = [3]byte(g.palette[3*i:])
		}
	}
	out := newRGB(g.w, g.h)
	for at := range g.w * g.h {
		copy(out.Pix[3*at:], colours[g.around][:])
	}
	for i, y := range g.rows() {
		p := out.Pix[((g.y+y)*g.w+g.x)*3:]
		for x, c := range pixels[i*g.dx : (i+1)*g.dx] {
			copy(p[3*x:], colours[c][:])
		}
	}
	return out, nil
}

// rows returns the rows of the image in the order of the file.
func (g *gifImage) rows() []int {
	passes := [][2]int{{0, 1}} // first row, distance
	if g.interlaced {
		passes = [][2]int{{0, 8}, {4, 8}, {2, 4}, {1, 2}}
	}
	rows := make([]int, 0, g.dy)
	for _, p := range passes {
		for y := p[0]; y < g.dy; y += p[1] {
			rows = append(rows, y)
		}
	}
	return rows
}
