// Package peerenv returns the environment in which other libraries are measured. It leaves out the
// variables that slow such libraries down on a machine, or that work around an old one.
package peerenv

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// KeepVariable is the environment variable that lists variables to be passed on all the same: their
// names, separated by commas, or "all".
const KeepVariable = "AVOFORMER_BENCH_KEEP"

// prefixes are the beginnings of the names of such variables: for OpenBLAS (once GotoBLAS), BLIS,
// MKL, oneDNN (once DNNL), PyTorch, and the runtimes of OpenMP.
var prefixes = []string{"OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "DNNL_", "ONEDNN_", "ATEN_", "OMP_", "GOMP_", "KMP_"}

// An Environment is an environment of this process, reduced for other libraries.
type Environment struct {
	Env     []string // for them, in the form of os.Environ
	dropped []string // NAME=VALUE, sorted
	kept    []string
}

// Of returns the environment for other libraries that is derived from environ.
func Of(environ []string) Environment {
	var e Environment
	var keep []string
	for _, v := range environ {
		if list, ok := strings.CutPrefix(v, KeepVariable+"="); ok {
			keep = strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(strings.ToUpper(name), p) }):
			e.Env = append(e.Env, v)
		case slices.Contains(keep, name), slices.Contains(keep, "all"):
			e.Env, e.kept = append(e.Env, v), append(e.kept, v)
		default:
			e.dropped = append(e.dropped, v)
		}
	}
	slices.Sort(e.dropped)
	slices.Sort(e.kept)
	return e
}

// Here returns the environment that is derived from this process's environment.
func Here() Environment { return Of(os.Environ()) }

// Notes returns a line about the variables that other libraries do not see, and a line about those
// that they see because KeepVariable lists them.
func (e Environment) Notes() []string {
	var notes []string
	if len(e.dropped) > 0 {
		notes = append(notes, fmt.Sprintf("not passed on to other libraries: %s (%s=NAME,... or all passes them on)", strings.Join(e.dropped, " "), KeepVariable))
	}
	if len(e.kept) > 0 {
		notes = append(notes, "passed on to other libraries, and may hold them back: "+strings.Join(e.kept, " "))
	}
	return notes
}
