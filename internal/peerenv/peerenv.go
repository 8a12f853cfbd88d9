// Package peerenv makes the environment in which other libraries are measured: the variables by
// which a machine's owner holds such libraries back, or works around an old one, do not reach them.
package peerenv

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// KeepVariable names the environment variable that passes some on after all: their names, separated
// by commas, or "all".
const KeepVariable = "AVOFORMER_BENCH_KEEP"

// prefixes are what the names of such variables begin with: those of OpenBLAS (which was GotoBLAS),
// BLIS, MKL, oneDNN (which was DNNL), PyTorch, and the runtimes of OpenMP.
var prefixes = []string{"OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "DNNL_", "ONEDNN_", "ATEN_", "OMP_", "GOMP_", "KMP_"}

// An Environment is this process's, as other libraries see it.
type Environment struct {
	Env     []string // for them, as os.Environ has it
	dropped []string // NAME=VALUE, sorted
	kept    []string
}

// Of returns the environment for other libraries that an environment makes.
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

// Here is [Of] this process's environment.
func Here() Environment { return Of(os.Environ()) }

// Notes returns one line about the variables that other libraries do not see, and one about those
// that they see on request.
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
