// Package testenv is what the tests of several packages ask of the place where they run: which
// instruction sets must be there, and how slow it is.
package testenv

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/race"
)

// Main is the body of a package's TestMain. It runs the tests, but fails at once if the machine
// lacks an instruction set listed in the environment variable AVOFORMER_REQUIRE (names of
// kernels.ISA, separated by commas). Runs that exist to execute a tier set it, so that they cannot
// pass without it. supported is kernels.Supported(); kernels' own tests call this too, so it cannot
// be asked here.
func Main[T fmt.Stringer](m *testing.M, supported []T) {
	if err := require(os.Getenv("AVOFORMER_REQUIRE"), supported); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Fixtures ends a package's TestMain if dir is not there: fixtures and nested modules, which the
// module proxy does not deliver with the packages that they test. Where a run exists to execute
// tests, in CI or for a tier, it fails instead.
func Fixtures(dir string) {
	if _, err := os.Stat(dir); err == nil {
		return
	}
	for _, name := range []string{"CI", "AVOFORMER_REQUIRE", "AVOFORMER_EMULATED"} {
		if os.Getenv(name) != "" {
			fmt.Fprintf(os.Stderr, "FAIL: there is no %s, and %s is set\n", dir, name)
			os.Exit(1)
		}
	}
	fmt.Printf("no tests ran: they read %s, a module of its own that the module proxy does not deliver with this one; clone the repository\n", dir)
	os.Exit(0)
}

// CheckForced is the body of a test in every package that calls Main: the active tier is the one
// that AVOFORMER_ISA forces, if it does. Being a test it also shows the variables to the cache of
// go test, which keys results by what tests read, but misses what is read before they start, as
// Main and package kernels do.
func CheckForced(t *testing.T, active fmt.Stringer) {
	os.Getenv("AVOFORMER_REQUIRE")
	os.Getenv("AVOFORMER_CPU")
	t.Log("the active tier is", active) // make test-tiers reads it
	if forced := os.Getenv("AVOFORMER_ISA"); forced != "" && forced != active.String() {
		t.Errorf("the active tier is %s, but AVOFORMER_ISA=%s", active, forced)
	}
}

func require[T fmt.Stringer](list string, supported []T) error {
	have := map[string]bool{}
	for _, isa := range supported {
		have[isa.String()] = true
	}
	for _, want := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		if !have[want] {
			return fmt.Errorf("AVOFORMER_REQUIRE=%s: %s is not among %v", list, want, supported)
		}
	}
	return nil
}

// EachTier runs test as a subtest on every supported tier for which [Runs] returns true, after use
// has made it active. Under the race detector it runs only on the active tier, since every tier has
// the same goroutines.
func EachTier[T fmt.Stringer](t *testing.T, supported []T, active T, use func(T) (restore func()), test func(t *testing.T)) {
	t.Helper()
	for _, isa := range supported {
		if race.Enabled && isa.String() != active.String() || !Runs(isa.String(), active.String()) {
			continue
		}
		t.Run(isa.String(), func(t *testing.T) {
			defer use(isa)()
			test(t)
		})
	}
}

// Runs reports whether tests run on a tier. They always run on the active one. They run on no other
// if AVOFORMER_ISA forces the active tier, or in an emulator, and not on the tier without assembly
// if AVOFORMER_ASSEMBLY is set: other targets of the Makefile run those.
func Runs(tier, active string) bool {
	switch {
	case tier == active:
		return true
	case os.Getenv("AVOFORMER_ISA") != "" || Emulated():
		return false
	}
	return tier != "generic" || os.Getenv("AVOFORMER_ASSEMBLY") == ""
}

// Emulated reports whether the tests run in an emulator some thousand times slower than the machine
// itself (make test-emulated WHAT=avx512), where they must do with small sizes: about 50 million
// floating-point operations a package in the kernels, and a tenth of that in Go. It is for tests
// that -short leaves too slow.
func Emulated() bool { return os.Getenv("AVOFORMER_EMULATED") != "" }

// Long reports whether sweeps test all of their cases, as make test-all asks for. Otherwise they
// test a part.
func Long() bool { return os.Getenv("AVOFORMER_LONG") != "" }

// Slow reports whether the tests run under qemu (make test-emulated WHAT=arm64) or the race
// detector, about thirty times slower than on the machine itself, or as Emulated says, or with
// -short. It is for tests that look here at some of the cases which they see elsewhere.
func Slow() bool {
	return race.Enabled || Emulated() || os.Getenv("AVOFORMER_SLOW") != "" || flag.Parsed() && testing.Short()
}

// Quick reports whether the tests run with -short on the machine itself, where a sample of the
// cases of a long test is enough: make test runs the rest. It is false in emulators, whose runs
// fail unless every kernel was called.
func Quick() bool {
	return flag.Parsed() && testing.Short() && !race.Enabled && !Emulated() && os.Getenv("AVOFORMER_SLOW") == ""
}
