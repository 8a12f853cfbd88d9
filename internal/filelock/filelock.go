// Package filelock keeps processes from doing the same work on a file at the same time.
package filelock

import (
	"context"
	"os"
	"time"
)

// Lock waits until no other process holds the lock on the file at path, and takes it. Lock makes
// the file if it does not exist; the file stays afterwards. A process that ends, in any way,
// releases its lock. On systems without such locks (see flock_other.go) Lock does not wait.
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

// TryLock locks an open file until Unlock, or until it is closed, and reports whether no one else
// holds the lock. On systems without such locks it is always had.
func TryLock(f *os.File) (bool, error) {
	held, err := try(f)
	if err != nil {
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return held, nil
}

// Unlock releases the lock on a file. Closing the file is enough, except while this process starts
// another one, which has the file open too until its program begins.
func Unlock(f *os.File) error {
	if err := unlock(f); err != nil {
		return &os.PathError{Op: "unlock", Path: f.Name(), Err: err}
	}
	return nil
}
