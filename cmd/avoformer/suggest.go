// This file suggests names for a misspelt command or flag.

package main

import (
	"flag"
	"strings"

	"github.com/avoformer/avoformer/internal/near"
)

// meant returns "; did you mean X?", or "" if no name is similar.
func meant(prefix, word string, names []string) string {
	if n := near.Closest(word, names); n != "" {
		return "; did you mean " + prefix + n + "?"
	}
	return ""
}

// meantFlag returns the suggestion for an error of package flag about an unknown flag.
func meantFlag(err error, f *flag.FlagSet) string {
	_, word, ok := strings.Cut(err.Error(), "flag provided but not defined: -")
	if !ok {
		return ""
	}
	var names []string
	f.VisitAll(func(g *flag.Flag) { names = append(names, g.Name) })
	return meant("-", strings.TrimLeft(word, "-"), names)
}
