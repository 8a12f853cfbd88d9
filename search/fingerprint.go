package search

import (
	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/fingerprint"
)

// This file compares the fingerprint of an index with that of a model.

// AnyFingerprint makes [Index.CheckFingerprint] accept vectors and queries of any model.
const AnyFingerprint = "*"

// CheckFingerprint compares s, the fingerprint of the model of further vectors and queries, with
// the index's. If they differ, the error matches [fault.ErrOtherResults] and names the parts that
// differ. [AnyFingerprint] matches every fingerprint. An index that was loaded with a fingerprint
// accepts neither vectors nor queries until CheckFingerprint has succeeded.
func (x *Index) CheckFingerprint(s string) error {
	if s != AnyFingerprint {
		if differs := fingerprint.Difference(x.options.Fingerprint, s); differs != "" {
			return check.Errorf(fault.ErrOtherResults, "index: %s", differs)
		}
	}
	x.unmatched.Store(false)
	return nil
}
