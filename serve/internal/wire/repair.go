// This file repairs text that is not valid Unicode.

package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const replacement = "fffd"

// repaired returns JSON with U+FFFD in place of each half of a surrogate pair and each byte that is
// not UTF-8, as encoding/json reads strings. Other code reads parts of the body directly, and must
// see the same text. It changes data.
func repaired(data []byte) []byte {
	for i := 0; ; {
		at := bytes.IndexByte(data[i:], '\\')
		if at < 0 {
			break
		}
		i += at
		first, ok := escaped(data[i:])
		if !ok {
			i += 2 // skip the escaped character, which may be a backslash
			if i > len(data) {
				break
			}
			continue
		}
		if utf16.IsSurrogate(first) {
			if second, ok := escaped(data[i+6:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
				i += 12
				continue
			}
			copy(data[i+2:], replacement)
		}
		i += 6
	}
	if utf8.Valid(data) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		out, data = utf8.AppendRune(out, r), data[n:]
	}
	return out
}

// escaped returns the rune of \uXXXX at the beginning of data.
func escaped(data []byte) (r rune, ok bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	return rune(n), err == nil
}
