//go:build noasm

package gopeer

// gonumSuffix marks a build without gonum's assembly.
const gonumSuffix = "-noasm"
