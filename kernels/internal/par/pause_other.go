//go:build !(amd64 || arm64) || purego

package par

// pause does nothing: no instruction is known for it.
func pause() {}
