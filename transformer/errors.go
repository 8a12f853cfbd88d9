package transformer

import "github.com/avoformer/avoformer/internal/check"

// Errors that those of this package match, for use with errors.Is.
var (
	ErrConfig    = check.ErrConfig    // invalid configuration
	ErrShape     = check.ErrShape     // sizes do not fit
	ErrToken     = check.ErrToken     // token outside the vocabulary
	ErrMemory    = check.ErrMemory    // a limit of memory is reached
	ErrTooLong   = check.ErrTooLong   // sequence too long
	ErrMissing   = check.ErrMissing   // weights are missing
	ErrLeftOver  = check.ErrLeftOver  // weights are left over
	ErrMisshapen = check.ErrMisshapen // weights have the wrong shape
)
