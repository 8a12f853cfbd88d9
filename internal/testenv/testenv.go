// Package testenv describes the environment of the tests of several packages: the instruction sets
// that the machine must have, and its speed.
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
// kernels.ISA, separated by commas). Runs that test one tier set the variable, so that they cannot
// pass without it. supported is kernels.Supported(): the tests of kernels call Main too, so Main
// cannot call it.
func Main[T fmt.Stringer](m *testing.M, supported []T) {
	if err := require(os.Getenv("AVOFORMER_REQUIRE"), supported); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Fixtures ends a package's TestMain if dir does not exist. The module proxy does not deliver
// fixtures and nested modules with the packages that they test. In CI, and in runs for a tier,
// which exist to execute tests, Fixtures fails instead.
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

// CheckForced is the body of a test in every package that calls Main: the active tier must be the
// tier that AVOFORMER_ISA forces, if it is set. The test also makes the variables known to the
// cache of go test. The cache identifies results by the variables that tests read, and misses
// variables that are read before tests start, as by Main and package kernels.
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

// EachTier runs test as a subtest on every supported tier for which [Runs] returns true. It calls
// use to activate the tier first. Under the race detector it runs the test only on the active tier,
// since the goroutines of all tiers are the same.
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

// Runs reports whether tests run on a tier. They always run on the active tier. They run on no
// other tier if AVOFORMER_ISA forces the active one, or in an emulator. They do not run on the tier
// without assembly if AVOFORMER_ASSEMBLY is set. Other targets of the Makefile run the tiers that
// are left out.
func Runs(tier, active string) bool {
	switch {
	case tier == active:
		return true
	case os.Getenv("AVOFORMER_ISA") != "" || Emulated():
		return false
	}
	return tier != "generic" || os.Getenv("AVOFORMER_ASSEMBLY") == ""
}

// Emulated reports whether the tests run in an emulator about a thousand times slower than the
// machine itself (make test-emulated WHAT=avx512). There they must use small sizes: about 50
// million floating-point operations for each package in the kernels, and a tenth of that in Go.
// Tests that are too slow with -short call it.
func Emulated() bool { return os.Getenv("AVOFORMER_EMULATED") != "" }

// Long reports whether sweeps test all of their cases, as in make test-all. Otherwise they test a
// part.
func Long() bool { return os.Getenv("AVOFORMER_LONG") != "" }

// Slow reports whether the tests run under qemu (make test-emulated WHAT=arm64) or the race
// detector, about thirty times slower than on the machine itself, or in the emulator of Emulated,
// or with -short. Tests that call it test some of their cases there, and all of them elsewhere.
func Slow() bool {
	return race.Enabled || Emulated() || os.Getenv("AVOFORMER_SLOW") != "" || flag.Parsed() && testing.Short()
}

// Quick reports whether the tests run with -short on the machine itself, where a sample of the
// cases of a long test is enough, since make test runs all cases. It is false in emulators, whose
// runs fail unless every kernel was called.
func Quick() bool {
	return flag.Parsed() && testing.Short() && !race.Enabled && !Emulated() && os.Getenv("AVOFORMER_SLOW") == ""
}
