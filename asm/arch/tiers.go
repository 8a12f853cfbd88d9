package arch

// This file lists the tiers. A new one is added here.

// Tiers is ordered best first within an architecture.
var Tiers = []Tier{AVX512, AVX2, NEON}
