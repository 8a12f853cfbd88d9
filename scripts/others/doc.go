// Package others holds the test of this project's column of doc/others.md.
package others
