// Command lint checks rules of this tree that go vet and staticcheck do not know. It reads the
// source and runs none of it:
//
//	go run ./scripts/lint       prints what breaks a rule; fails if anything does
//	go run ./scripts/lint -v    prints the graphs of files too
package main

import (
	"flag"
	"fmt"
	"os"
)

// A rule has a name and a check, which returns a line for each place that breaks the rule.
type rule struct {
	name  string
	check func(*tree) []string
}

// rules are all rules, in the order in which they run.
var rules = []rule{
	{"imports point down", importsPointDown},
	{"files and functions of kernels are short", shortKernels},
	{"contexts are arguments", contextsAreArguments},
	{"contexts give their cause", contextsGiveTheirCause},
	{"kinds of errors belong to package fault", kindsBelongToFault},
	{"pyjson decodes files", pyjsonDecodes},
	{"regular opens files of models", regularOpens},
	{"structs of arguments have the name of their package", structsAreNamed},
	{"a pass stops at its first error", passesStop},
	{"functions of kernels are methods of Threads(1)", twins},
	{"ways name their figures", waysNameFigures},
	{"comments are narrow", commentsAreNarrow},
	{"most uses between files lead down", arrowsLeadDown},
}

func main() {
	verbose := flag.Bool("v", false, "print how the files of each package use each other")
	flag.Parse()
	if err := run(".", *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(1)
	}
}

// run checks the tree in dir with all rules.
func run(dir string, verbose bool) error {
	t, err := read(os.DirFS(dir))
	if err != nil {
		return err
	}
	t.verbose = verbose
	problems := 0
	for _, r := range rules {
		for _, p := range r.check(t) {
			fmt.Printf("%s: %s\n", r.name, p)
			problems++
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d problems", problems)
	}
	return nil
}
