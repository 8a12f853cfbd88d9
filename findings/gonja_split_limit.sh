#!/bin/bash
# Guess: 'aXbXc'.split('X', 1) splits once, -7 // 2 is -4 (toward less, as Python), dictsort lists all pairs, and numbers add up to a float where one is a float.
# Found: gonja 2.9.1 takes the limit as the number of parts, so 1 never splits; -7 // 2 is -3; dictsort of a dictionary in the template is empty; the sum of
# 1.0 and 2.0 is the integer 3. No case is an error.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat > go.mod <<'MOD'
module finding

go 1.25

require github.com/nikolalohinski/gonja/v2 v2.9.1
MOD
cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/exec"
)

func main() {
	changed := false
	for _, c := range []struct{ template, python, found string }{
		{"{{ 'aXbXc'.split('X', 1) }}", "['a', 'bXc']", "['aXbXc']"},
		{"{{ -7 // 2 }}", "-4", "-3"},
		{"{{ {'b': 1, 'a': 2}|dictsort }}", "[('a', 2), ('b', 1)]", "[]"},
		{"{{ [1.0, 2.0]|sum }}", "3.0", "3"},
	} {
		t, err := gonja.FromString(c.template)
		if err != nil {
			panic(err)
		}
		got, err := t.ExecuteToString(exec.NewContext(nil))
		if err != nil {
			panic(err)
		}
		fmt.Printf("gonja 2.9.1: %s is %s, Jinja2 3.1.6: %s\n", c.template, got, c.python)
		changed = changed || got != c.found
	}
	if changed {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
export GOWORK=off GOFLAGS=-mod=mod
go mod tidy 2>tidy.log || { cat tidy.log; exit 1; }
go run .
