package testenv

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// TestEndWithParent kills a process as a timeout of go test does: the process that it started ends,
// which closes the output that both have.
func TestEndWithParent(t *testing.T) {
	const role = "AVOFORMER_TEST_ROLE"
	self := func(as string) *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^TestEndWithParent$")
		c.Env = append(os.Environ(), role+"="+as)
		return c
	}
	switch os.Getenv(role) {
	case "parent":
		c := EndsWithUs(self("child"))
		c.Stdout = os.Stdout
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
		return
	case "child":
		EndWithParent()
		fmt.Println("child")
		time.Sleep(time.Minute)
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("processes inherit no files")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	parent := self("parent")
	parent.Stdout = w
	if err := parent.Start(); err != nil {
		t.Skip(err) // in an emulator of one process
	}
	w.Close()
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); err != nil || line != "child\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil {
		t.Errorf("the child of a process that was killed still runs: %q, %v", rest, err)
	}
}
