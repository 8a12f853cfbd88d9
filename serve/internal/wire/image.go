package wire

import (
	"encoding/base64"
	"errors"
	"strings"
)

// ImageFile decodes a file from base64, with or without a prefix such as "data:image/png;base64,".
// Addresses of other servers are errors.
func ImageFile(s string) ([]byte, error) {
	if strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") {
		return nil, errors.New("this is an address, which this server does not ask: send the file")
	}
	if head, rest, ok := strings.Cut(s, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		s = rest
	}
	return base64.StdEncoding.DecodeString(s)
}
