//go:build !linux

package par

// Other systems place a waking thread well, or do not let it be moved.

func currentCPU() int { return -1 }

func leaveCPU(int) {}

func allowedCPUs() int { return 0 }

func yieldThread() {}
