// The error that all packages share.

package transformer

import (
	"github.com/avoformer/avoformer/fault"
)

// An fault.Error is what is wrong, and where: errors.Is tells its kind, and errors.As the file, the field and
// the value, which a server or a command may show in its own way. Those of packages models, generation
// and text, and of those that read files, are the same.
type Error = fault.Error

// The kinds of errors, for use with errors.Is. Packages that build on this one have some under the same
// name, and these are the same variables.
var (
	ErrConfig    = fault.ErrConfig
	ErrModelType = fault.ErrModelType
	ErrFormat    = fault.ErrFormat
	ErrFolder    = fault.ErrFolder
	ErrWeights   = fault.ErrWeights
	ErrMissing   = fault.ErrMissing
	ErrLeftOver  = fault.ErrLeftOver
	ErrMisshapen = fault.ErrMisshapen
	ErrOption    = fault.ErrOption
	ErrInput     = fault.ErrInput
	ErrToken     = fault.ErrToken
	ErrTooLong   = fault.ErrTooLong
	ErrShape     = fault.ErrShape
	ErrMemory    = fault.ErrMemory
)
