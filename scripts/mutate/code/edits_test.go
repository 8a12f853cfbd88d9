package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

import "errors"

type t struct {
	A int ` + "`json:\"a\"`" + `
}

func (x *t) f(a, b int) (int, error) {
	if a <= b && a != 3 {
		return 0, errors.New("too small")
	}
	x.A = g(a, b) - 1
	for b > 0 {
		b--
	}
	return x.A, nil
}

var least = 1e-6

var measured = Record{rows: 140}
`

// TestMutants lists the mutants of a file. Imports, tags, messages and figures of a record have no
// mutants.
func TestMutants(t *testing.T) {
	found, err := mutantsOf("kernels/internal/tune/p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range found {
		changed := sample[:u.start] + u.with + sample[u.end:]
		if strings.Count(changed, "\n") != strings.Count(sample, "\n") {
			t.Errorf("%v moves lines", u)
		}
		line := strings.TrimSpace(strings.Split(changed, "\n")[u.line-1])
		got = append(got, fmt.Sprintf("%s %s: %s", u.kind, u.what, line))
	}
	want := []string{
		"condition negated: if !(a <= b && a != 3) {",
		"condition `&&` to `||`: if a <= b || a != 3 {",
		"border `<=` to `<`: if a < b && a != 3 {",
		"condition `!=` to `==`: if a <= b && a == 3 {",
		"constant `3` to `4`: if a <= b && a != 4 {",
		"statement left out: ",
		"constant `0` to `1`: return 1, errors.New(\"too small\")",
		"statement left out: ",
		"operator `-` to `+`: x.A = g(a, b) + 1",
		"arguments `a` and `b` swapped: x.A = g(b, a) - 1",
		"constant `1` to `2`: x.A = g(a, b) - 2",
		"condition negated: for !(b > 0) {",
		"border `>` to `>=`: for b >= 0 {",
		"constant `0` to `1`: for b > 1 {",
		"statement left out: ",
		"operator `--` to `++`: b++",
		"statement left out: ",
		"constant `1e-6` to `2e-06`: var least = 2e-06",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if first := found[0]; first.function != "t.f" || first.line != 10 {
		t.Errorf("%+v, want line 10 of t.f", first)
	}
}

// TestRows writes mutants as lines of the list. A | in a cell is escaped, and no two lines are
// equal.
func TestRows(t *testing.T) {
	found, err := mutantsOf("p/p.go", []byte("package p\n\nvar x = a || a || a\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range found {
		got = append(got, row(u, "why"))
	}
	want := []string{"| p/p.go | `var x = a \\|\\| a \\|\\| a` | `\\|\\|` to `&&` | why |", "| p/p.go | `var x = a \\|\\| a \\|\\| a` | `\\|\\|` to `&&` (2) | why |"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
