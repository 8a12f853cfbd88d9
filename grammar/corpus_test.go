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

// A committed is a schema as MCP servers state it for a tool, or as pydantic writes it for a model,
// with instances whose members are in its order.
type committed struct {
	Name    string
	Schema  json.RawMessage
	Yes, No []json.RawMessage
	Unheld  string // the path of a keyword that no grammar enforces, or ""
}

// TestShapes verifies that each grammar accepts the valid instances of a schema and no other, or
// that the error for the schema has the expected path.
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
				t.Errorf("%s: %s is not accepted", s.Name, text)
			}
		}
		for _, text := range s.No {
			no++
			if _, whole := begins(t, g, string(text)); whole {
				t.Errorf("%s: %s is accepted", s.Name, text)
			}
		}
	}
	t.Logf("%d schemas, %d of them refused by name; %d valid instances let through, %d others not", schemas, refused, yes, no)
	if schemas < 100 {
		t.Errorf("%d schemas, want at least 100", schemas)
	}
}
