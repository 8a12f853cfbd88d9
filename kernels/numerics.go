package kernels

// Numerics is the version of the numerics: of everything that decides the bits of a result, from
// tokens and pooling to the order of each sum. A change that alters the bits of any result raises
// it, and adds a line to doc/numerics.md#versions and to the changelog. A test of package models
// compares results with a table of checksums for each version.
const Numerics = 8
