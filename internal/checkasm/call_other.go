//go:build purego || (!amd64 && !arm64)

package checkasm

const haveHarness = false

type state struct{}

func call(fn uintptr, f *frame) { panic("checkasm: no harness on this architecture") }

func (*state) prepare() {}

func (*state) verify() []error { return nil }

func callTargets(pc uintptr) []uintptr { return nil }
