package tune

// The sizes of a tier's registers and cache lines that callers need, by name.

const element, line = 4, 64 // bytes of a float32 and of a cache line

// TwoLines reports whether a row of a panel of nr columns is two cache lines, which come together
// from further away.
func TwoLines(nr int) bool { return nr >= 2*line/element }
