// Package source finds this module's sources, from which some programs are built at run time.
package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// module is the first line of this module's go.mod.
const module = "module github.com/avoformer/avoformer/bench\n"

// Dir returns the folder of this module's sources: that of the tree in which the program was
// started, or the one that it was built from. It returns an error if neither exists.
func Dir() (string, error) {
	_, file, _, _ := runtime.Caller(0)
	built := filepath.Join(filepath.Dir(file), "..", "..")
	at, err := os.Getwd()
	for err == nil {
		for _, dir := range []string{at, filepath.Join(at, "bench")} {
			if isModule(dir) {
				return dir, nil
			}
		}
		if at == filepath.Dir(at) {
			break
		}
		at = filepath.Dir(at)
	}
	if filepath.IsAbs(built) && isModule(built) { // with -trimpath, built is not a path
		return built, nil
	}
	return "", fmt.Errorf("no sources of this module in %s, where it was built, or here", built)
}

func isModule(dir string) bool {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(strings.ReplaceAll(string(b), "\r\n", "\n"), module)
}

// Go returns the go command in the module's folder. The module is built without the workspace, with
// the library that its go.mod names, because a workspace would not allow -modfile to name another.
func Go(args ...string) (*exec.Cmd, error) {
	dir, err := Dir()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	var flags []string
	for flag := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
		if !strings.HasPrefix(flag, "-mod=") { // such a flag would write go.mod
			flags = append(flags, flag)
		}
	}
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+strings.Join(flags, " "))
	return cmd, nil
}
