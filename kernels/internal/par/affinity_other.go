//go:build !linux

package par

// Other systems place a waking thread well, or do not allow moving or binding it.

func currentCPU() int { return -1 }

func leaveCPU(int) {}

func allowedCPUs() int { return 0 }

func bindThread([]int) (func() bool, bool) { return nil, false }

func threadID() int { return 0 }

func yieldThread() {}
