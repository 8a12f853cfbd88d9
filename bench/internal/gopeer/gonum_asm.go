//go:build !noasm

package gopeer

// gonumSuffix marks a build without its assembly.
const gonumSuffix = ""
