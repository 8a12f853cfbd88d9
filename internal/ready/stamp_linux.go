package ready

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// boot identifies the time since the machine started: a file may be other than it was before power failed.
var boot = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
})

// stampOf returns what is another text once a file has changed, and when it last changed. Programs can set a file's modification time, but not the time of
// its last change. The stamp is empty if it is not known.
func stampOf(info os.FileInfo) (stamp string, changed time.Time) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || boot() == "" {
		return "", time.Time{}
	}
	return fmt.Sprintf("%s%d %d %d %d %d\n", boot(), s.Dev, s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano()), time.Unix(s.Ctim.Unix())
}
