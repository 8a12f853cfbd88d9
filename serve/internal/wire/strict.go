// Bodies of which every field counts, and lists that may be one.

package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// ReadStrict is ReadJSON that refuses fields that the struct lacks, for requests where what is ignored would
// change the answer.
func (c *Call) ReadStrict(into any) error {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	if err := c.read(b); err != nil {
		return err
	}
	if len(bytes.TrimSpace(b.Bytes())) == 0 {
		return engine.Errorf(engine.Invalid, "the request has no body")
	}
	return DecodeStrict(b.Bytes(), into)
}

// DecodeStrict reads a JSON object and refuses fields that the struct lacks. Errors have a kind.
func DecodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); more == io.EOF {
			return nil
		}
		err = errors.New("something follows the value")
	}
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if name, bad := strconv.Unquote(quoted); bad == nil {
			return engine.Errorf(engine.Invalid, "%.100q is not supported here", name).At(name)
		}
	}
	return jsonError(err)
}

// IsNull reports whether a field was left out or null.
func IsNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// Strings is a list of strings, or one alone.
type Strings []string

// UnmarshalJSON reads both.
func (s *Strings) UnmarshalJSON(data []byte) error {
	*s = nil
	if len(data) > 0 && data[0] == '"' {
		*s = make(Strings, 1)
		return json.Unmarshal(data, &(*s)[0])
	}
	return json.Unmarshal(data, (*[]string)(s))
}
