package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMigratingRoutes: the server's OpenAPI documents have the routes that the page about other
// programs names. TestPageFlags and TestPageNames look up the page's flags and names.
func TestMigratingRoutes(t *testing.T) {
	files, err := filepath.Glob("../../serve/internal/openapi/*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	var documents strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		documents.Write(data)
	}
	text, _ := pageBlocks(t, "migrating")
	routes := regexp.MustCompile("`POST (/[^`]*)`").FindAllStringSubmatch(text, -1)
	if len(routes) < 8 {
		t.Errorf("%d routes", len(routes))
	}
	for _, r := range routes {
		if !strings.Contains(documents.String(), `"`+r[1]+`": {`) {
			t.Errorf("the server has no %s", r[1])
		}
	}
}
