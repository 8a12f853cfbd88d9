package topology

import (
	"os"
	"runtime"
	"sync"
)

// Here returns the machine that the process runs on, in its state when Here was first called.
var Here = sync.OnceValue(func() Machine {
	return Read(os.DirFS("/"), allowed(), runtime.NumCPU())
})
