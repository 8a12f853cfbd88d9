package kernels

// Numerics is the version of the numerics: of all that decides which bits a result has, from tokens and pooling to the order
// of each sum. A change of any result's bits raises it, and adds a line to doc/numerics.md#versions and to the changelog;
// a test of package models holds results to a table of checksums for each version.
const Numerics = 6
