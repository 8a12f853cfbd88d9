//go:build !purego

package checkasm_test

import "github.com/avoformer/avoformer/internal/checkasm/broken"

var machineMistakes = []mistake{
	{"Platform", broken.Platform, "R18"},
	{"Temporary", broken.Temporary, "R27"},
	{"Goroutine", broken.Goroutine, "R28"},
}
