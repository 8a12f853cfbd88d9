package arm64

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestAllocationKeepsMeaning generates random functions with branches, copies, instructions that
// overwrite an operand, and instructions with two results. An interpreter runs each function twice:
// on virtual registers as written, and on the physical registers of the allocated code. Both runs
// must store the same data. The allocation merges copies and moves constants.
func TestAllocationKeepsMeaning(t *testing.T) {
	merged, reloaded := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		file := NewFile()
		f := file.Function(fmt.Sprintf("f%d", seed), "func(p *float32, n int)")
		randomFunction(f, r)
		before := slices.Clone(f.nodes)
		after, err := f.compile()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for path := range uint64(8) {
			virtual := interpret(f, before, path, func(r *register) int { return r.id })
			physical := interpret(f, after, path, func(r *register) int { return 100*int(r.class) + r.physical })
			if len(virtual) == 0 || !slices.Equal(virtual, physical) {
				t.Fatalf("seed %d, path %d: stores %v on virtual registers, %v on physical ones", seed, path, virtual, physical)
			}
		}
		if count(after, func(n *node) bool { return n.move }) < count(before, func(n *node) bool { return n.move }) {
			merged++
		}
		if count(after, f.loadsConstant) > len(f.consts) {
			reloaded++
		}
	}
	if merged == 0 || reloaded == 0 {
		t.Errorf("%d functions with merged copies and %d with constants loaded again: the test is too tame", merged, reloaded)
	}
}

// randomFunction writes about 150 instructions on up to 28 live vectors.
func randomFunction(f *Function, r *rand.Rand) {
	p, n := params(f)
	vs := make([]Vec, 6+r.IntN(23))
	for i := range vs {
		vs[i] = f.V()
		f.FMOVQ(At(p, 16*i), vs[i])
	}
	constants := make([]Vec, 1+r.IntN(6))
	for i := range constants {
		constants[i] = f.Const([4]uint32{uint32(i)})
	}
	any := func() Vec { return vs[r.IntN(len(vs))] }
	source := func() Vec {
		if r.IntN(4) == 0 {
			return constants[r.IntN(len(constants))]
		}
		return any()
	}
	blocks := 4 + r.IntN(5)
	for b := range blocks {
		f.Label(fmt.Sprintf("block%d", b))
		for range 8 + r.IntN(16) {
			switch r.IntN(8) {
			case 0:
				f.VMOV(any(), any())
			case 1:
				// This is a new name for a value, which may or may not be needed after the old
				// name.
				v := f.V()
				f.VMOV(any(), v)
				vs[r.IntN(len(vs))] = v
			case 2:
				f.VFMLA(source().S4(), source().S4(), any().S4())
			case 3:
				if a, b := any(), any(); a != b {
					f.FLDPQ(Post(p, 32), a, b)
				}
			case 4:
				v := f.V()
				f.VFADD(source().S4(), source().S4(), v.S4())
				if r.IntN(2) == 0 { // otherwise no instruction reads it
					vs[r.IntN(len(vs))] = v
				}
			case 5:
				q := f.GP()
				f.MOVD(p, q)
				f.FMOVQStore(any(), At(q, 16))
			case 6:
				f.VBSL(any().B16(), source().B16(), any().B16())
			case 7:
				f.VFMLA(any().S(r.IntN(4)), any().S4(), any().S4())
			}
		}
		// A name made in this block must not be read in another block that can be reached without
		// this block. So the function continues with the next block, or branches back to this
		// block's own start.
		if r.IntN(2) == 0 {
			f.SUBS(Imm(1), n, n)
			f.BCond(NE, fmt.Sprintf("block%d", b))
		}
	}
	for _, v := range vs {
		f.FMOVQStore(v, At(p, 0))
	}
	f.RET()
}

func count(nodes []node, is func(*node) bool) int {
	k := 0
	for i := range nodes {
		if is(&nodes[i]) {
			k++
		}
	}
	return k
}

// loadsConstant reports whether n reads the pool.
func (f *Function) loadsConstant(n *node) bool {
	return n.op == "FMOVQ" && f.pool != nil && slices.Contains(n.reads, f.pool)
}

// interpret runs nodes and returns the data of every store. The result of an instruction is a hash
// of the instruction and its operands. path decides the first branches.
func interpret(f *Function, nodes []node, path uint64, place func(*register) int) []uint64 {
	labels := map[string]int{}
	for i, n := range nodes {
		labels[n.label] = i
	}
	values := map[int]uint64{}
	if count(nodes, f.loadsConstant) == 0 { // before allocation, constants need no load
		for _, r := range f.consts {
			values[place(r)] = hash("constant", uint64(r.constant[0]))
		}
	}
	var stores []uint64
	branches := 0
	for i := 0; i < len(nodes); i++ {
		n := &nodes[i]
		switch {
		case n.label != "":
			continue
		case n.op == "RET":
			return stores
		case n.target != "":
			if branches++; path>>(branches-1)&1 != 0 {
				i = labels[n.target] - 1
			}
			continue
		case f.loadsConstant(n):
			values[place(n.writes[0])] = hash("constant", uint64(f.file.pool[n.args[0].(Mem).disp/16][0]))
			continue
		}
		var in []uint64
		for _, r := range n.reads {
			in = append(in, values[place(r)])
		}
		if n.move {
			values[place(n.writes[0])] = in[0]
			continue
		}
		if len(n.writes) == 0 {
			stores = append(stores, hash(n.op, in...))
		}
		for _, a := range n.args {
			switch a := a.(type) {
			case Mem:
				in = append(in, uint64(a.disp))
			case Element:
				in = append(in, uint64(a.lane))
			case literal: // a parameter
				in = append(in, hash(string(a)))
			}
		}
		for k, w := range n.writes {
			values[place(w)] = hash(fmt.Sprint(n.op, k), in...)
		}
	}
	return stores
}

func hash(op string, in ...uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, op, in)
	return h.Sum64()
}
