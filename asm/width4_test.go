package asm

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/asm/arch"
	"github.com/avoformer/avoformer/asm/kernel"
)

// narrowTiers stand in for both tiers of amd64, on vectors of four lanes and
// with the instructions of AVX2. Nobody ships them: they show that the width is
// a parameter of the sources and of nothing else.
var narrowTiers = []arch.Tier{narrow("AVX512", "avx512"), narrow("AVX2", "avx2")}

func narrow(name, file string) arch.Tier {
	t := arch.AVX2
	t.Name, t.File = name, file
	t.Width, t.Strip, t.Gemm = 4, 4, arch.Tile{MR: 6, NR: 8}
	t.Features = append(slices.Clone(t.Features), "F16C")
	t.Blocking.SoftmaxRows = 4
	return t
}

// TestWidth4 generates the whole catalog for vectors of four lanes, puts it in
// the place of the vector kernels in a copy of the module, and runs the kernels'
// own tests there. Then it breaks one kernel and sees the tests fail.
func TestWidth4(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the kernels of this test are for amd64")
	}
	if out, err := runKernelTests(t, Catalog); err != nil {
		t.Fatalf("with vectors of four lanes: %v\n%s", err, out)
	}

	broken := slices.Clone(Catalog)
	i := slices.IndexFunc(broken, func(k Kernel) bool { return k.Name == "mulVec" })
	broken[i].Body = kernel.Add
	if out, err := runKernelTests(t, broken); err == nil {
		t.Fatalf("a wrong kernel passed: the kernels of this test do not run\n%s", out)
	} else if !strings.Contains(string(out), "--- FAIL") {
		t.Fatalf("the tests of a wrong kernel did not run: %v\n%s", err, out)
	}
}

// withoutFixed leaves out what needs instructions of AVX-512 at any width, or is encoded for one width
// alone.
func withoutFixed(catalog []Kernel) []Kernel {
	catalog = slices.Clone(catalog)
	for i := range catalog {
		catalog[i].On = slices.DeleteFunc(slices.Clone(catalog[i].On), func(o On) bool {
			return slices.Contains(o.Needs, arch.AVX512VNNI) || slices.Contains(o.Needs, arch.AVXVNNI)
		})
	}
	return catalog
}

const simd = "kernels/internal/simd"

// runKernelTests runs the tests of packages kernels and simd, short, in a copy of the
// module whose vector tiers are narrowTiers.
func runKernelTests(t *testing.T, catalog []Kernel) ([]byte, error) {
	t.Helper()
	files, err := Generate(withoutFixed(catalog), narrowTiers)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, part := range []string{"kernels", "internal"} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join("..", part))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old, err := filepath.Glob(filepath.Join(dir, simd, "*_amd64.s"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range old {
		if b, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(b), HeaderPrefix) {
			os.Remove(path)
		}
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, simd, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "-short", "./kernels", "./"+simd)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "AVOFORMER_ISA=avx2", "GOWORK=off", "GOFLAGS=-mod=mod")
	return cmd.CombinedOutput()
}
