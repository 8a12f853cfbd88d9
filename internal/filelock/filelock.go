// Package filelock keeps processes from doing the same work on a file at the same time.
package filelock

import (
	"context"
	"os"
	"time"
)

// Lock waits until no other process holds the lock on the file at path, and then locks it. Lock
// creates the file if it does not exist; the file stays afterwards. A process that ends, in any
// way, releases its lock. On systems without such locks (see flock_other.go) Lock does not wait.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		held, err := TryLock(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		if held {
			return func() { f.Close() }, nil // closing it unlocks
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TryLock locks an open file until Unlock is called or the file is closed, and reports whether it
// could. It returns false if another process, or another open file of this process, holds the lock.
// On systems without such locks it returns true.
func TryLock(f *os.File) (bool, error) {
	held, err := try(f)
	if err != nil {
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return held, nil
}

// Unlock releases the lock on a file. Closing the file has the same effect, except while this
// process starts another one: until its program begins, the new process has the file open too.
func Unlock(f *os.File) error {
	if err := unlock(f); err != nil {
		return &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}
