//go:build (amd64 || arm64) && !purego

package par

// pause keeps the core from working at full speed for some 10 to 40 ns, and leaves what it shares
// with another hardware thread to that.
//
//go:noescape
func pause()
