//go:build linux && amd64

package tile

import (
	"encoding/hex"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/avoformer/avoformer/scripts/amx/native"
)

// TestNative executes every instruction on the processor, or under the runner, which emulates
// tiles, and compares the memory afterwards with that of this package's machine. On a processor
// with tiles it compares the machine with silicon.
func TestNative(t *testing.T) {
	native.Need(t)
	runtime.LockOSThread() // tiles belong to the thread
	defer runtime.UnlockOSThread()
	code, err := native.New()
	if err != nil {
		t.Fatal(err)
	}
	defer code.Close()
	n := &nativeTest{T: t, code: code, r: rand.New(rand.NewPCG(5, 6)), ours: make([]byte, 1<<16), theirs: make([]byte, 1<<16)}
	for _, op := range []Op{TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD, TDPBF16PS} {
		for range 20 {
			n.product(op)
		}
	}
	if native.InUse() {
		t.Error("tiles are in use after TILERELEASE")
	}
}

// nativeTest has the memory of both machines.
type nativeTest struct {
	*testing.T
	code         native.Code
	r            *rand.Rand
	ours, theirs []byte
	machine      Machine
}

// run executes an instruction on both machines, with its address in AX and a stride in CX.
func (n *nativeTest) run(i Instruction, at int, stride int64) {
	n.Helper()
	i.Mem = Address{Base: 0, Index: 1, Scale: 1}
	if i.Op == LDTILECFG || i.Op == STTILECFG {
		i.Mem.Index = -1
	}
	registers := [16]uint64{uint64(uintptr(unsafe.Pointer(unsafe.SliceData(n.theirs)))) + uint64(at), uint64(stride)}
	n.code.Run(encodingOf(n.T, i), &registers)
	if err := n.machine.Run(i, func(r int) uint64 { return []uint64{base + uint64(at), uint64(stride)}[r] }, 0, flat{n.ours}); err != nil {
		n.Fatal(err)
	}
	if !slices.Equal(n.ours, n.theirs) {
		n.Fatalf("%v leaves other bytes in memory", i)
	}
}

// product multiplies tiles of random shapes, and stores the contents of all tiles.
func (n *nativeTest) product(op Op) {
	rows, columns, depth := 1+n.r.IntN(16), 1+n.r.IntN(16), 1+n.r.IntN(16)
	tile := n.r.Perm(tiles)
	shapes := make([][2]int, tiles)
	for i, s := range [][2]int{{rows, 4 * columns}, {rows, 4 * depth}, {depth, 4 * columns}, {16, 64}} {
		shapes[tile[i]] = s
	}
	c := config(shapes...)
	var m Machine
	fill(n.r, op, &m)
	at := 64
	for t := range 3 {
		for i := range mostRows {
			at += copy(n.ours[at:], m.tiles[t][i][:])
		}
	}
	copy(n.ours, c[:])
	copy(n.theirs, n.ours)
	n.run(Instruction{Op: LDTILECFG}, 0, 0)
	n.run(Instruction{Op: STTILECFG}, 8000, 0)
	if !native.InUse() {
		n.Error("tiles are not in use after LDTILECFG")
	}
	load := []Op{TILELOADD, TILELOADDT1}
	for i := range 3 {
		n.run(Instruction{Op: load[n.r.IntN(2)], C: tile[i]}, 64+1024*i, 64)
	}
	n.run(Instruction{Op: TILELOADD, C: tile[3]}, 64, 60)
	n.run(Instruction{Op: op, C: tile[0], A: tile[1], B: tile[2]}, 0, 0)
	for i := range 4 {
		n.run(Instruction{Op: TILESTORED, C: tile[i]}, 10000+3000*i, 70)
	}
	n.run(Instruction{Op: TILEZERO, C: tile[1]}, 0, 0)
	n.run(Instruction{Op: TILESTORED, C: tile[1]}, 30000+15*100, -100)
	n.run(Instruction{Op: TILERELEASE}, 0, 0)
	n.run(Instruction{Op: STTILECFG}, 8000, 0)
}

// encodingOf returns an instruction's encoding. It begins with GNU as's encoding of a sample with
// other tiles, and replaces the bits that hold the tiles.
func encodingOf(t *testing.T, i Instruction) []byte {
	t.Helper()
	for n, s := range samples() {
		if s.Op != i.Op || s.Mem.Index >= 0 && s.Mem.Base > 7 {
			continue
		}
		text, err := os.ReadFile(forms)
		if err != nil {
			t.Fatal(err)
		}
		digits, _, _ := strings.Cut(slices.Collect(strings.Lines(string(text)))[n], " ")
		code, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		switch code = code[:5]; i.Op {
		case TILERELEASE:
		case LDTILECFG, STTILECFG: // (%rax)
			code[1], code[4] = 0xe2, 0
		case TILEZERO:
			code[4] = 0xc0 | byte(i.C)<<3
		case TILELOADD, TILELOADDT1, TILESTORED: // (%rax,%rcx,1)
			code[1], code[4] = 0xe2, byte(i.C)<<3|4
			code = append(code, 0x08)
		default:
			code[2], code[4] = code[2]&^0x78|^byte(i.B)<<3&0x78, 0xc0|byte(i.C)<<3|byte(i.A)
		}
		if got, err := Decode(code); err != nil || got.Op != i.Op || got.C != i.C || got.Mem != i.Mem && i.Mem.Base+i.Mem.Index > 0 && code[4]>>6 != 3 {
			t.Fatalf("% x is %+v, %v, want %+v", code, got, err, i)
		}
		return code
	}
	t.Fatalf("no sample of %v", i.Op)
	return nil
}
