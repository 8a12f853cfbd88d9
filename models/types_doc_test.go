package models_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
	_ "github.com/avoformer/avoformer/models/classic"
)

var typeName = regexp.MustCompile("`([^`]+)`")

// TestTables: the tables of README.md and of doc/models.md name every model type that opens, and no other.
func TestTables(t *testing.T) {
	t.Chdir("..")
	for file, heading := range map[string]string{"README.md": "## Models", "doc/models.md": "## What opens"} {
		text := string(tftest.Must(os.ReadFile(filepath.FromSlash(file)))(t))
		_, section, found := strings.Cut(text, "\n"+heading+"\n")
		if !found {
			t.Fatalf("%s has no %s", file, heading)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		told := map[string]bool{}
		for _, row := range strings.Split(section, "\n") {
			if cells := strings.Split(row, "|"); len(cells) == 4 {
				column := cells[1]
				if file == "README.md" {
					column = cells[2]
				}
				for _, m := range typeName.FindAllStringSubmatch(column, -1) {
					told[m[1]] = true
				}
			}
		}
		opens := map[string]bool{}
		for _, name := range models.ModelTypes() {
			opens[strings.TrimSuffix(strings.TrimSuffix(name, "_text_model"), "_vision_model")] = true // towers alone
		}
		for name := range opens {
			if !told[name] {
				t.Errorf("%s lacks %s", file, name)
			}
		}
		for name := range told {
			if !opens[name] {
				t.Errorf("%s has %s, which nothing opens", file, name)
			}
		}
	}
}
