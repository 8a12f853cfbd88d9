package main

// This file reads the list of mutants that no test could notice.

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const reasonsFile = "doc/mutants.md"

// row returns the mutant's line in the list: the place, the line of code, the change, and the
// reason why the change has no effect.
func row(u mutant, reason string) string {
	var cells []string
	for cell := range strings.SplitSeq(u.key(), "\t") {
		cells = append(cells, cell)
	}
	place := cells[0]
	if u.function != "" {
		place += ", " + u.function
	}
	quote := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	return fmt.Sprintf("| %s | `%s` | %s | %s |", place, quote(strings.ReplaceAll(u.text, "`", "'")), quote(cells[3]), reason)
}

// readReasons reads the rows of the list. If a row's file is in the folders, the row must fit one
// of the mutants.
func (m *mutator) readReasons(every []mutant) error {
	b, err := os.ReadFile(filepath.Join(m.root, filepath.FromSlash(reasonsFile)))
	if err != nil {
		return err
	}
	keys := map[string]string{} // by the row without its reason
	for _, u := range every {
		keys[row(u, "")] = u.key()
	}
	m.reasons = map[string]string{}
	for i, line := range strings.Split(string(b), "\n") {
		body, ok := strings.CutSuffix(line, " |")
		cut := strings.LastIndex(body, " | ")
		if !ok || cut < 0 || !strings.Contains(body[:cut], ".go") {
			continue
		}
		if key, ok := keys[body[:cut]+" |  |"]; ok {
			m.reasons[key] = body[cut+len(" | "):]
		} else if slices.ContainsFunc(m.folders, func(f string) bool { return strings.HasPrefix(line, "| "+path.Clean(f)+"/") }) {
			err = errors.Join(err, fmt.Errorf("%s:%d: no such line of code", reasonsFile, i+1))
		}
	}
	return err
}
