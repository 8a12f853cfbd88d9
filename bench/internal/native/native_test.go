package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/bench/internal/interleave"
	"github.com/avoformer/avoformer/bench/internal/workload"
	"github.com/avoformer/avoformer/internal/peerenv"
)

func TestMain(m *testing.M) {
	os.Unsetenv(peerenv.KeepVariable) // with it other results are right
	os.Exit(m.Run())
}

// standIn is a stand-in for OpenBLAS: three loops, with an error of FAULT. It crashes at 13
// columns.
const standIn = `
#include <stdio.h>
#include <stdlib.h>
#ifndef VERSION
#define VERSION "9.9.1"
#endif
void openblas_set_num_threads(int n) { (void)n; }
char *openblas_get_config(void) {
  static char held[64];
  char *core = getenv("OPENBLAS_CORETYPE");
  snprintf(held, sizeof held, "OpenBLAS %s test", core ? core : VERSION);
  return held;
}
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc) {
  if (n == 13) abort();
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      float s = 0;
      for (int p = 0; p < k; p++) s += a[i * lda + p] * (tb == 112 ? b[j * ldb + p] : b[p * ldb + j]);
      c[i * ldc + j] = s + FAULT;
    }
}
void cblas_sgemv(int order, int t, int m, int n, float alpha, const float *a, int lda, const float *x, int incx, float beta, float *y, int incy) {}
`

// install compiles the stand-in into a prefix as the library of a version.
func install(t *testing.T, prefix, version, fault string) {
	t.Helper()
	cc, err := compiler("CC", []string{"cc", "gcc", "clang"})
	if err != nil || runtime.GOOS != "linux" {
		t.Skipf("no C compiler for a stand-in library: %v", err)
	}
	dir := filepath.Join(prefix, "lib")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "blas.c")
	if err := os.WriteFile(source, []byte(standIn), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-DFAULT="+fault, `-DVERSION="`+version+`"`, source, "-o", filepath.Join(dir, "libopenblas.so")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// start finds and starts only the OpenBLAS of the prefixes.
func start(t *testing.T, o Options, prefixes ...string) ([]*Peer, []string, string) {
	t.Helper()
	t.Setenv(PrefixVariable, strings.Join(prefixes, string(filepath.ListSeparator)))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	o.Only = []string{"openblas"}
	o.under = prefixes
	var said []string
	o.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	peers, missing := StartAll(1, o)
	t.Cleanup(func() {
		for _, p := range peers {
			p.Close()
		}
	})
	return peers, missing, strings.Join(said, "\n")
}

func TestFindsNewestDrivesAndChecksIt(t *testing.T) {
	old, recent := t.TempDir(), t.TempDir()
	install(t, old, "9.9.1", "0")
	install(t, recent, "9.10.0", "0")
	peers, missing, said := start(t, Options{}, old, recent)
	if len(peers) != 1 || peers[0].Version() != "9.10.0" {
		t.Fatalf("started %d, want only 9.10.0:\n%s", len(peers), said)
	}
	if !strings.Contains(said, "skipped: openblas 9.9.1, an older version") {
		t.Errorf("nothing said of the older version:\n%s", said)
	}
	if want := []string{"onednn", "onnxruntime"}; !slices.Equal(missing, want) {
		t.Errorf("missing = %v, want %v", missing, want)
	}
	for _, name := range []string{"gemm_nn 5x9x7", "gemm_nt 5x9x7", "bgemm_nt 2x5x9x7"} {
		r := interleave.Run(workload.NewData(workload.MustParse(name)), []workload.Contestant{peers[0]}, interleave.Options{Rounds: 2})
		if len(r) != 1 || r[0].Refused != nil || len(r[0].Seconds) != 2 || r[0].Median() <= 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := interleave.Run(workload.NewData(workload.MustParse("softmax 5x9")), []workload.Contestant{peers[0]}, interleave.Options{Rounds: 2}); len(r) != 0 {
		t.Errorf("softmax by a BLAS: %+v", r)
	}
}

func TestWrongLibraryIsRefused(t *testing.T) {
	prefix := t.TempDir()
	install(t, prefix, "9.9.1", "0.01f")
	peers, _, said := start(t, Options{}, prefix)
	if len(peers) != 1 {
		t.Fatalf("started %d:\n%s", len(peers), said)
	}
	r := interleave.Run(workload.NewData(workload.MustParse("gemm_nn 5x9x7")), []workload.Contestant{peers[0]}, interleave.Options{Rounds: 2})
	if len(r) != 1 || r[0].Refused == nil || len(r[0].Seconds) != 0 {
		t.Errorf("a library that is off by 0.01 was timed: %+v", r)
	}
}

// TestMissingPeers: a missing library is reported.
func TestMissingPeers(t *testing.T) {
	prefix := t.TempDir()
	peers, missing, said := start(t, Options{}, prefix)
	if len(peers) != 0 || !slices.Equal(missing, Required) {
		t.Errorf("started %d, missing %v, want %v", len(peers), missing, Required)
	}
	for _, f := range Required {
		if !strings.Contains(said, "missing: "+f) {
			t.Errorf("nothing said of %s:\n%s", f, said)
		}
	}
}

func TestLibraryThatDoesNotLoadIsSkipped(t *testing.T) {
	prefix := t.TempDir()
	install(t, prefix, "9.9.1", "0")
	if err := os.WriteFile(filepath.Join(prefix, "lib", "libopenblas.so"), []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	peers, _, said := start(t, Options{}, prefix)
	if len(peers) != 0 || !strings.Contains(said, "skipped: openblas") {
		t.Errorf("started %d:\n%s", len(peers), said)
	}
}

// TestCrashIsOneCase: a library that crashes is refused for that case, and computes the next one.
func TestCrashIsOneCase(t *testing.T) {
	prefix := t.TempDir()
	install(t, prefix, "9.9.1", "0")
	peers, _, said := start(t, Options{}, prefix)
	if len(peers) != 1 {
		t.Fatalf("started %d:\n%s", len(peers), said)
	}
	for _, c := range []struct {
		name    string
		refused bool
	}{{"gemm_nn 5x13x7", true}, {"gemm_nn 5x9x7", false}, {"gemm_nn 4x13x7", true}, {"gemm_nn 4x9x7", false}} {
		r := interleave.Run(workload.NewData(workload.MustParse(c.name)), []workload.Contestant{peers[0]}, interleave.Options{Rounds: 2})
		if len(r) != 1 || (r[0].Refused != nil) != c.refused {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

// TestEnvironment: variables of the environment for a library do not reach it, and a note says so.
// They reach it if KeepVariable lists them.
func TestEnvironment(t *testing.T) {
	prefix := t.TempDir()
	install(t, prefix, "9.9.1", "0")
	t.Setenv("OPENBLAS_CORETYPE", "Haswell")
	peers, _, said := start(t, Options{}, prefix)
	if len(peers) != 1 || peers[0].Version() != "9.9.1" || !strings.Contains(said, "not passed on to other libraries: ") || !strings.Contains(said, "OPENBLAS_CORETYPE=Haswell") {
		t.Errorf("peers %+v\n%s", peers, said)
	}
	t.Setenv(peerenv.KeepVariable, "OPENBLAS_CORETYPE")
	peers, _, said = start(t, Options{}, prefix)
	if len(peers) != 1 || peers[0].Version() != "Haswell" || !strings.Contains(said, "may hold them back: OPENBLAS_CORETYPE=Haswell") {
		t.Errorf("peers %+v\n%s", peers, said)
	}
}

// TestHeld: libraries get the variables that limit them to an instruction set. Libraries without
// such variables are left out without counting as missing.
func TestHeld(t *testing.T) {
	prefix := t.TempDir()
	install(t, prefix, "9.9.1", "0")
	peers, missing, said := start(t, Options{ISA: "avx2"}, prefix)
	if len(peers) != 1 || peers[0].Version() != "Haswell" || !slices.Equal(missing, []string{"onednn"}) {
		t.Errorf("missing %v, peers %+v\n%s", missing, peers, said)
	}
	if !CanHold("avx2") || CanHold("avx512") {
		t.Error("CanHold")
	}
}

// TestGoPeerFromElsewhere: a Go library in a build of its own takes part regardless of the folder
// in which the program is started, and of the environment of the go command.
func TestGoPeerFromElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "/nowhere/go.work")
	var said []string
	peers, _ := StartAll(1, Options{Only: []string{"gonum-noasm"}, Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	for _, p := range peers {
		defer p.Close()
	}
	if len(peers) != 1 || peers[0].Name() != "gonum-noasm" {
		t.Errorf("started %d: %q", len(peers), said)
	}
}

func TestCompareVersions(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"0.3.34.481.3 Zen", "0.3.21 Zen", 1}, {"3.2.0", "3.13.2", -1}, {"2.15.0+cu132", "1.13.0a0", 1}, {"1.31.1", "1.31.1", 0}} {
		if got := compareVersions(c.a, c.b); got != c.want {
			t.Errorf("compareVersions(%s, %s) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
