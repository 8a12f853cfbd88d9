//go:build !race

package transformer_test

const raced = false
