// This file sets flags from environment variables.

package main

import (
	"flag"
	"os"
	"slices"
	"strings"
)

// serveVariables is the prefix of variables for flags of serve: AVOFORMER_SERVE_MAX_BATCH sets
// -max-batch.
const serveVariables = "AVOFORMER_SERVE_"

// environment sets flags that the command line does not have, from variables whose names begin with
// prefix. For a flag that may be given several times, the variable has several values, separated by
// semicolons. environment returns a warning for each variable without a flag: platforms add
// variables of their own, such as Kubernetes for a service named avoformer-serve.
func (f *flags) environment(prefix string) (warnings []string, err error) {
	variables := os.Environ()
	slices.Sort(variables)
	for _, v := range variables {
		v, ok := strings.CutPrefix(v, prefix)
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(v, "=")
		x := f.Lookup(strings.ToLower(strings.ReplaceAll(name, "_", "-")))
		switch {
		case x == nil || name != strings.ToUpper(name):
			warnings = append(warnings, prefix+name+" stands for no flag of avoformer "+f.Name())
			continue
		case f.given(x.Name):
			continue
		}
		values := []string{value}
		if repeats(x) {
			values = strings.Split(value, ";")
		}
		for _, value := range values {
			if err := x.Value.Set(value); err != nil {
				return nil, usagef("%s%s: -%s %q: %v", prefix, name, x.Name, value, err)
			}
		}
	}
	return warnings, nil
}

// repeats reports whether a flag may be given several times.
func repeats(x *flag.Flag) bool {
	_, each := x.Value.(*perModel)
	return each || slices.Contains([]string{"model", "adapter", "named-adapter"}, x.Name)
}
