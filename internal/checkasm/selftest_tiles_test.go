//go:build linux && amd64 && !purego

package checkasm_test

import (
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/checkasm"
	"github.com/avoformer/avoformer/internal/checkasm/broken"
	"github.com/avoformer/avoformer/scripts/amx/native"
)

// TestTiles shows that tiles left in use are found, with a function that does not use the tiles
// filled with junk.
func TestTiles(t *testing.T) {
	native.Need(t)
	pool := new(checkasm.Pool)
	defer pool.Close()
	err := checkasm.Check(pool, checkasm.Case{
		Fn: broken.Right,
		Args: []any{
			checkasm.Operand{Name: "dst", Data: []float32{1, 2, 3}, Write: true},
			checkasm.Operand{Name: "x", Data: []float32{4, 5, 6}},
		},
		Want:  func(dst, x []float32) { copy(dst, x) },
		Tiles: true,
	})
	if err == nil || !strings.Contains(err.Error(), "TILERELEASE is missing") {
		t.Errorf("%v, want a report of tiles in use", err)
	}
}
