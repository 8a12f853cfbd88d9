//go:build !386 && !arm && !mips && !mipsle && !wasm

package gopeer

import (
	"fmt"

	"github.com/gomlx/gomlx/backends"
	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	"github.com/gomlx/gomlx/pkg/core/shapes"

	"github.com/avoformer/avoformer/bench/internal/workload"
)

// gomlx compiles a graph of one operation for GoMLX's backend in Go.
func gomlx(d *workload.Data, out []float32) func() {
	s := d.Dims
	var in [][]int // the inputs' shapes
	var build func(b backends.Builder, x []backends.Op) (backends.Op, error)
	product := func(lhsAxis, rhsAxis int, batch ...int) {
		build = func(b backends.Builder, x []backends.Op) (backends.Op, error) {
			return b.DotGeneral(x[0], []int{lhsAxis}, batch, x[1], []int{rhsAxis}, batch)
		}
	}
	switch d.Op {
	case workload.GemmNN:
		in = [][]int{{s[0], s[2]}, {s[2], s[1]}}
		product(1, 0)
	case workload.GemmNT:
		in = [][]int{{s[0], s[2]}, {s[1], s[2]}}
		product(1, 1)
	case workload.BatchGemmNN:
		in = [][]int{{s[0], s[1], s[3]}, {s[0], s[3], s[2]}}
		product(2, 1, 0)
	case workload.BatchGemmNT:
		in = [][]int{{s[0], s[1], s[3]}, {s[0], s[2], s[3]}}
		product(2, 2, 0)
	case workload.Exp:
		in = [][]int{s}
		build = func(b backends.Builder, x []backends.Op) (backends.Op, error) { return b.Exp(x[0]) }
	default:
		return nil
	}
	run, err := compile(d, in, build)
	if err != nil {
		return func() { panic(err) }
	}
	return func() {
		if err := run(out); err != nil {
			panic(err)
		}
	}
}

// compile returns the call that runs the graph and copies its result out.
func compile(d *workload.Data, in [][]int, build func(backends.Builder, []backends.Op) (backends.Op, error)) (func(out []float32) error, error) {
	backend, err := simplego.New("")
	if err != nil {
		return nil, err
	}
	b := backend.Builder("case")
	var ops []backends.Op
	var buffers []backends.Buffer
	for i, dims := range in {
		shape := shapes.Make(dtypes.Float32, dims...)
		op, err := b.Parameter(fmt.Sprintf("x%d", i), shape, nil)
		if err != nil {
			return nil, err
		}
		buffer, err := backend.BufferFromFlatData(0, d.In[i], shape)
		if err != nil {
			return nil, err
		}
		ops, buffers = append(ops, op), append(buffers, buffer)
	}
	y, err := build(b, ops)
	if err != nil {
		return nil, err
	}
	exec, err := b.Compile([]backends.Op{y}, nil)
	if err != nil {
		return nil, err
	}
	keep := make([]bool, len(buffers)) // the backend must not reuse the inputs
	return func(out []float32) error {
		results, err := exec.Execute(buffers, keep, 0)
		if err != nil {
			return err
		}
		if err := backend.BufferToFlatData(results[0], out); err != nil {
			return err
		}
		return backend.BufferFinalize(results[0])
	}, nil
}
