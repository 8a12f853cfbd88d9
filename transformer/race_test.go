//go:build race

package transformer_test

// raced tells that the race detector is on, under which pools drop what they
// keep, so that allocations cannot be counted.
const raced = true
