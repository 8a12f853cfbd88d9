// Package fingerprint composes and compares the short strings that stand for everything except the
// input that a result depends on: MODEL-FORMAT-NUMERICS, such as 3b6a27bcceb6a42d62a3-int8-5.
package fingerprint

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/kernels"
)

// digits are those of a digest that a fingerprint has: 80 bits.
const digits = 20

// New returns the fingerprint of a model whose files have a digest, in a format. Its version of the
// numerics is this program's.
func New(digest, format string) string {
	return fmt.Sprintf("%s-%s-%d", digest[:digits], format, kernels.Numerics)
}

// Difference says in words how two fingerprints differ, "" if they do not. The first one is that of
// stored results.
func Difference(stored, now string) string {
	if stored == now {
		return ""
	}
	if stored == "" {
		return fmt.Sprintf("there was no fingerprint, now it is %s", now)
	}
	a, b := strings.Split(stored, "-"), strings.Split(now, "-")
	if len(a) != 3 || len(b) != 3 {
		return fmt.Sprintf("the fingerprint is %q, now it is %q", stored, now)
	}
	var differ []string
	for i, part := range []string{"the model", "the format", "the version of the numerics"} {
		if a[i] != b[i] {
			differ = append(differ, fmt.Sprintf("%s was %s, now it is %s", part, a[i], b[i]))
		}
	}
	return strings.Join(differ, "; ")
}
