package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDir: the module is found from any folder in its tree, and from outside by programs that were
// built in it.
func TestDir(t *testing.T) {
	want, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{".", filepath.Join("..", ".."), filepath.Join("..", "..", ".."), filepath.Join("..", "..", "..", "text"), t.TempDir()} {
		t.Run(from, func(t *testing.T) {
			t.Chdir(from)
			if got, err := Dir(); err != nil || got != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
}

// TestGo: variables of the environment for workspaces and go.mod have no effect.
func TestGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "/nowhere/go.work")
	t.Setenv("GOFLAGS", "-mod=mod -trimpath")
	cmd, err := Go("list", "-m")
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	if err != nil || "module "+string(out) != module {
		t.Errorf("%v\n%s", err, out)
	}
	if got := cmd.Env[len(cmd.Env)-1]; got != "GOFLAGS=-trimpath" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "go.mod")); err != nil || !strings.HasSuffix(cmd.Dir, "bench") {
		t.Error(cmd.Dir, err)
	}
}
