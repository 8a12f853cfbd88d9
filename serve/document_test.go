package serve

import (
	"os"
	"strings"
	"testing"
)

// TestRoutesInDocument: doc/serving.md has every route.
func TestRoutesInDocument(t *testing.T) {
	data, err := os.ReadFile("../doc/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New([]Model{{Dir: testdata + "embed"}}, Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range s.routes(Options{}) {
		path := strings.NewReplacer("{$}", "", "...", "").Replace(r.Pattern)
		if !strings.Contains(string(data), "`"+path+"`") && !strings.Contains(string(data), "`"+r.Method+" "+path+"`") {
			t.Errorf("doc/serving.md lacks %s %s", r.Method, path)
		}
	}
}
