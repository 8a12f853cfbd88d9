// Command api lists the exported names of each published module, and prints the changes since the
// last release:
//
//	go run ./scripts/api          prints what was removed, changed or added since api/*.txt was written
//	go run ./scripts/api -write   writes api/*.txt; a part of releasing
//	go run ./scripts/api -freeze  adds the names of stable packages that are new to api/stable.txt
//
// A name that was removed or whose meaning changed must be in doc/renamed.md, and it must not
// belong to a stable package. The tests verify that. The command reads only sources for
// linux/amd64.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	write := flag.Bool("write", false, "write api/*.txt")
	frozen := flag.Bool("freeze", false, "add new names of stable packages to "+stableFile)
	flag.Parse()
	err := error(nil)
	if *frozen {
		err = freeze()
	} else {
		err = run(*write)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(write bool) error {
	modules, err := modules()
	if err != nil {
		return err
	}
	for _, m := range modules {
		now, err := exported(m, modules)
		if err != nil {
			return err
		}
		if write {
			if err := os.WriteFile(snapshot(m), []byte(strings.Join(now, "\n")+"\n"), 0o666); err != nil {
				return err
			}
			continue
		}
		before, err := readSnapshot(m)
		if err != nil {
			return err
		}
		gone, come := difference(before, now)
		for _, l := range gone {
			fmt.Printf("- %s: %s\n", m, l)
		}
		for _, l := range come {
			fmt.Printf("+ %s: %s\n", m, l)
		}
	}
	return nil
}

// modules returns the folders of the published modules, "." for the root. It leaves out commands,
// which have no API.
func modules() ([]string, error) {
	all := []string{"."}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch base := d.Name(); {
			case path == ".":
			case strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"), base == "testdata", base == "internal", slices.Contains([]string{"asm", "bench", "scripts", "cmd", "doc", "examples", "findings", "text/examples", "text/scripts"}, path):
				return filepath.SkipDir
			}
		} else if d.Name() == "go.mod" && filepath.Dir(path) != "." {
			all = append(all, filepath.ToSlash(filepath.Dir(path)))
		}
		return nil
	})
	return all, err
}

// snapshot returns the file of a module.
func snapshot(module string) string {
	if module == "." {
		module = "root"
	}
	return filepath.Join("api", strings.ReplaceAll(module, "/", "-")+".txt")
}

// readSnapshot returns the lines of the last release. A new module has no lines.
func readSnapshot(module string) ([]string, error) { return readLines(snapshot(module)) }

// readLines returns the lines of a file. A file that does not exist has no lines.
func readLines(file string) ([]string, error) {
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n"), err
}

// difference returns the lines that are only in the first list, and those only in the second.
func difference(before, now []string) (gone, come []string) {
	only := func(a, b []string) (out []string) {
		for _, l := range a {
			if _, ok := slices.BinarySearch(b, l); !ok {
				out = append(out, l)
			}
		}
		return out
	}
	return only(before, now), only(now, before)
}

// untold returns the lines that have gone and whose names are not on a page.
func untold(gone []string, page string) (out []string) {
	words := strings.FieldsFunc(page, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	for _, l := range gone {
		if !slices.Contains(words, nameOf(l)) {
			out = append(out, l)
		}
	}
	return out
}
