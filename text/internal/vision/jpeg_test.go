package vision

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// flatJPEG returns a JPEG file of one colour, whose three components, Y, Cb and Cr, have the given
// sampling factors, across and down.
func flatJPEG(w, h int, factors [3][2]int) []byte {
	segment := func(marker byte, body ...byte) []byte {
		return append([]byte{0xff, marker, byte((len(body) + 2) >> 8), byte(len(body) + 2)}, body...)
	}
	quants := append([]byte{0}, slices.Repeat([]byte{8}, 64)...)
	frame := []byte{8, byte(h >> 8), byte(h), byte(w >> 8), byte(w), 3}
	scan := []byte{3}
	most := [2]int{}
	for i, f := range factors {
		frame = append(frame, byte(i+1), byte(f[0]<<4|f[1]), 0)
		scan = append(scan, byte(i+1), 0)
		most[0], most[1] = max(most[0], f[0]), max(most[1], f[1])
	}
	// Differences: 0 means no difference, 10 a difference of 6 bits. There are no other
	// coefficients: 0.
	differences := append([]byte{0x00, 1, 1}, append(make([]byte, 14), 0, 6)...)
	rest := append([]byte{0x10, 1}, append(make([]byte, 15), 0)...)
	var bits strings.Builder
	first := [3]bool{true, true, true}
	for range (w + 8*most[0] - 1) / (8 * most[0]) * ((h + 8*most[1] - 1) / (8 * most[1])) {
		for i, f := range factors {
			for range f[0] * f[1] {
				if first[i] {
					bits.WriteString("10" + []string{"100000", "110000", "011111"}[i] + "0") // 32, 48, -32
					first[i] = false
				} else {
					bits.WriteString("00")
				}
			}
		}
	}
	for bits.Len()%8 != 0 {
		bits.WriteByte('1')
	}
	data := slices.Concat([]byte{0xff, 0xd8}, segment(0xdb, quants...), segment(0xc0, frame...), segment(0xc4, differences...), segment(0xc4, rest...), segment(0xda, append(scan, 0, 63, 0)...))
	for at := 0; at < bits.Len(); at += 8 {
		var b byte
		fmt.Sscanf(bits.String()[at:at+8], "%b", &b)
		if data = append(data, b); b == 0xff {
			data = append(data, 0)
		}
	}
	return append(data, 0xff, 0xd9)
}

// TestSampling decodes one colour with many sampling factors. A sample of chroma covers one or two
// pixels in a direction; other factors are errors.
func TestSampling(t *testing.T) {
	for luma := 1; luma <= 4; luma++ {
		for chroma := 1; chroma <= 4; chroma++ {
			for _, down := range []bool{false, true} {
				factors := [3][2]int{{luma, 1}, {chroma, 1}, {1, 1}}
				if down {
					factors = [3][2]int{{1, luma}, {1, chroma}, {1, 1}}
				}
				good := luma <= 2 && (luma == chroma || luma == 2*chroma)
				m, err := Decode(flatJPEG(37, 35, factors), MaxPixels)
				if (err == nil) != good {
					t.Errorf("factors %v: error %v", factors, err)
				}
				if err != nil {
					continue
				}
				for i, v := range m.Pix {
					if want := [3]uint8{115, 166, 245}[i%3]; v != want { // of Y 160, Cb 176, Cr 96
						t.Fatalf("factors %v: sample %d is %d, want %d", factors, i, v, want)
					}
				}
			}
		}
	}
}
