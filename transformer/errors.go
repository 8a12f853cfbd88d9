// The error that all packages share.

package transformer

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
)

// An Error is what is wrong, and where: errors.Is tells its kind, and errors.As the file, the field and
// the value, which a server or a command may show in its own way. Those of packages models, generation
// and text, and of those that read files, are the same.
type Error = fault.Error

// The kinds of errors, for use with errors.Is. Packages that build on this one have some under the same
// name, and these are the same variables.
var (
	ErrConfig    = check.ErrConfig    // a configuration, in a file or a struct, that contradicts itself or is not supported
	ErrModelType = check.ErrModelType // an ErrConfig: an architecture that is not supported
	ErrFormat    = check.ErrFormat    // a file that is damaged
	ErrFolder    = check.ErrFolder    // a folder that lacks what is needed, or is of a model for something else
	ErrWeights   = check.ErrWeights   // weights that do not fit the model
	ErrMissing   = check.ErrMissing   // an ErrWeights: some are missing
	ErrLeftOver  = check.ErrLeftOver  // an ErrWeights: some are left over
	ErrMisshapen = check.ErrMisshapen // an ErrWeights: some have the wrong shape
	ErrOption    = check.ErrOption    // a choice of the caller that does not exist or does not apply
	ErrInput     = check.ErrInput     // a text, an image or the like that cannot be computed
	ErrToken     = check.ErrToken     // an ErrInput: a token outside the vocabulary
	ErrTooLong   = check.ErrTooLong   // an ErrInput: more tokens than the model takes
	ErrShape     = check.ErrShape     // sizes of arguments that do not fit
	ErrMemory    = check.ErrMemory    // a limit of memory is reached
)
