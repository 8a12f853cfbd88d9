// Command style finds phrases that doc/style.md rules out. It reads Markdown, the comments in Go,
// shell, Python and makefiles, and the messages in Go code except tests:
//
//	go run ./scripts/style          prints each with its place and what to write instead; fails if there are any
//	go run ./scripts/style -count   prints how many there are of each kind
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// examples are files that contain such phrases on purpose.
var examples = []string{"doc/style.md", "scripts/style/habits.go", "scripts/style/main_test.go"}

func main() {
	count := flag.Bool("count", false, "print how many phrases of each kind there are")
	flag.Parse()
	found, err := run(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "style:", err)
		os.Exit(1)
	}
	if *count {
		for _, h := range habits {
			n := 0
			for _, f := range found {
				if f.habit.name == h.name {
					n++
				}
			}
			fmt.Printf("%6d %s\n", n, h.name)
		}
		return
	}
	for _, f := range found {
		fmt.Printf("%s:%d: %s: %s\n", f.file, f.line, f.phrase, f.habit.instead)
	}
	if len(found) > 0 {
		fmt.Fprintf(os.Stderr, "style: %d phrases to rewrite; doc/style.md has examples\n", len(found))
		os.Exit(1)
	}
}

// A finding is a phrase at a line of a file.
type finding struct {
	file   string
	line   int
	phrase string
	habit  habit
}

// run reads the files in dir that git tracks or would track.
func run(dir string) ([]finding, error) {
	cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard", "--deduplicate")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	var found []finding
	for _, file := range strings.Fields(string(out)) {
		if strings.Contains("/"+file, "/testdata/") || slices.Contains(examples, file) {
			continue
		}
		read := reader(file)
		if read == nil {
			continue
		}
		data, err := os.ReadFile(dir + "/" + file)
		if os.IsNotExist(err) {
			continue // deleted, but the deletion is not committed
		}
		if err != nil {
			return nil, err
		}
		texts, err := read(file, data)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			for _, f := range t.check() {
				f.file = file
				found = append(found, f)
			}
		}
	}
	return found, nil
}
