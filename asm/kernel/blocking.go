package kernel

import "github.com/avoformer/avoformer/asm/vec"

// blocking is how much the kernels keep in registers at once. It was measured on AVX2
// and AVX-512, and on NEON follows AVX2.
type blocking struct {
	// held is how many vectors of one operand the dot products of attention hold.
	held int
	// valueRows is how many queries take each vector of values.
	valueRows int
	// gemvRows is how many rows of B one row is multiplied with at once, from memory.
	gemvRows int
	// dotRows is how many rows of A share the loads of four rows of B, on x86.
	dotRows int
	// softmaxRows is how many rows of scores become exponentials at once.
	softmaxRows int
}

// blockings are those for vectors of each width.
var blockings = map[int]blocking{
	4:  {held: 4, valueRows: 2, gemvRows: 4, dotRows: 3, softmaxRows: 4},
	8:  {held: 4, valueRows: 2, gemvRows: 4, dotRows: 3, softmaxRows: 2},
	16: {held: 8, valueRows: 4, gemvRows: 8, dotRows: 6, softmaxRows: 4},
}

func blockingOf(m vec.Machine) blocking { return blockings[m.Width()] }
