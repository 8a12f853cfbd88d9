// Package page has the page at /, on which people can try embeddings, ranking, chat and search.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
	"github.com/avoformer/avoformer/serve/internal/wire"
)

//go:embed page.html
var html string

//go:embed page.css
var style string

// scripts has the names of the page's scripts, in their order.
//
//go:embed page.js markdown.js chat.js search.js start.js
var scripts embed.FS

// script returns all scripts as one.
func script() string {
	var all strings.Builder
	for _, name := range []string{"page.js", "markdown.js", "chat.js", "search.js", "start.js"} {
		data, err := scripts.ReadFile(name)
		if err != nil {
			panic(err) // impossible: the files are embedded
		}
		all.Write(data)
		all.WriteByte('\n')
	}
	return all.String()
}

// Routes returns the route of the page. The page itself needs no key, and asks people for one. fail
// writes errors.
func Routes(fail func(w http.ResponseWriter, e *engine.Error)) []wire.Route {
	script := script()
	whole := []byte(strings.NewReplacer("{{style}}", style, "{{script}}", script).Replace(html))
	policy := "default-src 'none'; script-src " + source(script) + "; style-src " + source(style) +
		"; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	show := func(c *wire.Call) error {
		h := c.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		return c.Write(http.StatusOK, "text/html; charset=utf-8", whole)
	}
	return []wire.Route{{Method: "GET", Pattern: "/{$}", Protocol: "page", Summary: "A page to try embeddings, ranking, chat and search", Open: true, Handle: show, Error: fail}}
}

// source returns the source expression of a content security policy for the text of an element: its
// hash.
func source(text string) string {
	hash := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}
