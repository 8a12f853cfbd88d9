package models

import (
	"os"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
)

// TestDocumented wants each model type and each architecture of GGUF files in the table of
// doc/models.md.
func TestDocumented(t *testing.T) {
	page := string(tftest.Must(os.ReadFile("../doc/models.md"))(t))
	_, table, _ := strings.Cut(page, "\n## What opens\n")
	table, _, _ = strings.Cut(table, "\n### ")
	for _, kind := range ModelTypes() {
		if !strings.Contains(table, "`"+kind+"`") {
			t.Errorf("model type %s is not in the table", kind)
		}
	}
	_, row, found := strings.Cut(table, "\n| .gguf: ")
	if row, _, _ = strings.Cut(row, "|"); !found {
		t.Fatal("no row of GGUF files")
	}
	listed := map[string]bool{}
	for name := range strings.SplitSeq(row, ",") {
		name, _, _ = strings.Cut(strings.TrimSpace(name), " ") // what is in brackets
		listed[name] = true
	}
	for name := range ggufArchitectures {
		if !listed[name] {
			t.Errorf("architecture %s of GGUF files is not in the table", name)
		}
	}
	for name := range listed {
		if _, ok := ggufArchitectures[name]; !ok {
			t.Errorf("the table has an architecture of GGUF files, %s, that does not open", name)
		}
	}
}
