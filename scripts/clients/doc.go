// Package clients tests the server with released clients in Go. Their dependencies are not
// dependencies of any published module.
package clients
