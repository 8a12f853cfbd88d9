// This file lists the packages whose names stay.

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// stable are the packages from which no name is removed any more, as doc/stability.md promises.
var stable = []string{"kernels", "kernels/ref", "search", "text/jinja", "text/tokenizer", "transformer/gguf", "transformer/safetensors"}

// stableFile lists their names.
const stableFile = "api/stable.txt"

// packageOf returns the package of a line.
func packageOf(line string) string {
	p, _, _ := strings.Cut(line, ": ")
	return p
}

// stableLines returns the exported names of stable packages.
func stableLines() ([]string, error) {
	modules, err := modules()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, m := range modules {
		all, err := exported(m, modules)
		if err != nil {
			return nil, err
		}
		for _, l := range all {
			if slices.Contains(stable, packageOf(l)) {
				lines = append(lines, l)
			}
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// freeze adds new names to the file. If a name in the file no longer exists, it returns an error.
func freeze() error {
	now, err := stableLines()
	if err != nil {
		return err
	}
	kept, err := readLines(stableFile)
	if err != nil {
		return err
	}
	if gone, _ := difference(kept, now); len(gone) > 0 {
		return fmt.Errorf("stable packages lack %q", gone)
	}
	return os.WriteFile(stableFile, []byte(strings.Join(now, "\n")+"\n"), 0o666)
}
