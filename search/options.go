package search

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/internal/check"
)

// This file has the options of an index.

// Precision is the format in which vectors are stored.
type Precision uint8

// The precisions.
const (
	Float32 Precision = 1 + iota // as given
	Int8                         // integers of at most 127, with a scale of 16 bits for each 32: Q8_0 of GGUF
	Binary                       // one bit for each number, set if it is above 0
)

var precisionNames = [...]string{"none", "float32", "int8", "binary"}

// String returns the name that sentence-transformers uses.
func (p Precision) String() string {
	if int(p) < len(precisionNames) {
		return precisionNames[p]
	}
	return fmt.Sprintf("Precision(%d)", uint8(p))
}

// ParsePrecision returns the precision of that name: float32, int8 or binary.
func ParsePrecision(name string) (Precision, error) {
	for p := Float32; p <= Binary; p++ {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, check.Option("Precision", name, "want float32, int8 or binary")
}

// Options say how an index stores and searches vectors. The zero value stores float32 and uses all
// CPUs.
type Options struct {
	// Precision is the format of the vectors that are searched; 0 is Float32.
	Precision Precision
	// Rescore, Float32 or Int8, stores the vectors a second time, row by row. A search scores the
	// best k*Oversample candidates again with these vectors. 0 means no second copy.
	Rescore Precision
	// Oversample is the number of candidates that are scored again for each requested hit; 0 is 4.
	Oversample int
	// Threads is the largest number of goroutines of a search; 0 is runtime.GOMAXPROCS.
	Threads int
	// Fingerprint is the fingerprint of the vectors' model, as text.Embedder.Fingerprint returns
	// it; "" means unknown. Files contain it, and a program that loads such a file must call
	// [Index.CheckFingerprint].
	Fingerprint string
}

const maxDim = 1 << 16

// segment is the number of vectors that one goroutine searches at a time: their scores with a block
// of queries stay in its core's caches. It is a multiple of the columns of a panel on every tier,
// so that all vectors of a product have the same order of summation.
const segment = 1536

// withDefaults returns the options with defaults in place of zeros.
func (o Options) withDefaults() Options {
	if o.Precision == 0 {
		o.Precision = Float32
	}
	if o.Oversample == 0 {
		o.Oversample = 4
	}
	return o
}

// check returns an error that names the first option with a wrong value.
func (o Options) check() error {
	switch {
	case o.Precision > Binary:
		return check.Option("Precision", o.Precision, "want float32, int8 or binary")
	case o.Rescore != 0 && o.Rescore != Float32 && o.Rescore != Int8:
		return check.Option("Rescore", o.Rescore, "want float32, int8 or nothing")
	case o.Rescore != 0 && o.Rescore >= o.Precision:
		return check.Option("Rescore", o.Rescore, "want more bits than %v has", o.Precision)
	case o.Oversample < 1:
		return check.Option("Oversample", o.Oversample, "want at least 1")
	case o.Threads < 0:
		return check.Option("Threads", o.Threads, "want at least 0")
	}
	return checkFingerprint(o.Fingerprint)
}

// maxFingerprint is the largest length of a fingerprint that a file can state.
const maxFingerprint = 255

// checkFingerprint returns an error unless a file can contain s: at most 255 characters of ASCII,
// without spaces.
func checkFingerprint(s string) error {
	if len(s) > maxFingerprint || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return check.Option("Fingerprint", s, "want at most %d characters of ASCII without spaces", maxFingerprint)
	}
	return nil
}
