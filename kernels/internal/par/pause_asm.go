//go:build (amd64 || arm64) && !purego

package par

// pause keeps the core from working at full speed for about 10 to 40 ns, so that another hardware
// thread of the core can use the shared resources.
//
//go:noescape
func pause()
