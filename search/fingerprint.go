package search

import (
	"strings"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/fingerprint"
)

// This file checks which model the vectors of an index come from.

// AnyFingerprint makes [Index.CheckFingerprint] accept vectors and queries of any model.
const AnyFingerprint = "*"

// maxFingerprint is the longest fingerprint whose length a file can hold.
const maxFingerprint = 255

// checkFingerprint returns an error unless a file can hold s: at most 255 characters of ASCII, without spaces.
func checkFingerprint(s string) error {
	if len(s) > maxFingerprint || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return check.Option("Fingerprint", s, "want at most %d characters of ASCII without spaces", maxFingerprint)
	}
	return nil
}

// CheckFingerprint compares the fingerprint of the model of further vectors and queries with the index's, and returns an error that
// matches [fault.ErrOtherResults] and names the parts that differ. [AnyFingerprint] matches each. An index that was loaded
// with a fingerprint neither takes vectors nor answers queries until one has matched.
func (x *Index) CheckFingerprint(s string) error {
	if s != AnyFingerprint {
		if differs := fingerprint.Difference(x.options.Fingerprint, s); differs != "" {
			return check.Errorf(fault.ErrOtherResults, "index: %s", differs)
		}
	}
	x.unmatched.Store(false)
	return nil
}

// matched returns an error if a fingerprint is still to be matched.
func (x *Index) matched() error {
	if x.unmatched.Load() {
		return check.Errorf(fault.ErrOtherResults, "the index was made with the fingerprint %s: call CheckFingerprint with the model's first", x.options.Fingerprint)
	}
	return nil
}
