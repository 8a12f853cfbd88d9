// Package clients tests the server with clients in Go, as they are released. What they need is not a dependency of
// anything that is published.
package clients
