package ready

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// boot identifies the current start of the machine. It is part of the stamp, because a file may
// have other bytes after a power failure.
var boot = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
})

// stampOf returns a stamp, which differs after any change of a file, and the time of the last
// change. Programs can set a file's modification time, but not the time of its last change. The
// stamp is empty if the file's status or the start of the machine is not known.
func stampOf(info os.FileInfo) (stamp string, changed time.Time) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || boot() == "" {
		return "", time.Time{}
	}
	return fmt.Sprintf("%s%d %d %d %d %d\n", boot(), s.Dev, s.Ino, s.Size, s.Mtim.Nano(), s.Ctim.Nano()), time.Unix(s.Ctim.Unix())
}
