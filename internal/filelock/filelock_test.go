package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/avoformer/avoformer/internal/filelock"
)

// TestLock: goroutines exclude each other, and the end of a context ends waiting.
func TestLock(t *testing.T) { synctest.Test(t, lock) }

func lock(t *testing.T) {
	switch runtime.GOOS {
	case "darwin", "dragonfly", "freebsd", "linux", "netbsd", "openbsd", "windows":
	default:
		t.Skip("no locks on " + runtime.GOOS)
	}
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, err := filelock.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	if _, err := filelock.Lock(ctx, path); err != late {
		t.Errorf("a lock that is held: %v, want the cause of the context's end", err)
	}
	other, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if held, err := filelock.TryLock(other); held || err != nil {
		t.Errorf("trying a lock that is held: %t, %v", held, err)
	}
	var unlocked atomic.Bool
	done := make(chan error)
	go func() {
		second, err := filelock.Lock(t.Context(), path)
		if err == nil {
			if !unlocked.Load() {
				err = errors.New("locked twice")
			}
			second()
		}
		done <- err
	}()
	time.Sleep(60 * time.Millisecond)
	unlocked.Store(true)
	unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := filelock.Lock(t.Context(), filepath.Join(t.TempDir(), "none", "x")); err == nil {
		t.Error("a lock in no folder")
	}
}

// TestUnlock: the lock is released at once, although a copy of the open file is left, as after a
// fork until the new program begins.
func TestUnlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.lock")
	for range 2 {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() // after the file has been locked again
		if held, err := filelock.TryLock(f); err != nil || !held {
			t.Fatal(held, err)
		}
		if runtime.GOOS == "windows" {
			f.Close()
		} else if err := filelock.Unlock(f); err != nil {
			t.Fatal(err)
		}
	}
}
