package testenv

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

// Processes that tests start, and that must not be left when the tests are killed or run out of
// time.

// lifeVar names the file descriptor of the pipe that ends with the parent.
const lifeVar = "AVOFORMER_TEST_LIFE"

// life returns a pipe to which nothing is written. Only this process has its other end, so that
// the system closes that end with the process.
var life = sync.OnceValue(func() [2]*os.File {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return [2]*os.File{r, w}
})

// EndsWithUs has the process of c end when this one does, however this one ends, if its TestMain
// calls [EndWithParent]. It adds to c's environment and files. On Windows it does nothing.
func EndsWithUs(c *exec.Cmd) *exec.Cmd {
	if runtime.GOOS == "windows" { // a process inherits no files there
		return c
	}
	c.Env = append(c.Environ(), fmt.Sprintf("%s=%d", lifeVar, 3+len(c.ExtraFiles)))
	c.ExtraFiles = append(c.ExtraFiles, life()[0])
	return c
}

// EndWithParent ends this process when the parent that started it by [EndsWithUs] has ended. It
// returns at once.
func EndWithParent() {
	fd, err := strconv.Atoi(os.Getenv(lifeVar))
	if err != nil {
		return
	}
	os.Unsetenv(lifeVar) // processes that this one starts have no such file
	pipe := os.NewFile(uintptr(fd), "life of the parent")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		os.Exit(1)
	}()
}
