//go:build linux && amd64

package tile

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/avoformer/avoformer/scripts/amx/native"
)

// TestDecodePairs decodes bytes from GNU as, and refuses other instructions, masks, memory operands
// and shorter vectors.
func TestDecodePairs(t *testing.T) {
	for _, c := range []struct {
		code string
		want Pairs
		ok   bool
	}{
		{"\x62\xf2\x76\x48\x52\xc2", Pairs{0, 1, 2}, true},
		{"\x62\x12\x76\x40\x52\xe7", Pairs{12, 17, 31}, true},
		{"\x62\xa2\x1e\x48\x52\xf1", Pairs{22, 12, 17}, true},
		{"\x62\x42\x6e\x40\x52\xf9", Pairs{31, 18, 9}, true},
		{"\x62\xf2\x75\x48\x52\xc2", Pairs{}, false}, // VPDPWSSD
		{"\x62\xf2\x76\x49\x52\xc2", Pairs{}, false}, // has a mask
		{"\x62\xf2\x76\x58\x52\x00", Pairs{}, false}, // has a memory operand
		{"\x62\xf2\x76\x28\x52\xc2", Pairs{}, false}, // has YMM registers
		{"\x62\xf2\x76\x48\x52", Pairs{}, false},
	} {
		if got, ok := DecodePairs([]byte(c.code)); got != c.want || ok != c.ok {
			t.Errorf("% x: %v, %v, want %v, %v", c.code, got, ok, c.want, c.ok)
		}
	}
}

// TestPairs compares results with sums computed by hand, and with the processor if it has the
// instruction.
func TestPairs(t *testing.T) {
	const one, denormal, infinity = 0x3f80, 0x0001, 0x7f80
	var v Vectors
	for at, c := range []struct {
		sum      uint32
		a, b     [2]uint16 // the lower and the upper half
		want     uint32
		whatever bool // want any NaN
	}{
		{0x40000000, [2]uint16{one, one}, [2]uint16{one, one}, 0x40800000, false},
		{0x00000001, [2]uint16{denormal, 0}, [2]uint16{one, 0}, 0, false},
		{0x4b800000, [2]uint16{one, one}, [2]uint16{one, one}, 0x4b800000, false}, // 2^24 + 1 is a tie, twice
		{0x4b800000, [2]uint16{0xcb80, one}, [2]uint16{one, one}, 0, false},       // the upper product comes first
		{0, [2]uint16{infinity, 0}, [2]uint16{0, 0}, 0, true},
		{0, [2]uint16{infinity, one}, [2]uint16{one, one}, 0x7f800000, false},
	} {
		v = Vectors{}
		binary.LittleEndian.PutUint32(v[30][4*at:], c.sum)
		for n := range 2 {
			binary.LittleEndian.PutUint16(v[17][4*at+2*n:], c.a[n])
			binary.LittleEndian.PutUint16(v[5][4*at+2*n:], c.b[n])
		}
		Pairs{30, 17, 5}.Run(&v)
		if got := binary.LittleEndian.Uint32(v[30][4*at:]); got != c.want && !(c.whatever && got&0x7fffffff > 0x7f800000) {
			t.Errorf("%08x and the products of %04x and %04x: %08x, want %08x", c.sum, c.a, c.b, got, c.want)
		}
	}
	if !cpu.X86.HasAVX512BF16 {
		t.Skip("no AVX512_BF16 to compare with")
	}
	code, err := native.New()
	if err != nil {
		t.Fatal(err)
	}
	defer code.Close()
	// vmovups (%rax),%zmm0; (%rcx),%zmm1; (%rdx),%zmm2; vdpbf16ps %zmm2,%zmm1,%zmm0; vmovups
	// %zmm0,(%rax); vzeroupper
	instructions := []byte("\x62\xf1\x7c\x48\x10\x00\x62\xf1\x7c\x48\x10\x09\x62\xf1\x7c\x48\x10\x12\x62\xf2\x76\x48\x52\xc2\x62\xf1\x7c\x48\x11\x00\xc5\xf8\x77")
	r := rand.New(rand.NewPCG(7, 8))
	special := []uint16{0, 0x8000, 1, 0x8001, 0x7f, 0x80, 0x8080, 0x7f7f, 0xff7f, infinity, 0xff80, 0x7fc0, 0xffc1, 0x7f81, one, 0xbf80}
	half := func(kind int) uint16 {
		switch kind {
		case 0: // numbers of similar sizes
			return uint16(r.Uint32())&0x807f | uint16(120+r.IntN(12))<<7
		case 1: // small: products and sums are denormal
			return uint16(r.Uint32())&0x807f | uint16(56+r.IntN(12))<<7
		case 2:
			return special[r.IntN(len(special))]
		}
		return uint16(r.Uint32())
	}
	for n := range 20000 {
		for at := 0; at < 64; at += 2 {
			binary.LittleEndian.PutUint16(v[1][at:], half(n%4))
			binary.LittleEndian.PutUint16(v[2][at:], half(n%4))
			binary.LittleEndian.PutUint16(v[0][at:], half(n%4))
			if n%4 == 1 && at%4 == 2 { // the upper half of a sum
				binary.LittleEndian.PutUint16(v[0][at:], uint16(r.Uint32())&0x87ff)
			}
		}
		theirs := v
		code.Run(instructions, &[16]uint64{uint64(uintptr(unsafe.Pointer(&theirs[0]))), uint64(uintptr(unsafe.Pointer(&theirs[1]))), uint64(uintptr(unsafe.Pointer(&theirs[2])))})
		before := v[0]
		Pairs{0, 1, 2}.Run(&v)
		for at := 0; at < 64; at += 4 {
			got, want := binary.LittleEndian.Uint32(v[0][at:]), binary.LittleEndian.Uint32(theirs[0][at:])
			if isNaN := func(x uint32) bool { return x&0x7fffffff > 0x7f800000 }; got != want && !(isNaN(got) && isNaN(want)) {
				t.Fatalf("% x and the products of % x and % x: %08x, the processor has %08x", before[at:][:4], v[1][at:][:4], v[2][at:][:4], got, want)
			}
		}
	}
}
