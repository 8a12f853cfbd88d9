// The page at /.

package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
)

// TestPage: the page needs no key, its policy allows only its own content, and it refers to nothing
// on other sites.
func TestPage(t *testing.T) {
	h := started(t, Options{Keys: []string{"k"}}, "embed")
	status, answer, header := ask(t, "GET", h.URL+"/", "")
	if status != 200 || header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatal(status, header, answer)
	}
	policy := header.Get("Content-Security-Policy")
	for _, part := range []string{"script", "style"} {
		_, after, _ := strings.Cut(answer, "<"+part+">")
		text, _, ok := strings.Cut(after, "</"+part+">")
		hash := sha256.Sum256([]byte(text))
		if want := part + "-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "';"; !ok || len(text) < 1000 || !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if other := regexp.MustCompile(`(?i)https?://|src\s*=|@import|innerHTML|\bon\w+="|style="`).FindString(answer); other != "" {
		t.Errorf("the page has %q", other)
	}
	_, style, _ := strings.Cut(answer, "<style>")
	if style, _, _ = strings.Cut(style, "</style>"); strings.Contains(strings.ToLower(style), "url(") {
		t.Error("the style refers to a file")
	}
	for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(answer, -1) {
		if strings.HasPrefix(m[1], "/") { // the server may be mounted below another address
			t.Errorf("the page refers to %q", m[1])
		}
	}
	if status, _, header := ask(t, "HEAD", h.URL+"/", ""); status != 200 || header.Get("Content-Security-Policy") != policy {
		t.Error(status, header)
	}
	if status, answer, _ := ask(t, "POST", h.URL+"/", `{"inputs": "a"}`); status != 401 {
		t.Error(status, answer)
	}
	if status, answer, _ := ask(t, "GET", h.URL+"/other", ""); status != 404 {
		t.Error(status, answer)
	}
}
