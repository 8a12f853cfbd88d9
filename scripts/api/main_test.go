package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/avoformer/avoformer/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Fixtures("../../text") // the published root module contains no other modules
	os.Exit(m.Run())
}

// TestChangesAreTold: the page of renamed names has every name of the last release that was removed
// or changed.
func TestChangesAreTold(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("doc/renamed.md")
	if err != nil {
		t.Skip("the tree is not here:", err)
	}
	all, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		now, err := exported(m, all)
		if err != nil {
			t.Fatal(err)
		}
		before, err := readSnapshot(m)
		if err != nil {
			t.Fatal(err)
		}
		if len(now) == 0 || m == "." && (len(before) < 500 || !slices.Contains(now, "kernels: func Softmax (dst, x []float32, rows, cols int)")) {
			t.Errorf("%s: %d names now, %d before: the listing does not work", m, len(now), len(before))
		}
		gone, _ := difference(before, now)
		for _, l := range untold(gone, string(page)) {
			t.Errorf("gone or changed in module %s, and not in doc/renamed.md:\n\t%s\nSay there which name replaces it; doc/stability.md has the rules.", m, l)
		}
	}
}

// TestStable: stable packages keep their names.
func TestStable(t *testing.T) {
	t.Chdir("../..")
	kept, err := readLines(stableFile)
	if err != nil {
		t.Fatal(err)
	}
	now, err := stableLines()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range stable {
		if !slices.ContainsFunc(kept, func(l string) bool { return packageOf(l) == p }) {
			t.Errorf("%s has no name of package %s", stableFile, p)
		}
	}
	gone, come := difference(kept, now)
	for _, l := range gone {
		t.Errorf("gone or changed, though its package is stable:\n\t%s", l)
	}
	for _, l := range come {
		t.Errorf("not in %s, which go run ./scripts/api -freeze writes:\n\t%s", stableFile, l)
	}
}

const sourceBefore = `package p
import "io"
const A, b = 1, 2
var V io.Reader
type T struct { X, y int; io.Reader; t }
type t struct { Z int }
type I interface { M(a int) error; io.Closer }
type E = T
func F[K any](a ...K) (n int, err error) { return }
func (x *T) Method() {}
func (t) Hidden() {}
func hidden() {}
`

func TestListing(t *testing.T) {
	list := func(files map[string]string) []string {
		dir := t.TempDir()
		for name, s := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(s), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		lines, err := packageLines(dir, "p")
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		return lines
	}
	before := list(map[string]string{"p.go": sourceBefore, "p_test.go": "package p\nfunc InTest() {}", "p_windows.go": "package p\nfunc OnWindows() {}"})
	want := []string{"p: const A", "p: field T.X int", "p: field T.io.Reader, embedded", "p: func F [K any](a ...K) (n int, err error)", "p: in interface I: M (a int) error", "p: in interface I: io.Closer",
		"p: method (*T) Method ()", "p: type E = T", "p: type I interface", "p: type T struct", "p: var V io.Reader"}
	if !slices.Equal(before, want) {
		t.Errorf("got  %q\nwant %q", before, want)
	}
	now := list(map[string]string{"p.go": "package p\nconst A = 1\ntype T struct { X int64 }\nfunc New() {}\n"})
	gone, come := difference(before, now)
	if len(come) != 2 || len(gone) != 9 {
		t.Errorf("gone %q, come %q", gone, come)
	}
	page := "| `T.X`, `Method`, `F`, `I`, `E`, `Closer` and `V` | gone |\n"
	if got, want := untold(gone, page), []string{"p: field T.io.Reader, embedded", "p: in interface I: M (a int) error"}; !slices.Equal(got, want) {
		t.Errorf("untold %q, want %q", got, want)
	}
}
