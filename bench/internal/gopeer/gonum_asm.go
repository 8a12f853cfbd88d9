//go:build !noasm

package gopeer

// gonumSuffix tells a build without its assembly apart.
const gonumSuffix = ""
