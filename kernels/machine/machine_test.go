package machine_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/avoformer/avoformer/kernels"
	"github.com/avoformer/avoformer/kernels/internal/par"
	"github.com/avoformer/avoformer/kernels/machine"
)

func TestUse(t *testing.T) {
	before := kernels.Active()
	for _, isa := range kernels.Supported() {
		restore := machine.Use(isa)
		if kernels.Active() != isa {
			t.Errorf("%v runs after Use(%v)", kernels.Active(), isa)
		}
		restore()
		if kernels.Active() != before {
			t.Errorf("%v runs after restore, %v did before", kernels.Active(), before)
		}
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "machine.Use: isa = ISA(4), want one of [generic") {
			t.Errorf("panic %q", p)
		}
	}()
	machine.Use(kernels.AVX512 + 1)
}

func TestStopWorkers(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	}
	par.PretendProcessors(2)
	defer par.PretendProcessors(0)
	n := 512
	a, c := make([]float32, n*n), make([]float32, n*n)
	kernels.Threads(2).Gemm(kernels.NoTrans, kernels.NoTrans, n, n, n, 1, a, n, a, n, 0, c, n)
	during := runtime.NumGoroutine()
	machine.StopWorkers()
	// A goroutine is counted until it has left its last function.
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() >= during; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, and %d with a worker", runtime.NumGoroutine(), during)
		}
		runtime.Gosched()
	}
}

func TestAllowAffinityChanges(t *testing.T) {
	if machine.AllowAffinityChanges(true) || !machine.AllowAffinityChanges(false) {
		t.Error("AllowAffinityChanges does not return what it was before")
	}
}

func ExampleBind() {
	done := make(chan []float32)
	go func() {
		release, ok := machine.Bind([]int{0, 1})
		if ok { // otherwise it computes on any CPUs, with the same result
			defer release()
		}
		fmt.Println("bound:", ok == (machine.Bound() != nil))
		c := make([]float32, 1)
		kernels.Threads(2).Gemm(kernels.NoTrans, kernels.NoTrans, 1, 1, 2, 1, []float32{1, 2}, 2, []float32{3, 4}, 1, 0, c, 1)
		done <- c
	}()
	fmt.Println(<-done)
	// Output:
	// bound: true
	// [11]
}

// TestFastBF16: a tier without features multiplies bfloat16 as bf16 does; the machine's own tier by
// what it has.
func TestFastBF16(t *testing.T) {
	used, _ := machine.Features()
	if by, has := machine.FastBF16(), slices.Contains(used, "amx") || slices.Contains(used, "avx512bf16"); (by != "") != has {
		t.Errorf("FastBF16 = %q with %v", by, used)
	}
	defer machine.Use(kernels.Generic)()
	if by := machine.FastBF16(); by != "" {
		t.Errorf("FastBF16 = %q on generic, want none", by)
	}
}

func ExampleFastBF16() {
	format := kernels.FormatBF16
	if machine.FastBF16() != "" { // faster here, with results of this kind of machine
		format = kernels.FormatBF16Fast
	}
	weights := format.PackB(kernels.NoTrans, 2, 1, []float32{3, 5}, 2)
	y := make([]float32, 2)
	kernels.GemmPacked(1, 1, []float32{2}, 1, weights, 0, y, 2, kernels.Epilogue{})
	fmt.Println(y)
	// Output: [6 10]
}
