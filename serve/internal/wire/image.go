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
		return nil, errors.New("want the file, not its address: this server does not download files")
	}
	if head, rest, ok := strings.Cut(s, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		s = rest
	}
	return base64.StdEncoding.DecodeString(s)
}
