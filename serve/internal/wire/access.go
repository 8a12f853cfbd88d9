// This file checks access: API keys, and pages of other sites.

package wire

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/avoformer/avoformer/serve/internal/engine"
)

// Keys has the keys of the server; a request needs one of them. A request's key is compared with
// all keys by their hashes, each in constant time.
type Keys struct{ hashes [][sha256.Size]byte }

var errNoKeys = errors.New("no API keys")

// NewKeys returns Keys of strings. It trims spaces and ignores empty strings.
func NewKeys(keys []string) (*Keys, error) {
	k := new(Keys)
	for _, key := range keys {
		if key = strings.TrimSpace(key); key != "" {
			k.hashes = append(k.hashes, sha256.Sum256([]byte(key)))
		}
	}
	if len(k.hashes) == 0 {
		return nil, errNoKeys
	}
	return k, nil
}

// check returns an error for a request without a valid key: "Authorization: Bearer KEY", or
// "X-Api-Key: KEY".
func (k *Keys) check(r *http.Request) error {
	if k == nil {
		return nil
	}
	given := r.Header.Get("X-Api-Key")
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		given = strings.TrimSpace(key)
	}
	hash := sha256.Sum256([]byte(given))
	found := 0
	for i := range k.hashes {
		found |= subtle.ConstantTimeCompare(hash[:], k.hashes[i][:])
	}
	if found == 0 || given == "" {
		return engine.Errorf(engine.Unauthorized, "a valid API key is needed: Authorization: Bearer KEY")
	}
	return nil
}

// CORS decides which pages of other sites may send requests.
type CORS struct {
	origins []string // "*" means all
	guard   http.CrossOriginProtection
}

// NewCORS allows requests from pages of origins such as "https://example.com". "*" allows all
// origins; an empty list allows no page of another site.
func NewCORS(origins []string) (*CORS, error) {
	c := &CORS{origins: origins}
	for _, o := range origins {
		if o == "*" {
			continue
		}
		if err := c.guard.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("origin %q: %w", o, err)
		}
	}
	return c, nil
}

// check returns an error for requests from pages of sites that are not allowed. For allowed ones it
// sets the headers that browsers need.
func (c *CORS) check(call *Call) error {
	origin := call.R.Header.Get("Origin")
	if c == nil || origin == "" {
		return nil
	}
	all := slices.Contains(c.origins, "*")
	if all || slices.Contains(c.origins, origin) {
		h := call.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Add("Vary", "Origin")
		return nil
	}
	if err := c.guard.Check(call.R); err != nil {
		return engine.Errorf(engine.Forbidden, "pages of %.100q may not send requests to this server", origin)
	}
	return nil
}

// Preflight answers a browser's preflight request, and reports whether the request was one.
func (c *CORS) Preflight(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if c == nil || r.Method != http.MethodOptions || origin == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if slices.Contains(c.origins, "*") || slices.Contains(c.origins, origin) {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key, X-Request-Id, Anthropic-Version, Anthropic-Beta, Anthropic-Dangerous-Direct-Browser-Access, "+TimeoutHeader)
		h.Set("Access-Control-Max-Age", "600")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}
