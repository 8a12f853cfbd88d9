//go:build !purego

package checkasm_test

import "github.com/avoformer/avoformer/internal/checkasm/broken"

var machineMistakes = []mistake{
	{"Direction", broken.Direction, "direction flag"},
	{"NoVZEROUPPER", broken.NoVZEROUPPER, "VZEROUPPER is missing"},
}
