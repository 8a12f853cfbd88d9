package kernels

// Threads is the number of threads that a kernel call may use, the calling
// goroutine included. 0 and 1 mean serial. Its methods are the package's
// functions; results do not depend on the number.
type Threads int
