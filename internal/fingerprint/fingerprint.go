// Package fingerprint composes and compares fingerprints: short strings that identify everything
// that a result depends on, except the input. They are MODEL-FORMAT-NUMERICS, such as
// 3b6a27bcceb6a42d62a3-int8-5.
package fingerprint

import (
	"fmt"
	"strings"

	"github.com/avoformer/avoformer/kernels"
)

// digits is the number of hexadecimal digits of a digest in a fingerprint: 80 bits.
const digits = 20

// New returns the fingerprint of a model in a format. digest is that of the model's files. The
// version of the numerics is that of this program.
func New(digest, format string) string {
	return fmt.Sprintf("%s-%s-%d", digest[:digits], format, kernels.Numerics)
}

// Difference describes the difference of two fingerprints in words; "" if they are equal. The first
// one is that of stored results.
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
