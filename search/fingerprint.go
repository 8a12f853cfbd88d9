package search

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/fingerprint"
)

// This file checks which model the vectors of an index come from.

// AnyFingerprint makes [Index.CheckFingerprint] accept vectors and queries of any model.
const AnyFingerprint = "*"

// CheckFingerprint compares the fingerprint of the model of further vectors and queries with the
// index's, and returns an error that matches [fault.ErrOtherResults] and names the parts that
// differ. [AnyFingerprint] matches each. An index that was loaded with a fingerprint neither takes
// vectors nor answers queries until one has matched.
func (x *Index) CheckFingerprint(s string) error {
	if s != AnyFingerprint {
		if differs := fingerprint.Difference(x.options.Fingerprint, s); differs != "" {
			return check.Errorf(fault.ErrOtherResults, "index: %s", differs)
		}
	}
	x.unmatched.Store(false)
	return nil
}
