package tune

// This file names the sizes of a tier's registers and of cache lines that callers need.

const element, line = 4, 64 // bytes of a float32 and of a cache line

// TwoLines reports whether a row of a panel of nr columns is two cache lines, which are loaded
// together from further away.
func TwoLines(nr int) bool { return nr >= 2*line/element }
