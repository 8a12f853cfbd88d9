package x86

import (
	"strings"
	"testing"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/vec"
)

// machine is a Machine in an empty function.
func machine(tier arch.Tier) *Machine {
	ctx := build.NewContext()
	ctx.Function("f")
	return New(ctx, tier, tier.Leave, NewConstPool())
}

func (x *Machine) opcodes() string {
	var names []string
	for _, node := range x.function().Nodes {
		names = append(names, node.(*ir.Instruction).OpcodeWithSuffixes())
	}
	return strings.Join(names, " ")
}

func TestTogether(t *testing.T) {
	x := machine(arch.AVX512)
	v := x.Zero()
	x.Together(3, func(i int) {
		w := x.Add(v, v)
		x.MulTo(w, v)
		if i == 1 {
			x.AddTo(w, v)
		}
	})
	if got, want := x.opcodes(), "VXORPS VADDPS VADDPS VADDPS VMULPS VMULPS VMULPS VADDPS"; got != want {
		t.Errorf("instructions %s, want %s", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a part with a label: no panic")
		}
	}()
	x.Together(2, func(int) { x.Label("here") })
}

// TestConstants: only vectors of up to 32 bytes are whole operands in memory. The linker may let
// longer ones cross a cache line.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		tier arch.Tier
		want string
	}{{arch.AVX512, "VXORPS VADDPS.BCST VFMADD231PS.BCST VBROADCASTSS"}, {arch.AVX2, "VXORPS VADDPS VFMADD231PS VBROADCASTSS"}} {
		x := machine(c.tier)
		v := x.Zero()
		x.FMATo(x.Add(v, vec.One), v, vec.One)
		x.Splat(vec.One)
		if got := x.opcodes(); got != c.want {
			t.Errorf("%s: instructions %s, want %s", c.tier.Name, got, c.want)
		}
	}
}
