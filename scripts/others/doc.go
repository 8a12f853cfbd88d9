// Package others tests this project's column of doc/others.md.
package others
