package simd

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPermission: tiles are used if the machine has them and the system permits them. If the system
// refuses, they are among the features that the machine has and does not use. AVOFORMER_TILES is
// the expectation of a run: "permitted", "refused" or "off".
func TestPermission(t *testing.T) {
	want := os.Getenv("AVOFORMER_TILES")
	if want == "" {
		switch {
		case active == Generic || features&AMX == 0:
			want = "off"
		case tilesPermitted():
			want = "permitted"
		default:
			want = "refused"
		}
	}
	used, refused := FeaturesOn(active)
	got := "off"
	switch {
	case slices.Contains(used, "amx"):
		got = "permitted"
	case slices.Contains(refused, "amx"):
		got = "refused"
	}
	if got != want {
		t.Errorf("tiles are %s (used: %s; refused: %s), want %s", got, strings.Join(used, " "), strings.Join(refused, " "), want)
	}
	if permitted := KernelInt8Tiles.Permitted(active); permitted != (want != "refused") {
		t.Errorf("int8Tiles may be called: %v, tiles are %s", permitted, want)
	}
	if !KernelInt8Pairs.Permitted(active) {
		t.Error("a kernel without tiles may not be called")
	}
}
