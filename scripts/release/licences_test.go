package main

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write doc/dependencies.md")

const begin, end = "<!-- begin, written by go test ./scripts/release -update -->\n", "<!-- end -->\n"

// TestLicences: doc/dependencies.md lists every module that the published packages are built with.
// It states the module's licence, which must be one that allows use in a program under any other
// licence.
func TestLicences(t *testing.T) {
	if testing.Short() {
		t.Skip("looks at the sources of all dependencies")
	}
	t.Chdir("../..")
	published, err := exec.Command("scripts/published.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	users := map[debug.Module][]string{}
	for _, m := range append([]string{"."}, strings.Fields(string(published))...) {
		list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", "./...")
		list.Dir, list.Stderr = m, os.Stderr
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		slices.Sort(lines)
		for _, line := range slices.Compact(lines) {
			path, version, ok := strings.Cut(line, " ")
			if d := (debug.Module{Path: path, Version: version}); ok && !strings.HasPrefix(path, self) {
				users[d] = append(users[d], strings.Replace(m, ".", "root", 1))
			}
		}
	}
	var table bytes.Buffer
	table.WriteString("| module | licence | in packages of |\n| --- | --- | --- |\n")
	byPath := func(a, b debug.Module) int { return strings.Compare(a.Path, b.Path) }
	for _, m := range slices.SortedFunc(maps.Keys(users), byPath) {
		licences, err := licencesOf(&m)
		if err != nil {
			t.Error(err)
			continue
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", m.Path, names(licences), strings.Join(users[m], ", "))
	}
	file := filepath.FromSlash("doc/dependencies.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok1 := strings.Cut(string(page), begin)
	written, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok1 || !ok2:
		t.Fatalf("%s lacks its marks", file)
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+table.String()+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	case written != table.String():
		t.Errorf("%s does not list the modules that are required; go test ./scripts/release -update writes\n%s", file, table.String())
	}
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]string{
		"Permission is hereby granted, free of\n   charge, to any person obtaining a copy of this": "MIT",
		"Apache License\n  Version 2.0, January 2004":                                              "Apache-2.0",
		"GNU GENERAL PUBLIC LICENSE Version 3":                                                     "",
		"":                                                                                         "",
	} {
		if got := classify(text); got != want {
			t.Errorf("classify(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestSameBytes: an archive depends only on its files.
func TestSameBytes(t *testing.T) {
	files := []packed{{"a", []byte("first"), 0o755}, {"b/c", []byte("second"), 0o644}}
	for name, pack := range map[string]func(string, []packed) ([]byte, error){
		"tar": func(n string, f []packed) ([]byte, error) { return tarGzip(n, f, commitTime()) },
		"zip": func(n string, f []packed) ([]byte, error) { return zipped(n, f, commitTime()) },
	} {
		one, err1 := pack("x", files)
		two, err2 := pack("x", files)
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: two archives of the same files differ, or errors %v, %v", name, err1, err2)
		}
		other, err := pack("x", files[:1])
		if err != nil || bytes.Equal(one, other) {
			t.Errorf("%s: an archive with one file less is equal, or error %v", name, err)
		}
	}
}
