//go:build !noasm

package gopeer

// gonumSuffix is empty in a build with gonum's assembly.
const gonumSuffix = ""
