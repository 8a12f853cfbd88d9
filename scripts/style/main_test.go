package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestHabits has a bad line for each habit, which only that habit finds, and lines that are fine.
func TestHabits(t *testing.T) {
	bad := map[string]string{
		"who as a noun":                       "The shard goes to who makes the claim",
		"Who as a subject":                    "Nobody else writes. Who lost a claim stops.",
		"is no":                               "What follows is no number",
		"is none":                             "a name that is none is refused",
		"a little others":                     "Results are a little others",
		"others without a noun":               "It waits for the claims of others",
		"alone for only":                      "This was tested in qemu alone",
		"so at the end":                       "The weights were rounded so.",
		"beforehand":                          "B is packed beforehand",
		"open for concurrent use":             "A Scheduler is open for concurrent use",
		"some more than":                      "It takes some more than a quarter",
		"the like":                            "take GGUF instead of AWQ and the like",
		"to it that":                          "reach sees to it that a rule gets its states",
		"tells without a listener":            "Stats tells what the engine does",
		"stands in":                           "It is an error if a field stands there twice",
		"what is more":                        "What is more than the queue holds is refused",
		"is of use":                           "what is of use to callers gets a name",
		"to be had":                           "the lock is not to be had for nothing",
		"as ever":                             "then the softmax as ever",
		"not any more":                        "The group may not be used any more",
		"so, and the verb before the subject": "Weights are integers, so are the rows of A",
		"which X tells":                       "The seed is drawn, which Seed tells",
		"but for":                             "They are the same but for the last one",
		"goes on":                             "A run goes on with what was there",
		"sooner":                              "The answer comes sooner",
		"for itself":                          "Each block packs for itself",
		"none such":                           "an error if it takes none such",
		"by way of":                           "sums reach vectors by way of memory",
		"nothing but":                         "A row with nothing but zeros",
		"a matter of":                         "Which thread it is, is a matter of chance",
		"everybody for things":                "the threads of everybody",
		"all else stopped":                    "measured with all else stopped",
		"whereof":                             "the most while it reads, whereof scratch memory is a part",
		"the lock is held":                    "trim gives back pages. The lock is held.",
		"in the place of":                     "Rows are vectors in the place of those of a table",
		"outside of":                          "a token outside of the vocabulary",
		"without further ado":                 "a limit gives two threads without further ado",
	}
	for _, h := range habits {
		found := prose{lines: []string{bad[h.name]}}.check()
		if len(found) != 1 || found[0].habit.name != h.name {
			t.Errorf("%s: %q: %v", h.name, bad[h.name], found)
		}
	}
	for _, fine := range []string{
		"There is no number, and there are none of the others; it is no longer than that.",
		"The error says so. Leave it alone; do so, if so, or even so.",
		"For those who use it: who reads a letter?",
		"All others, `is no`, and a stub that stands in for the server; the clock tells the time.",
		"There is not one word any worse, so a row and so its sums are equal, and so are others.",
		"a text computed alone gets the bits that it gets among others",
	} {
		if found := (prose{lines: []string{fine}}).check(); len(found) > 0 {
			t.Errorf("%q: %v", fine, found)
		}
	}
}

// TestFiles reads files of each kind. It checks where phrases are found, including phrases that run
// over two lines, and where they are not looked for.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.md":          "# Title\n\nIt is for\nwho has Go. `is no number` is code.\n\n```sh\nis no number\n```\n- it is no number\n",
		"a.go":          "package a\n\n// A is packed\n// beforehand.\nvar A = f(\"%s is no number\", `it is\nno number`) // to be had\n\nvar isNone = x.is.none\n",
		"a_test.go":     "package a\n\n// B is none.\nvar B = \"it is no number\"\n",
		"a.sh":          "#!/bin/sh\n# as\n# ever\necho \"${#a} is no number\" # is of use\n",
		"Makefile":      "all: ## as ever\n\techo is no number\n",
		"testdata/b.md": "it is no number\n",
		"c.txt":         "it is no number\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, err := run(dir)
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		file string
		line int
		name string
	}
	want := map[place]bool{
		{"a.md", 3, "who as a noun"}: true, {"a.md", 9, "is no"}: true,
		{"a.go", 4, "beforehand"}: true, {"a.go", 5, "is no"}: true, {"a.go", 6, "to be had"}: true,
		{"a_test.go", 3, "is none"}: true,
		{"a.sh", 2, "as ever"}:      true, {"a.sh", 4, "is of use"}: true,
		{"Makefile", 1, "as ever"}: true,
	}
	for _, f := range found {
		p := place{f.file, f.line, f.habit.name}
		if !want[p] {
			t.Errorf("%v: %s", p, f.phrase)
		}
		defer delete(want, p)
	}
	if len(found) != len(want)+1 { // two strings of line 5
		t.Errorf("found %d, want %v and one more", len(found), want)
	}
}
