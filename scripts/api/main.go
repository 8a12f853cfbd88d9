// Command api lists the exported names of each published module, and says what has changed since the
// last release:
//
//	go run ./scripts/api          prints what was removed, changed or added since api/*.txt was written
//	go run ./scripts/api -write   writes api/*.txt; a part of releasing
//
// A name that was removed or changed its meaning must be in the part Unreleased of CHANGELOG.md. The test
// verifies that. The command reads only sources, those for linux/amd64.
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
	flag.Parse()
	if err := run(*write); err != nil {
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

// modules returns the folders of the published modules, "." for the root; commands have no names to promise.
func modules() ([]string, error) {
	all := []string{"."}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch base := d.Name(); {
			case path == ".":
			case strings.HasPrefix(base, "."), strings.HasPrefix(base, "_"), base == "testdata", base == "internal", slices.Contains([]string{"asm", "bench", "scripts", "cmd"}, path):
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
func readSnapshot(module string) ([]string, error) {
	data, err := os.ReadFile(snapshot(module))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n"), err
}

// difference returns the lines that are only in one list, and those only in the other.
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

// unreleased is that part of a changelog.
func unreleased(changelog string) string {
	_, after, _ := strings.Cut(changelog, "\n## [Unreleased]\n")
	part, _, _ := strings.Cut(after, "\n## ")
	return part
}

// untold returns the lines that have gone and whose name no line of the changelog has.
func untold(gone []string, changelog string) (out []string) {
	words := strings.FieldsFunc(unreleased(changelog), func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
	for _, l := range gone {
		if !slices.Contains(words, nameOf(l)) {
			out = append(out, l)
		}
	}
	return out
}
