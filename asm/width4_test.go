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
	"github.com/avoformer/avoformer/asm/vec"
	"github.com/avoformer/avoformer/internal/testenv"
)

// narrowTiers replace both tiers of amd64: vectors of four lanes with the instructions of AVX2. No
// release contains them: they show that the width is only a parameter of the sources.
var narrowTiers = []arch.Tier{narrow("AVX512", "avx512"), narrow("AVX2", "avx2")}

func narrow(name, file string) arch.Tier {
	t := arch.AVX2
	t.Name, t.File = name, file
	t.Width, t.Gemm = 4, arch.Tile{MR: 6, NR: 8}
	t.Features = append(slices.Clone(t.Features), "F16C")
	t.Blocking.DotRows, t.Blocking.GemvRows, t.Blocking.SoftmaxRows = 1, 2, 1 // a sum takes four vectors of lanes
	return t
}

// TestWidth4 generates the whole catalog for vectors of four lanes, replaces the vector kernels in
// a copy of the module by the result, and runs TestCatalog there, a test of the kernels that calls
// every kernel. With AVOFORMER_LONG it runs all tests of kernels, then breaks one kernel and
// expects the tests to fail.
func TestWidth4(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the kernels of this test are for amd64")
	}
	narrow := copied{catalog: withoutFixed(Catalog), tiers: narrowTiers, tests: ".", env: "AVOFORMER_ISA=avx2"}
	if !testenv.Long() {
		narrow.tests = onlyCatalog
	}
	if out, err := narrow.test(t); err != nil {
		t.Fatalf("with vectors of four lanes: %v\n%s", err, out)
	}
	if !testenv.Long() {
		return
	}
	narrow.catalog = with(narrow.catalog, "mulVec", kernel.Add)
	narrow.fails(t)
}

// TestPortableTile replaces the tiles of x86 by the tile for any machine, and runs TestCatalog in a
// copy of the module. With AVOFORMER_LONG it also runs the tests of products, then breaks the tile
// and expects the tests to fail.
func TestPortableTile(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("elsewhere it is the tile that is there")
	}
	portable := with(with(withoutFixed(Catalog), "gemmPanel", kernel.AnyGemmPanel), "gemmPack", kernel.AnyGemmPack)
	c := copied{catalog: portable, tiers: []arch.Tier{lower(narrowTiers[0]), lower(narrowTiers[1])}, tests: "Gemm|Catalog", env: "AVOFORMER_ISA=avx2"}
	if !testenv.Long() {
		c.tests = onlyCatalog
	}
	if out, err := c.test(t); err != nil {
		t.Fatalf("with the portable tile: %v\n%s", err, out)
	}
	if !testenv.Long() {
		return
	}
	c.catalog = with(portable, "gemmPanel", func(m vec.Machine) { kernel.AnyGemmPanel(twice{m.(vec.Tiler)}) })
	c.fails(t)
}

// lower returns a tier with tiles of few rows. The portable tile keeps more in registers than x86's
// own, which reads A and B where it needs them, and avo's allocator takes minutes when few
// registers are left.
func lower(t arch.Tier) arch.Tier {
	t.Gemm.MR = 4
	return t
}

// twice adds every product twice.
type twice struct{ vec.Tiler }

func (t twice) FMALane(acc vec.V, l vec.Lane, b vec.V) {
	t.Tiler.FMALane(acc, l, b)
	t.Tiler.FMALane(acc, l, b)
}

// with returns a catalog in which the named kernel has another body.
func with(catalog []Kernel, name string, body func(vec.Machine)) []Kernel {
	catalog = slices.Clone(catalog)
	catalog[slices.IndexFunc(catalog, func(k Kernel) bool { return k.Name == name })].Body = body
	return catalog
}

// withoutFixed removes the kernels that need instructions of AVX-512 at any width or are encoded
// for only one width. It also removes kernels that keep a panel of fixed width, the lanes of a
// row's sums or a table of codes in registers, and would take too many narrow ones: NEON has more
// registers, and the same source.
func withoutFixed(catalog []Kernel) []Kernel {
	catalog = slices.Clone(catalog)
	for i := range catalog {
		if file := catalog[i].File; file == "softmax" || file == "layernorm" {
			catalog[i].On = []On{{Tier: "NEON"}}
			continue
		}
		catalog[i].On = slices.DeleteFunc(slices.Clone(catalog[i].On), func(o On) bool {
			return catalog[i].Name == "signDots" || strings.HasPrefix(catalog[i].Name, "blocks4NL") || slices.ContainsFunc(o.Needs, func(f arch.Feature) bool { return f.Suffix == arch.AVXVNNI.Suffix })
		})
	}
	return catalog
}

const simd = "kernels/internal/simd"

// onlyCatalog is the test that notices any wrong kernel.
const onlyCatalog = "^TestCatalog$"

// copied is a copy of the module in which a catalog replaces the kernels of amd64, on some tiers.
type copied struct {
	catalog []Kernel
	tiers   []arch.Tier
	tests   string // as in go test -run
	env     string // in the environment, or ""
}

// fails expects the tests to fail.
func (c copied) fails(t *testing.T) {
	t.Helper()
	c.tests = onlyCatalog
	if out, err := c.test(t); err == nil {
		t.Fatalf("a wrong kernel passed: the kernels of this test do not run\n%s", out)
	} else if !strings.Contains(string(out), "--- FAIL") {
		t.Fatalf("the tests of a wrong kernel did not run: %v\n%s", err, out)
	}
}

// test runs the short tests of packages kernels and simd in the copy.
func (c copied) test(t *testing.T) ([]byte, error) {
	t.Helper()
	files, err := Generate(c.catalog, c.tiers)
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
	cmd := exec.Command("go", "test", "-short", "-vet=off", "-timeout=30m", "-run="+c.tests, "./kernels", "./"+simd)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "AVOFORMER_CPU=-amx") // the copy has no kernels of tiles
	if c.env != "" {
		cmd.Env = append(cmd.Env, c.env)
	}
	return cmd.CombinedOutput()
}
