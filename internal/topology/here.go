package topology

import (
	"os"
	"runtime"
	"sync"
)

// Here is the machine that the process runs on, as it was when Here was first called.
var Here = sync.OnceValue(func() Machine {
	return Read(os.DirFS("/"), allowed(), runtime.NumCPU())
})
