package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
)

// A committed is a schema in the form of an MCP server's tool or of a pydantic model, with
// instances in the order of its members.
type committed struct {
	Name    string
	Schema  json.RawMessage
	Yes, No []json.RawMessage
	Unheld  string // the path of what no grammar holds; "" for none
}

// TestShapes: of each schema the valid instances are let through and the others not, or it is
// refused by the path.
func TestShapes(t *testing.T) {
	data, err := os.ReadFile("testdata/schemas.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	schemas, yes, no, refused := 0, 0, 0, 0
	for line := range bytes.Lines(data) {
		var s committed
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		schemas++
		g, err := JSONSchema(s.Schema)
		if s.Unheld != "" {
			refused++
			if !errors.Is(err, fault.ErrUnsupported) || !strings.Contains(err.Error(), s.Unheld) {
				t.Errorf("%s: the error is %v, want one at %s", s.Name, err, s.Unheld)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		for _, text := range s.Yes {
			yes++
			if _, whole := begins(t, g, string(text)); !whole {
				t.Errorf("%s: %s is not let through", s.Name, text)
			}
		}
		for _, text := range s.No {
			no++
			if _, whole := begins(t, g, string(text)); whole {
				t.Errorf("%s: %s is let through", s.Name, text)
			}
		}
	}
	t.Logf("%d schemas, %d of them refused by name; %d valid instances let through, %d others not", schemas, refused, yes, no)
	if schemas < 100 {
		t.Errorf("%d schemas, want at least 100", schemas)
	}
}
