//go:build amd64 && !purego

package avx512probe

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/avoformer/avoformer/internal/checkasm"
)

// needAVX512 skips the test where there is no AVX-512, unless it is required.
func needAVX512(t *testing.T) {
	t.Helper()
	x := cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		return
	}
	if strings.Contains(os.Getenv("AVOFORMER_REQUIRE"), "avx512") {
		t.Fatal("no AVX-512 here, but AVOFORMER_REQUIRE asks for it")
	}
	t.Skip("no AVX-512 here")
}

// TestCanary runs a kernel that is wrong on purpose, and passes if the comparison notices. If
// AVOFORMER_CANARY is set, the test reports the error like any other test, and so fails. make
// test-emulated WHAT=avx512 requires that run to fail: this proves that the emulator executes the
// kernels and that its verdict arrives.
func TestCanary(t *testing.T) {
	needAVX512(t)
	err := checkAdd(addShort)
	switch {
	case os.Getenv("AVOFORMER_CANARY") != "":
		if err != nil {
			t.Error(err)
		}
	case err == nil:
		t.Error("the comparison accepts a kernel that is wrong on purpose")
	default:
		t.Log("the comparison reports:", err)
	}
}

// checkAdd compares a kernel with Go for every length up to a vector.
func checkAdd(add func(dst, a, b *float32, n int)) error {
	for n := 1; n <= 16; n++ {
		var a, b, dst [16]float32
		for i := range n {
			a[i], b[i] = float32(i+1), float32(100*i)
		}
		add(&dst[0], &a[0], &b[0], n)
		for i := range dst {
			if want := a[i] + b[i]; dst[i] != want {
				return fmt.Errorf("n = %d: dst[%d] = %g, want %g", n, i, dst[i], want)
			}
		}
	}
	return nil
}

// TestMaskedPageEnd puts the first n elements of a vector of 16 before the end of a page; the next
// page allows no access. Loads, operands and stores must not touch lanes that are masked off.
func TestMaskedPageEnd(t *testing.T) {
	needAVX512(t)
	if !checkasm.Guarded {
		t.Skip("no pages without access on this system")
	}
	page, err := checkasm.NewBuffer(64)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close()

	for n := range 17 {
		inside := checkasm.Place[float32](page, checkasm.Placement{}, n)
		at := unsafe.SliceData(inside) // with n = 0, the first byte out of bounds
		for i := range inside {
			inside[i] = float32(i + 1)
		}
		mask := uint16(1<<n - 1)
		for _, load := range []struct {
			name string
			f    func(dst, src *float32, mask uint16)
		}{{"load", maskedLoad}, {"operand", maskedAdd}} {
			t.Run(fmt.Sprint(load.name, "/", n), func(t *testing.T) {
				dst := [16]float32{0: -1, 15: -1}
				if err := checkasm.Try(func() { load.f(&dst[0], at, mask) }); err != nil {
					t.Fatal("a lane that is masked off faults:", err)
				}
				for i, got := range dst {
					want := float32(i + 1)
					if i >= n {
						want = 0
					}
					if got != want {
						t.Errorf("lane %d = %g, want %g", i, got, want)
					}
				}
			})
			if n < 16 {
				t.Run(fmt.Sprint(load.name, "/", n, "/one too many"), func(t *testing.T) {
					var dst [16]float32
					if checkasm.Try(func() { load.f(&dst[0], at, mask|1<<n) }) == nil {
						t.Error("a lane past the page's end does not fault")
					}
				})
			}
		}
		t.Run(fmt.Sprint("store/", n), func(t *testing.T) {
			var src [16]float32
			for i := range src {
				src[i] = float32(-i)
			}
			if err := checkasm.Try(func() { maskedStore(at, &src[0], mask) }); err != nil {
				t.Fatal("a lane that is masked off faults:", err)
			}
			for i, got := range inside {
				if got != src[i] {
					t.Errorf("element %d = %g, want %g", i, got, src[i])
				}
			}
			if n < 16 && checkasm.Try(func() { maskedStore(at, &src[0], mask|1<<n) }) == nil {
				t.Error("a lane past the page's end does not fault")
			}
		})
	}
}
