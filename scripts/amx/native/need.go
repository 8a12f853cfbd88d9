//go:build linux && amd64

package native

import "os"

// Need skips a test on a machine without tiles, or fails the test if AVOFORMER_REQUIRE_AMX is set,
// as in runs under a runner or an emulator with tiles. Otherwise it asks Linux for permission to
// use tiles.
func Need(t interface {
	Helper()
	Fatal(args ...any)
	Skip(args ...any)
}) {
	t.Helper()
	if !Has() {
		if os.Getenv("AVOFORMER_REQUIRE_AMX") != "" {
			t.Fatal("no AMX, which AVOFORMER_REQUIRE_AMX requires")
		}
		t.Skip("no AMX: make test-emulated WHAT=amx runs this test")
	}
	if err := Permit(); err != nil {
		t.Fatal(err)
	}
}
